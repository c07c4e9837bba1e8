"""Estimators of kernels and latent functions by probabilistic objectives."""

from mercer.bayesian.classifier import BayesianMKLClassifier
from mercer.bayesian.regressor import BayesianMKLRegressor

__all__ = ["BayesianMKLClassifier", "BayesianMKLRegressor"]
