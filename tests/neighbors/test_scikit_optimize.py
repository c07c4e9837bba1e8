"""scikit-optimize: a search of penalties."""

import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score

from mercer import TwoStageRegressor

skopt = pytest.importorskip("skopt", "0.10")
DISTRIBUTION = "scikit-optimize"


def test_searches(numbers, found):
    X, y = numbers
    interval, scores = {"alpha": (1e-3, 1e2, "log-uniform")}, []
    for model in (TwoStageRegressor(), Ridge()):
        search = skopt.BayesSearchCV(model, interval, n_iter=10, cv=3, random_state=0).fit(X, y)
        scores.append(search.best_score_)
    itself = cross_val_score(TwoStageRegressor(), X, y, cv=3).mean()
    found("R² {:.3f}, linear {:.3f}; without a search {:.3f}".format(*scores, itself))
    assert scores[0] < itself + 0.02
