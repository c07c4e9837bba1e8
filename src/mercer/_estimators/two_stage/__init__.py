"""Two-stage estimators: a kernel is learned first, then a machine on its Gram matrix is fitted."""

from mercer._estimators.two_stage.learned_gram import NESTED_ABOVE
from mercer._estimators.two_stage.two_stage_classifier import TwoStageClassifier
from mercer._estimators.two_stage.two_stage_regressor import TwoStageRegressor
from mercer._solvers.left_out import ALPHA_GRID
from mercer._solvers.svm import C_GRID

__all__ = ["ALPHA_GRID", "C_GRID", "NESTED_ABOVE", "TwoStageClassifier", "TwoStageRegressor"]
