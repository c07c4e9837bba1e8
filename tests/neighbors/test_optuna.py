"""Optuna: a search of penalties and learners, by a study and by its search estimator."""

import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score

from mercer import TwoStageRegressor

optuna = pytest.importorskip("optuna", "3.6")
pytest.importorskip("optuna_integration")
DISTRIBUTION = "optuna"


def test_searches(numbers, found):
    from optuna.distributions import FloatDistribution
    from optuna_integration import OptunaSearchCV

    X, y = numbers
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    interval = {"alpha": FloatDistribution(1e-3, 1e2, log=True)}
    scores = []
    for model in (TwoStageRegressor(), Ridge()):
        search = OptunaSearchCV(model, interval, n_trials=10, cv=3, random_state=0).fit(X, y)
        scores.append(search.best_score_)
    itself = cross_val_score(TwoStageRegressor(), X, y, cv=3).mean()
    found("R² {:.3f}, linear {:.3f}; without a search {:.3f}".format(*scores, itself))
    assert scores[0] < itself + 0.02
