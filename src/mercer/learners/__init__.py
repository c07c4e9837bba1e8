"""Learners: scikit-learn transformers that learn a kernel before any predictor."""

from mercer.learners.base import KernelLearner
from mercer.learners.continuous import ContinuousAlignment
from mercer.learners.finite import (
    AlignmentMaximization,
    HSICWeights,
    IndependentAlignment,
    UniformCombination,
)
from mercer.learners.single import KernelOptimization

__all__ = [
    "AlignmentMaximization",
    "ContinuousAlignment",
    "HSICWeights",
    "IndependentAlignment",
    "KernelLearner",
    "KernelOptimization",
    "UniformCombination",
]
