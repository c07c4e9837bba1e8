"""mlforecast: forecasts and their conformal intervals."""

import numpy as np
import pandas as pd
from mlforecast import MLForecast
from mlforecast.utils import PredictionIntervals


def test_forecasts(sunspots, models, found):
    table = pd.DataFrame({"unique_id": "sun", "ds": np.arange(309), "y": sunspots.to_numpy()})
    named = dict(zip(("kernel", "linear"), models, strict=True))
    forecaster = MLForecast(models=named, freq=1, lags=range(1, 13))
    forecaster.fit(table[:280], prediction_intervals=PredictionIntervals(n_windows=10, h=10))
    ahead, true = forecaster.predict(10, level=[90]), table["y"][280:290].to_numpy()
    errors = [np.abs(ahead[name] - true).mean() for name in named]
    inside = (ahead["kernel-lo-90"] <= true) & (true <= ahead["kernel-hi-90"])
    found("mean error {:.0f}, linear {:.0f} sunspots".format(*errors))
    found(f"{inside.sum()} of 10 covered")
    assert errors[0] < 2 * errors[1]
    assert inside.sum() >= 7
