"""Predict, explain and select with kernels that are learned from data."""

from typing import TYPE_CHECKING

from mercer._data.lazy_names import lazy_names

if TYPE_CHECKING:
    from mercer._blocks.own_encoders import on_numbers
    from mercer._blocks.parquet_source import ParquetSource
    from mercer._data.validation import infer_task
    from mercer._estimators.clustering import HSICClustering, MultipleKernelClustering
    from mercer._estimators.feature_selection import BAHSIC, HSICLasso
    from mercer._estimators.generalized import (
        KernelLogisticRegression,
        KernelOrdinalClassifier,
        KernelPoissonRegressor,
    )
    from mercer._estimators.learners import (
        AlignmentMaximization,
        ContinuousAlignment,
        EvidenceMaximization,
        ForestKernel,
        GradientOuterProduct,
        HSICWeights,
        IndependentAlignment,
        KernelOptimization,
        UniformCombination,
    )
    from mercer._estimators.one_stage import (
        L1SVM,
        L2KRR,
        ContinuousMKLClassifier,
        ContinuousMKLRegressor,
        MKLClassifier,
        MKLRegressor,
    )
    from mercer._estimators.stacking import KernelStackingClassifier, KernelStackingRegressor
    from mercer._estimators.two_stage import TwoStageClassifier, TwoStageRegressor
    from mercer._files.deployment import compress, register_onnx_converters, to_onnx
    from mercer._files.model_files import load, save
    from mercer.inspection import (
        AlignmentPathDisplay,
        FeatureRelevanceDisplay,
        GramMatrixDisplay,
        KernelWeightsDisplay,
    )
    from mercer.metrics import alignment, centered_alignment, hsic
    from mercer.probabilistic import BayesianMKLClassifier, BayesianMKLRegressor

__version__ = "0.3.0"

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
    "ForestKernel",
    "GradientOuterProduct",
    "GramMatrixDisplay",
    "HSICClustering",
    "HSICLasso",
    "HSICWeights",
    "IndependentAlignment",
    "KernelLogisticRegression",
    "KernelOptimization",
    "KernelOrdinalClassifier",
    "KernelPoissonRegressor",
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
    "compress",
    "hsic",
    "infer_task",
    "load",
    "on_numbers",
    "register_onnx_converters",
    "save",
    "to_onnx",
]

_MODULES = {
    "mercer._blocks.own_encoders": "on_numbers",
    "mercer._blocks.parquet_source": "ParquetSource",
    "mercer._estimators.clustering": "HSICClustering MultipleKernelClustering",
    "mercer._files.deployment": "compress register_onnx_converters to_onnx",
    "mercer._estimators.feature_selection": "BAHSIC HSICLasso",
    "mercer._estimators.generalized": (
        "KernelLogisticRegression KernelOrdinalClassifier KernelPoissonRegressor"
    ),
    "mercer._estimators.learners": (
        "AlignmentMaximization ContinuousAlignment EvidenceMaximization ForestKernel "
        "GradientOuterProduct HSICWeights IndependentAlignment KernelOptimization "
        "UniformCombination"
    ),
    "mercer._files.model_files": "load save",
    "mercer._estimators.one_stage": (
        "ContinuousMKLClassifier ContinuousMKLRegressor L1SVM L2KRR MKLClassifier MKLRegressor"
    ),
    "mercer._estimators.stacking": "KernelStackingClassifier KernelStackingRegressor",
    "mercer._estimators.two_stage": "TwoStageClassifier TwoStageRegressor",
    "mercer._data.validation": "infer_task",
    "mercer.inspection": (
        "AlignmentPathDisplay FeatureRelevanceDisplay GramMatrixDisplay KernelWeightsDisplay"
    ),
    "mercer.metrics": "alignment centered_alignment hsic",
    "mercer.probabilistic": "BayesianMKLClassifier BayesianMKLRegressor",
}
"""The names that each module defines; a module is imported on first access to one of them."""

_PACKAGES = (
    "datasets",
    "inspection",
    "kernels",
    "losses",
    "metrics",
    "preprocessing",
    "probabilistic",
)
"""Public modules, available as attributes of the package without an explicit import."""

if not TYPE_CHECKING:
    # Type checkers read the imports above, and can thus report names that do not exist.

    __getattr__, __dir__ = lazy_names(globals(), _MODULES, _PACKAGES)
