"""Learn kernels by marginal likelihood, and predict with uncertainties."""

from mercer.probabilistic._bayesian_mkl import BayesianMKLClassifier
from mercer.probabilistic._bayesian_regressor import BayesianMKLRegressor
from mercer.probabilistic._likelihoods import (
    Deviance,
    GaussianLikelihood,
    LaplaceLikelihood,
    LogisticLikelihood,
)
from mercer.probabilistic._posterior import FixedPosterior, posterior

__all__ = [
    "BayesianMKLClassifier",
    "BayesianMKLRegressor",
    "Deviance",
    "FixedPosterior",
    "GaussianLikelihood",
    "LaplaceLikelihood",
    "LogisticLikelihood",
    "posterior",
]
