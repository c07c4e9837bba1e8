"""Estimators in two stages: a kernel learned by alignment, then a machine on its Gram matrix."""

from mercer.two_stage.base import NESTED_ABOVE
from mercer.two_stage.classifier import C_GRID, TwoStageClassifier
from mercer.two_stage.regressor import ALPHA_GRID, TwoStageRegressor

__all__ = ["ALPHA_GRID", "C_GRID", "NESTED_ABOVE", "TwoStageClassifier", "TwoStageRegressor"]
