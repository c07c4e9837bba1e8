"""pyarrow: data frames of pandas whose columns are Arrow arrays."""

import numpy as np
import pytest

from mercer import KernelStackingRegressor, TwoStageRegressor

pytest.importorskip("pyarrow", "16")
DISTRIBUTION = "pyarrow"


def test_frames_are_those_of_numpy(patients, found):
    X, y = patients
    frame, gaps = X.convert_dtypes(dtype_backend="pyarrow"), []
    assert "pyarrow" in str(frame.dtypes["sex"])
    for model in (TwoStageRegressor(), KernelStackingRegressor(["rbf"])):
        expected = model.fit(X[:250], y[:250]).predict(X[250:])
        predicted = model.fit(frame[:250], y[:250]).predict(frame[250:])
        gaps.append(np.abs(predicted - expected).max() / np.std(y))
    found(f"differs from NumPy's columns by {max(gaps):.0e} of the standard deviation")
    assert max(gaps) < 1e-9
