"""sktime: forecasts by regression on a window."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from mercer import TwoStageRegressor

pytest.importorskip("sktime", "0.30")
DISTRIBUTION = "sktime"


def test_forecasts(found):
    from sktime.datasets import load_airline
    from sktime.forecasting.compose import make_reduction
    from sktime.transformations.series.detrend import Detrender

    y, errors = np.log(load_airline()), []
    for model in (TwoStageRegressor(), RidgeCV()):
        forecaster = Detrender() * make_reduction(model, window_length=12, strategy="recursive")
        ahead = forecaster.fit(y[:-24]).predict(np.arange(1, 25))
        errors.append(np.abs(ahead - y[-24:]).mean())
    found("mean error of the logarithm {:.3f}, linear {:.3f}".format(*errors))
    assert errors[0] < 2 * errors[1]
