"""skforecast: intervals need residuals of rows that the model was not fitted to."""

import pandas as pd
from skforecast.recursive import ForecasterRecursive
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import cross_val_predict

from mercer import KernelStackingRegressor


def test_coverage_of_forecasts(sunspots, models, share_inside, found):
    two_stage, linear = models
    stack = KernelStackingRegressor(["rbf", "laplacian"])
    covered = {"residuals of the fit": [], "left-out residuals": []}
    for model in (linear, HistGradientBoostingRegressor(), two_stage, stack):
        forecaster = ForecasterRecursive(model, lags=12)
        forecaster.fit(sunspots[:200], store_in_sample_residuals=True)
        X, y = forecaster.create_train_X_y(sunspots[:200])
        left_out = cross_val_predict(model, X, y, cv=5)
        forecaster.set_out_sample_residuals(y_true=y.to_numpy(), y_pred=left_out)
        for way, shares in covered.items():
            ends = pd.concat(
                forecaster.predict_interval(
                    10,
                    last_window=sunspots[:start],
                    use_in_sample_residuals=way == "residuals of the fit",
                )
                for start in range(200, 300, 10)
            )
            shares.append(share_inside(ends["lower_bound"], ends["upper_bound"], sunspots[200:300]))
    for way, shares in covered.items():
        found(*(f"{one:.2f}" for one in shares), row=f"skforecast, {way}")
    fitted, left_out = covered.values()
    found("coverage of 90 %: {2:.2f}, linear {0:.2f}".format(*left_out))
    assert 0.8 < left_out[2] < 0.99
    assert left_out[2] >= fitted[2]
