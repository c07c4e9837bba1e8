"""sktime: forecasts by regression on a window."""

import numpy as np
from sktime.datasets import load_airline
from sktime.forecasting.compose import make_reduction
from sktime.transformations.series.detrend import Detrender


def test_forecasts(models, found):
    y, errors = np.log(load_airline()), []
    for model in models:
        forecaster = Detrender() * make_reduction(model, window_length=12, strategy="recursive")
        ahead = forecaster.fit(y[:-24]).predict(np.arange(1, 25))
        errors.append(np.abs(ahead - y[-24:]).mean())
    found("mean error of the logarithm {:.3f}, linear {:.3f}".format(*errors))
    assert errors[0] < 2 * errors[1]
