"""Pictures of what was learned: weights, path, relevance of the features, and the Gram matrix.

Each display follows scikit-learn's conventions: it stores the data it shows, `from_estimator` reads
them off a fitted estimator, and `plot` draws them and sets `ax_` and `figure_`. An estimator is a
learner, a two-stage or one-stage estimator, a `Pipeline` that ends in one, or a search such as
`GridSearchCV` over any of these. Matplotlib is needed only to draw:
``pip install "mercer[plot]"``.
"""

from mercer.inspection._alignment_path import AlignmentPathDisplay
from mercer.inspection._bars import FeatureRelevanceDisplay, KernelWeightsDisplay
from mercer.inspection._gram_matrix import GramMatrixDisplay

__all__ = [
    "AlignmentPathDisplay",
    "FeatureRelevanceDisplay",
    "GramMatrixDisplay",
    "KernelWeightsDisplay",
]
