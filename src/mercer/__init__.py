"""Kernels learned from data."""

from mercer.inspection import (
    AlignmentPathDisplay,
    FeatureRelevanceDisplay,
    GramMatrixDisplay,
    KernelWeightsDisplay,
)
from mercer.learners import (
    AlignmentMaximization,
    ContinuousAlignment,
    IndependentAlignment,
    KernelOptimization,
    UniformCombination,
)
from mercer.metrics import alignment, centered_alignment, hsic
from mercer.two_stage import TwoStageClassifier, TwoStageRegressor

__version__ = "0.1.0"

__all__ = [
    "AlignmentMaximization",
    "AlignmentPathDisplay",
    "ContinuousAlignment",
    "FeatureRelevanceDisplay",
    "GramMatrixDisplay",
    "IndependentAlignment",
    "KernelOptimization",
    "KernelWeightsDisplay",
    "TwoStageClassifier",
    "TwoStageRegressor",
    "UniformCombination",
    "alignment",
    "centered_alignment",
    "hsic",
]
