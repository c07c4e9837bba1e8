"""crepes: conformal intervals and sets, also from the residuals of left-out rows."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline

from mercer import TwoStageClassifier, TwoStageRegressor
from mercer.preprocessing import table_encoder

crepes = pytest.importorskip("crepes", "0.7")
DISTRIBUTION = "crepes"


def coverage(ends: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])))


def test_intervals_cover(patients, found):
    X, y = patients
    covered = []
    for model in (TwoStageRegressor(), make_pipeline(table_encoder(), RidgeCV())):
        wrapped = crepes.WrapRegressor(model)
        wrapped.fit(X[:150], y[:150])
        wrapped.calibrate(X[150:250], y[150:250])
        covered.append(coverage(wrapped.predict_int(X[250:], confidence=0.9, seed=0), y[250:]))
    model = TwoStageRegressor().fit(X[:250], y[:250])
    left_out = crepes.ConformalRegressor().fit(model.cv_residuals_)
    covered.append(coverage(left_out.predict_int(model.predict(X[250:]), confidence=0.9), y[250:]))
    found("coverage of 90 %: {:.2f}, linear {:.2f}, of left-out residuals {:.2f}".format(*covered))
    assert all(0.85 < one < 0.97 for one in covered)


def test_sets_contain_the_class(patients, found):
    X, y = patients[0], patients[1] > 140
    wrapped = crepes.WrapClassifier(TwoStageClassifier())
    wrapped.fit(X[:150], y[:150])
    wrapped.calibrate(X[150:250], y[150:250])
    sets = wrapped.predict_set(X[250:], confidence=0.9, seed=0)
    covered = np.mean([one in labels for one, labels in zip(y[250:], sets, strict=True)])
    found(f"sets {covered:.2f}")
    assert covered > 0.84
