"""What was learned: weights, alignment, relevance of the features, and Gram matrix.

`kernel_terms` returns the kernels of a fitted estimator, and the displays draw what it learned.

Each display follows scikit-learn's conventions: it stores the data it shows, `from_estimator` reads
them off a fitted estimator, and `plot` draws them and sets `ax_` and `figure_`. They are drawn by
``KernelWeightsDisplay.from_estimator(model)``, ``AlignmentPathDisplay.from_estimator(model)``,
``FeatureRelevanceDisplay.from_estimator(model)`` and
``GramMatrixDisplay.from_estimator(model, X, y)``, where `model` is a fitted estimator that learns a
kernel, a `Pipeline` that ends in one, or a search such as `GridSearchCV` over either. Matplotlib is
needed only to draw: ``pip install "mercer[plot]"``.
"""

from mercer._records import KernelTerms
from mercer.inspection._bars import FeatureRelevanceDisplay, KernelWeightsDisplay
from mercer.inspection._display import AlignmentPathDisplay, kernel_terms
from mercer.inspection._gram_matrix import GramMatrixDisplay

__all__ = [
    "AlignmentPathDisplay",
    "FeatureRelevanceDisplay",
    "GramMatrixDisplay",
    "KernelTerms",
    "KernelWeightsDisplay",
    "kernel_terms",
]
