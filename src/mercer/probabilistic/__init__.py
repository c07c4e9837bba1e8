"""Probabilistic kernel learning: likelihoods, four objectives, and one Newton method for them."""

from mercer.probabilistic.likelihoods import (
    GaussianLikelihood,
    LaplaceLikelihood,
    LogisticLikelihood,
)
from mercer.probabilistic.losses import SupportVectorLoss
from mercer.probabilistic.posterior import FixedPosterior, posterior
from mercer.probabilistic.taxonomy import ObjectiveValues, compare_objectives

__all__ = [
    "FixedPosterior",
    "GaussianLikelihood",
    "LaplaceLikelihood",
    "LogisticLikelihood",
    "ObjectiveValues",
    "SupportVectorLoss",
    "compare_objectives",
    "posterior",
]
