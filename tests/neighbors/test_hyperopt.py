"""hyperopt: a search of penalties."""

import hyperopt
import numpy as np
from sklearn.model_selection import cross_val_score


def test_searches(numbers, penalized, unsearched, found):
    X, y = numbers
    scores = []
    for model in penalized:
        trials = hyperopt.Trials()
        hyperopt.fmin(
            lambda alpha, model=model: (
                -cross_val_score(model.set_params(alpha=alpha), X, y, cv=3).mean()
            ),
            hyperopt.hp.loguniform("alpha", np.log(1e-3), np.log(1e2)),
            algo=hyperopt.tpe.suggest,
            max_evals=10,
            trials=trials,
            rstate=np.random.default_rng(0),
            show_progressbar=False,
        )
        scores.append(-min(trials.losses()))
    found("R² {:.3f}, linear {:.3f}; without a search {:.3f}".format(*scores, unsearched))
    assert scores[0] < unsearched + 0.02
