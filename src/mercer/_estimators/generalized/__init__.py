"""Generalized kernel machines: logistic, Poisson and ordered logistic regression on a kernel."""

from mercer._estimators.generalized.kernel_logistic_regression import KernelLogisticRegression
from mercer._estimators.generalized.kernel_ordinal_classifier import KernelOrdinalClassifier
from mercer._estimators.generalized.kernel_poisson_regressor import KernelPoissonRegressor

__all__ = ["KernelLogisticRegression", "KernelOrdinalClassifier", "KernelPoissonRegressor"]
