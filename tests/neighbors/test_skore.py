"""skore: reports of an estimator and of its folds."""

import pytest
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline

from mercer import TwoStageRegressor
from mercer.preprocessing import table_encoder

skore = pytest.importorskip("skore", "0.10")
DISTRIBUTION = "skore"


def test_reports(patients, found):
    X, y = patients
    scores = []
    for model in (TwoStageRegressor(), make_pipeline(table_encoder(), RidgeCV())):
        one = skore.EstimatorReport(
            model, X_train=X[:250], y_train=y[:250], X_test=X[250:], y_test=y[250:]
        )
        scores.append(one.metrics.r2())
    folds = skore.CrossValidationReport(TwoStageRegressor(), X, y, splitter=3)
    assert len(folds.reports_) == 3
    found("R² {:.2f}, linear {:.2f}".format(*scores))
    assert scores[0] > scores[1] - 0.05
