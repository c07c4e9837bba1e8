"""Explain fitted models, draw what they learned, and evaluate them on held-out rows.

`report` evaluates a fitted model on rows to which it was not fitted. `shapley_values` computes how
much each column contributes to a prediction, and `shapley_interactions` what each pair of columns
contributes together. `sobol_indices` computes how much of a model's variation is due to each column
and pair. `kernel_terms` returns the kernels of a fitted estimator, and the displays plot what the
estimator learned.

Each display follows scikit-learn's conventions: it stores the data that it shows, `from_estimator`
takes the data from a fitted estimator, and `plot` draws them and sets `ax_` and `figure_`. Draw
them by ``KernelWeightsDisplay.from_estimator(model)``,
``AlignmentPathDisplay.from_estimator(model)``, ``FeatureRelevanceDisplay.from_estimator(model)`` or
``GramMatrixDisplay.from_estimator(model, X, y)``. Here `model` is a fitted estimator that learns a
kernel, a `Pipeline` that ends in one, or a search such as `GridSearchCV` over either. Only drawing
needs matplotlib: ``pip install "mercer[plot]"``.
"""

from mercer._gram.expansion import KernelExpansion
from mercer._search.records import KernelTerms
from mercer.inspection._contributions import Contribution, ShapleyValues
from mercer.inspection._coverage import CoverageDisplay
from mercer.inspection._display import (
    AlignmentPathDisplay,
    FeatureRelevanceDisplay,
    GramMatrixDisplay,
    KernelWeightsDisplay,
    kernel_terms,
)
from mercer.inspection._held_out import default_metric
from mercer.inspection._interactions import (
    ShapleyInteractions,
    SobolIndices,
    shapley_interactions,
    sobol_indices,
)
from mercer.inspection._partial_dependence import (
    PartialDependence,
    partial_dependence,
    partial_dependence_display,
)
from mercer.inspection._report import ModelReport, report
from mercer.inspection._shapley import shapley_values
from mercer.inspection._training_rows import TrainingContributions, training_contributions

__all__ = [
    "AlignmentPathDisplay",
    "Contribution",
    "CoverageDisplay",
    "FeatureRelevanceDisplay",
    "GramMatrixDisplay",
    "KernelExpansion",
    "KernelTerms",
    "KernelWeightsDisplay",
    "ModelReport",
    "PartialDependence",
    "ShapleyInteractions",
    "ShapleyValues",
    "SobolIndices",
    "TrainingContributions",
    "default_metric",
    "kernel_terms",
    "partial_dependence",
    "partial_dependence_display",
    "report",
    "shapley_interactions",
    "shapley_values",
    "sobol_indices",
    "training_contributions",
]
