"""Optuna: a search of penalties by its search estimator."""

import optuna
from optuna.distributions import FloatDistribution
from optuna_integration import OptunaSearchCV


def test_searches(numbers, penalized, unsearched, found):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    interval = {"alpha": FloatDistribution(1e-3, 1e2, log=True)}
    scores = []
    for model in penalized:
        search = OptunaSearchCV(model, interval, n_trials=10, cv=3, random_state=0).fit(*numbers)
        scores.append(search.best_score_)
    found("R² {:.3f}, linear {:.3f}; without a search {:.3f}".format(*scores, unsearched))
    assert scores[0] < unsearched + 0.02
