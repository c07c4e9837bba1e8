"""puncc: intervals from rows set apart and from folds."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from mercer import TwoStageRegressor

pytest.importorskip("deel.puncc")
DISTRIBUTION = "puncc"


def test_intervals_cover(numbers, found):
    from deel.puncc.api.prediction import BasePredictor
    from deel.puncc.regression import CVPlus, SplitCP

    X, y = numbers[0].to_numpy(), numbers[1]
    covered = []
    for model in (TwoStageRegressor(), RidgeCV()):
        apart = SplitCP(BasePredictor(model))
        apart.fit(X_fit=X[:150], y_fit=y[:150], X_calib=X[150:250], y_calib=y[150:250])
        folds = CVPlus(BasePredictor(model), K=5, random_state=0)
        folds.fit(X[:250], y[:250])
        for client in (apart, folds):
            low, high = client.predict(X[250:], alpha=0.1)[-2:]
            covered.append(np.mean((low <= y[250:]) & (y[250:] <= high)))
    found("coverage of 90 %: {:.2f}, of folds {:.2f}; linear {:.2f}, {:.2f}".format(*covered))
    assert min(covered[:2]) > 0.84
