"""Estimators that learn a kernel together with the machine that uses it."""

from mercer.one_stage.continuous import ContinuousMKLClassifier, ContinuousMKLRegressor
from mercer.one_stage.finite import MKLClassifier, MKLRegressor
from mercer.one_stage.published import L1SVM, L2KRR

__all__ = [
    "L1SVM",
    "L2KRR",
    "ContinuousMKLClassifier",
    "ContinuousMKLRegressor",
    "MKLClassifier",
    "MKLRegressor",
]
