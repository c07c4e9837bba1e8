"""MAPIE: intervals from resampling cover as often with mercer's estimators as with others."""

import numpy as np
import pytest
from mapie import regression
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline

from mercer import KernelStackingRegressor
from mercer.preprocessing import table_encoder

WAYS = {
    "CV+": lambda one: regression.CrossConformalRegressor(one, confidence_level=0.9),
    "jackknife+ after bootstrap": lambda one: regression.JackknifeAfterBootstrapRegressor(
        one, confidence_level=0.9, resampling=10, random_state=0
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_coverage_of_resampling(way, patients, frame_models, share_inside, found):
    X, y = patients
    rows = np.random.default_rng(0).permutation(442)
    train, test = rows[:200], rows[200:]
    two_stage, linear = frame_models
    boosting = make_pipeline(table_encoder(), HistGradientBoostingRegressor())
    shares = []
    for model in (linear, boosting, two_stage, KernelStackingRegressor(["rbf", "laplacian"])):
        fitted = WAYS[way](model).fit_conformalize(X.iloc[train], y[train])
        ends = fitted.predict_interval(X.iloc[test])[1][:, :, 0]
        shares.append(share_inside(*ends.T, y[test]))
    found(*(f"{one:.2f}" for one in shares), row=f"MAPIE, {way}")
    if way == "CV+":
        found("coverage of 90 %: {2:.2f}, linear {0:.2f}".format(*shares))
    assert min(shares[2:]) > 0.84
