"""Stacking of ridge regression and support vector machines on many kernels."""

from mercer._estimators.stacking.kernel_stacking_classifier import KernelStackingClassifier
from mercer._estimators.stacking.kernel_stacking_regressor import KernelStackingRegressor

__all__ = ["KernelStackingClassifier", "KernelStackingRegressor"]
