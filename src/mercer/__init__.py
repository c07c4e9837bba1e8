"""Kernels learned from data."""

from mercer.bayesian import BayesianMKLClassifier, BayesianMKLRegressor
from mercer.clustering import HSICClustering, MultipleKernelClustering
from mercer.feature_selection import BAHSIC, HSICLasso
from mercer.inspection import (
    AlignmentPathDisplay,
    FeatureRelevanceDisplay,
    GramMatrixDisplay,
    KernelWeightsDisplay,
    ObjectivePathDisplay,
)
from mercer.learners import (
    AlignmentMaximization,
    ContinuousAlignment,
    HSICWeights,
    IndependentAlignment,
    KernelOptimization,
    UniformCombination,
)
from mercer.metrics import alignment, centered_alignment, hsic
from mercer.one_stage import (
    L1SVM,
    L2KRR,
    ContinuousMKLClassifier,
    ContinuousMKLRegressor,
    MKLClassifier,
    MKLRegressor,
)
from mercer.two_stage import TwoStageClassifier, TwoStageRegressor

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
    "FeatureRelevanceDisplay",
    "GramMatrixDisplay",
    "HSICClustering",
    "HSICLasso",
    "HSICWeights",
    "IndependentAlignment",
    "KernelOptimization",
    "KernelWeightsDisplay",
    "MKLClassifier",
    "MKLRegressor",
    "MultipleKernelClustering",
    "ObjectivePathDisplay",
    "TwoStageClassifier",
    "TwoStageRegressor",
    "UniformCombination",
    "alignment",
    "centered_alignment",
    "hsic",
]
