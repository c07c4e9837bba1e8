"""Learners: scikit-learn transformers that learn a kernel before a predictor is fitted."""

from mercer._estimators.kernel_learner import KernelLearner
from mercer._estimators.learners.alignment_maximization import AlignmentMaximization
from mercer._estimators.learners.continuous_alignment import ContinuousAlignment
from mercer._estimators.learners.dictionary_weights import (
    HSICWeights,
    IndependentAlignment,
    UniformCombination,
)
from mercer._estimators.learners.feature_widths import EvidenceMaximization, GradientOuterProduct
from mercer._estimators.learners.forest_kernel import ForestKernel
from mercer._estimators.learners.kernel_optimization import KernelOptimization

__all__ = [
    "AlignmentMaximization",
    "ContinuousAlignment",
    "EvidenceMaximization",
    "ForestKernel",
    "GradientOuterProduct",
    "HSICWeights",
    "IndependentAlignment",
    "KernelLearner",
    "KernelOptimization",
    "UniformCombination",
]
