"""Selection of features by their dependence on the target, as scikit-learn selectors."""

from mercer._estimators.feature_selection.selectors import BAHSIC, HSICLasso

__all__ = ["BAHSIC", "HSICLasso"]
