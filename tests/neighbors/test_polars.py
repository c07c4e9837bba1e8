"""polars: frames go in as they are, and predict as those of pandas."""

import numpy as np
import pytest

from mercer import KernelStackingRegressor, TwoStageRegressor

polars = pytest.importorskip("polars", "1.20")
DISTRIBUTION = "polars"


def test_frames_are_those_of_pandas(patients, found):
    X, y = patients
    frame, gaps = polars.from_pandas(X), []
    for model in (TwoStageRegressor(), KernelStackingRegressor(["rbf"])):
        expected = model.fit(X[:250], y[:250]).predict(X[250:])
        predicted = model.fit(frame[:250], y[:250]).predict(frame[250:])
        gaps.append(np.abs(predicted - expected).max() / np.std(y))
    found(f"differs from pandas by {max(gaps):.0e} of the standard deviation")
    assert max(gaps) < 1e-9
