"""PyALE: accumulated local effects of a column."""

import numpy as np
from PyALE import ale


def test_effects_of_a_column(numbers, models, found):
    X, y = numbers
    heights = []
    for one in models:
        model = one.fit(X, y)
        effect = ale(X=X, model=model, feature=["bmi"], grid_size=20, plot=False, include_CI=False)
        heights.append(np.ptp(effect["eff"].to_numpy()) / np.std(y))
    found("bmi raises the response by {:.1f} standard deviations, linear {:.1f}".format(*heights))
    assert 0.5 < heights[0] < 2.5
