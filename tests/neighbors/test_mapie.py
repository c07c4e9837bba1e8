"""MAPIE: intervals from resampling cover as often with mercer's estimators as with others."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline

from mercer import KernelStackingRegressor, TwoStageRegressor
from mercer.preprocessing import table_encoder

pytest.importorskip("mapie", "1.0")
from mapie import regression

DISTRIBUTION = "MAPIE"
MODELS = {
    "linear": make_pipeline(table_encoder(), RidgeCV()),
    "boosting": make_pipeline(table_encoder(), HistGradientBoostingRegressor()),
    "two-stage": TwoStageRegressor(),
    "stack": KernelStackingRegressor(["rbf", "laplacian"]),
}
WAYS = {
    "CV+": lambda one: regression.CrossConformalRegressor(one, confidence_level=0.9),
    "jackknife+ after bootstrap": lambda one: regression.JackknifeAfterBootstrapRegressor(
        one, confidence_level=0.9, resampling=10, random_state=0
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_coverage_of_resampling(way, patients, found):
    X, y = patients
    rows = np.random.default_rng(0).permutation(442)
    train, test = rows[:200], rows[200:]
    coverages = {}
    for name, model in MODELS.items():
        fitted = WAYS[way](model).fit_conformalize(X.iloc[train], y[train])
        ends = fitted.predict_interval(X.iloc[test])[1][:, :, 0]
        coverages[name] = np.mean((ends[:, 0] <= y[test]) & (y[test] <= ends[:, 1]))
    found(*(f"{one:.2f}" for one in coverages.values()), row=f"MAPIE, {way}")
    if way == "CV+":
        found(f"coverage of 90 %: {coverages['two-stage']:.2f}, linear {coverages['linear']:.2f}")
    assert min(coverages["two-stage"], coverages["stack"]) > 0.84
