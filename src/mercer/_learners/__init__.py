"""Learners: scikit-learn transformers that learn a kernel before any predictor."""

from mercer._kernel_learner import KernelLearner
from mercer._learners.alignment_maximization import AlignmentMaximization
from mercer._learners.continuous_alignment import ContinuousAlignment
from mercer._learners.dictionary_weights import (
    HSICWeights,
    IndependentAlignment,
    UniformCombination,
)
from mercer._learners.feature_widths import EvidenceMaximization, GradientOuterProduct
from mercer._learners.forest_kernel import ForestKernel
from mercer._learners.kernel_optimization import KernelOptimization

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
