"""skforecast: intervals need residuals of rows that the model was not fitted to."""

import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_predict

from mercer import KernelStackingRegressor, TwoStageRegressor

pytest.importorskip("skforecast", "0.14")
DISTRIBUTION = "skforecast"
MODELS = {
    "linear": RidgeCV(),
    "boosting": HistGradientBoostingRegressor(),
    "two-stage": TwoStageRegressor(),
    "stack": KernelStackingRegressor(["rbf", "laplacian"]),
}


def test_coverage_of_forecasts(sunspots, found):
    from skforecast.recursive import ForecasterRecursive

    covered = {False: [], True: []}
    for model in MODELS.values():
        forecaster = ForecasterRecursive(model, lags=12)
        forecaster.fit(sunspots[:200], store_in_sample_residuals=True)
        X, y = forecaster.create_train_X_y(sunspots[:200])
        left_out = cross_val_predict(model, X, y, cv=5)
        forecaster.set_out_sample_residuals(y_true=y.to_numpy(), y_pred=left_out)
        for use_left_out, shares in covered.items():
            parts = [
                forecaster.predict_interval(
                    10, last_window=sunspots[:start], use_in_sample_residuals=not use_left_out
                )
                for start in range(200, 300, 10)
            ]
            ends, true = pd.concat(parts), sunspots[200:300]
            inside = (ends["lower_bound"] <= true) & (true <= ends["upper_bound"])
            shares.append(inside.mean())
    for use_left_out, shares in covered.items():
        way = "left-out residuals" if use_left_out else "residuals of the fit"
        found(*(f"{one:.2f}" for one in shares), row=f"skforecast, {way}")
    found("coverage of 90 %: {2:.2f}, linear {0:.2f}".format(*covered[True]))
    assert 0.8 < covered[True][2] < 0.99
    assert covered[True][2] >= covered[False][2]
