"""Probabilistic kernel learning: likelihoods, four objectives, and one Newton method for them."""

from mercer.probabilistic._bayesian_classifier import BayesianMKLClassifier
from mercer.probabilistic._bayesian_regressor import BayesianMKLRegressor
from mercer.probabilistic._latent_losses import SupportVectorLoss
from mercer.probabilistic._likelihoods import (
    GaussianLikelihood,
    LaplaceLikelihood,
    LogisticLikelihood,
)
from mercer.probabilistic._posterior import FixedPosterior, posterior

__all__ = [
    "BayesianMKLClassifier",
    "BayesianMKLRegressor",
    "FixedPosterior",
    "GaussianLikelihood",
    "LaplaceLikelihood",
    "LogisticLikelihood",
    "SupportVectorLoss",
    "posterior",
]
