"""Kernels learned from data."""

from mercer._blocks import ParquetSource
from mercer._clustering import HSICClustering, MultipleKernelClustering
from mercer._feature_selection import BAHSIC, HSICLasso
from mercer._learners import (
    AlignmentMaximization,
    ContinuousAlignment,
    EvidenceMaximization,
    GradientOuterProduct,
    HSICWeights,
    IndependentAlignment,
    KernelOptimization,
    UniformCombination,
)
from mercer._one_stage import (
    L1SVM,
    L2KRR,
    ContinuousMKLClassifier,
    ContinuousMKLRegressor,
    MKLClassifier,
    MKLRegressor,
)
from mercer._stacking import KernelStackingClassifier, KernelStackingRegressor
from mercer._two_stage import TwoStageClassifier, TwoStageRegressor
from mercer.inspection import (
    AlignmentPathDisplay,
    FeatureRelevanceDisplay,
    GramMatrixDisplay,
    KernelWeightsDisplay,
)
from mercer.metrics import alignment, centered_alignment, hsic
from mercer.probabilistic import BayesianMKLClassifier, BayesianMKLRegressor

__version__ = "0.1.0"

__all__ = [
    "BAHSIC",
    "L1SVM",
    "L2KRR",
    "AlignmentMaximization",
    "AlignmentPathDisplay",
    "BayesianMKLClassifier",
    "BayesianMKLRegressor",
    "ContinuousAlignment",
    "ContinuousMKLClassifier",
    "ContinuousMKLRegressor",
    "EvidenceMaximization",
    "FeatureRelevanceDisplay",
    "GradientOuterProduct",
    "GramMatrixDisplay",
    "HSICClustering",
    "HSICLasso",
    "HSICWeights",
    "IndependentAlignment",
    "KernelOptimization",
    "KernelStackingClassifier",
    "KernelStackingRegressor",
    "KernelWeightsDisplay",
    "MKLClassifier",
    "MKLRegressor",
    "MultipleKernelClustering",
    "ParquetSource",
    "TwoStageClassifier",
    "TwoStageRegressor",
    "UniformCombination",
    "alignment",
    "centered_alignment",
    "hsic",
]
