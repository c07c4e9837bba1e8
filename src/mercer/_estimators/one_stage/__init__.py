"""Estimators that learn a kernel together with the machine that uses it."""

from mercer._estimators.one_stage.continuous_mkl import (
    ContinuousMKLClassifier,
    ContinuousMKLRegressor,
)
from mercer._estimators.one_stage.lp_norm_mkl import MKLClassifier, MKLRegressor
from mercer._estimators.one_stage.published_mkl import L1SVM, L2KRR

__all__ = [
    "L1SVM",
    "L2KRR",
    "ContinuousMKLClassifier",
    "ContinuousMKLRegressor",
    "MKLClassifier",
    "MKLRegressor",
]
