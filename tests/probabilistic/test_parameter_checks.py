"""Parameters of the probabilistic estimators out of their range are refused before any work."""

from __future__ import annotations

import numpy as np
import pytest
from learner_cases import problem
from sklearn.base import BaseEstimator, clone

from mercer import BayesianMKLClassifier, BayesianMKLRegressor

CLASSIFIER, REGRESSOR = BayesianMKLClassifier, BayesianMKLRegressor


@pytest.mark.parametrize(
    ("model", "message", "kind"),
    [
        (
            CLASSIFIER(objective="marginal_likelihood"),
            "objective must be one of .*; got 'marginal_likelihood'",
            ValueError,
        ),
        (CLASSIFIER(objective="VB"), "objective must be one of", ValueError),
        (CLASSIFIER(objective=None), "objective must be one of", ValueError),
        (CLASSIFIER(objective=["vb"]), "objective must be one of", ValueError),
        (REGRESSOR(objective="ml2"), "objective must be one of .*; got 'ml2'", ValueError),
        (REGRESSOR(likelihood="student"), "likelihood must be one of", ValueError),
        (REGRESSOR(likelihood="logistic"), "likelihood must be one of", ValueError),
        (
            REGRESSOR(likelihood="laplace"),
            'objective="marginal_likelihood" is in closed form',
            ValueError,
        ),
        (REGRESSOR(noise=0.0), "noise must be positive; got 0.0", ValueError),
        (REGRESSOR(noise=-1.0), "noise must be .*not negative; got -1.0", ValueError),
        (REGRESSOR(noise=np.nan), "noise must be finite", ValueError),
        (REGRESSOR(noise="auto"), "noise must be an instance of", TypeError),
        (CLASSIFIER(weight_penalty=0), "weight_penalty must be positive; got 0", ValueError),
        (REGRESSOR(weight_penalty=-0.5), "weight_penalty must be .*not negative", ValueError),
        (CLASSIFIER(weight_penalty=np.inf), "weight_penalty must be finite", ValueError),
        (CLASSIFIER(norm=0.99), "norm must be at least 1; got 0.99", ValueError),
        (CLASSIFIER(norm=np.inf), "norm must be .*got inf", ValueError),
        (REGRESSOR(norm=np.nan), "norm must be", ValueError),
        (CLASSIFIER(jitter=0.0), "jitter must be positive; got 0.0", ValueError),
        (REGRESSOR(jitter=-1), "jitter must be .*not negative", ValueError),
        (CLASSIFIER(jitter="0.1"), "jitter must be an instance of", TypeError),
        (CLASSIFIER(learn_parameters="yes"), "learn_parameters must be .*; got 'yes'", ValueError),
        (CLASSIFIER(objective="map", learn_parameters=True), "learn_parameters=True", ValueError),
        (REGRESSOR(objective="mkl", learn_parameters=True), "learn_parameters=True", ValueError),
        (REGRESSOR("precomputed", learn_parameters=True), "learn_parameters=True", ValueError),
        (CLASSIFIER(n_starts=0), "n_starts must be at least 1; got 0", ValueError),
        (REGRESSOR(n_starts=1.5), "n_starts must be an instance of", TypeError),
        (CLASSIFIER(tol=0.0), "tol must be positive", ValueError),
        (REGRESSOR(tol=np.nan), "tol must be finite", ValueError),
        (REGRESSOR(max_iter=0), "max_iter must be at least 1; got 0", ValueError),
        (REGRESSOR(verbose="yes"), "verbose must be True or False; got 'yes'", ValueError),
        (REGRESSOR(normalize_y="no"), "normalize_y must be True or False; got 'no'", ValueError),
    ],
)
def test_invalid_parameters_are_rejected(model: BaseEstimator, message: str, kind: type) -> None:
    """Parameters are checked before the features are."""
    X, y = problem("binary" if isinstance(model, CLASSIFIER) else "regression", 30)
    for features in (X, np.full(X.shape, np.nan)):
        with pytest.raises(kind, match=message):
            clone(model).fit(features, y)
