"""Generalized kernel machines: logistic, ordered logistic and Poisson regression on a kernel."""

from mercer._estimators.generalized.kernel_logistic_regression import KernelLogisticRegression
from mercer._estimators.generalized.kernel_ordinal_classifier import KernelOrdinalClassifier
from mercer._estimators.generalized.kernel_poisson_regressor import KernelPoissonRegressor

__all__ = ["KernelLogisticRegression", "KernelOrdinalClassifier", "KernelPoissonRegressor"]
