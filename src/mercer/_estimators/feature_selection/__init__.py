"""scikit-learn selectors of the features on which the target depends."""

from mercer._estimators.feature_selection.selectors import BAHSIC, HSICLasso

__all__ = ["BAHSIC", "HSICLasso"]
