"""Estimators that are fitted to Dask collections, also while a worker dies."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import TwoStageRegressor, UniformCombination

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

pytestmark = [pytest.mark.usefixtures("client"), pytest.mark.usefixtures("few_folds_throughout")]

N_ROWS = 600


@dataclass(frozen=True)
class Dying:
    """A Gaussian kernel, at whose first evaluation in another process that process dies."""

    process: int
    mark: Path

    def __call__(self, X: Any, Z: Any = None) -> Any:
        if os.getpid() != self.process and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        Z = X if Z is None else Z
        return np.exp(-np.square(X[:, None, :] - Z[None, :, :]).sum(axis=2) / 8.0)


def problem() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 3))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=N_ROWS)


def two_stage(learner: Any = None) -> TwoStageRegressor:
    return TwoStageRegressor(learner, approximation="nystroem", n_components=50)


def test_arrays_are_fitted_like_a_table_in_memory_and_predicted_lazily() -> None:
    X, y = problem()
    table = da.from_array(X, chunks=(140, 3))
    found = two_stage().fit(table, da.from_array(y, chunks=140))
    in_memory = two_stage().fit(X, y)
    assert found.alpha_ == in_memory.alpha_
    predicted = found.predict(table)
    assert isinstance(predicted, da.Array)
    assert_allclose(predicted.compute(), in_memory.predict(X), rtol=1e-7, atol=1e-8)


def test_a_fit_ends_with_the_same_coefficients_if_a_worker_dies(tmp_path: Path) -> None:
    X, y = problem()
    mark = tmp_path / "died"
    learner = UniformCombination([Dying(os.getpid(), mark)])
    found = two_stage(learner).fit(da.from_array(X, chunks=(140, 3)), da.from_array(y, chunks=140))
    assert mark.exists()
    in_memory = two_stage(learner).fit(X, y)
    coefficients = in_memory.predictor_.choice.fit.coefficients
    size = np.abs(coefficients).max()
    assert_allclose(found.predictor_.choice.fit.coefficients, coefficients, atol=1e-8 * size)
