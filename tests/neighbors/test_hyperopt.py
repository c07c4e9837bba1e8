"""hyperopt: a search of penalties."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score

from mercer import TwoStageRegressor

hyperopt = pytest.importorskip("hyperopt", "0.2.7")
DISTRIBUTION = "hyperopt"


def test_searches(numbers, found):
    X, y = numbers
    scores = []
    for model in (TwoStageRegressor(), Ridge()):
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
    itself = cross_val_score(TwoStageRegressor(), X, y, cv=3).mean()
    found("R² {:.3f}, linear {:.3f}; without a search {:.3f}".format(*scores, itself))
    assert scores[0] < itself + 0.02
