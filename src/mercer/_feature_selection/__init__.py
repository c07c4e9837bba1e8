"""Selection of features by their dependence on the target, as scikit-learn selectors."""

from mercer._feature_selection.bahsic import BAHSIC
from mercer._feature_selection.hsic_lasso import HSICLasso

__all__ = ["BAHSIC", "HSICLasso"]
