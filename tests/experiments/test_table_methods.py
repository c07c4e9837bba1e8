"""The compared methods: what they return, and what happens where a package is missing."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics

from experiments.tabular import torch_methods
from experiments.tabular.table_files import TableSplit
from experiments.tabular.table_methods import (
    METHODS,
    calibration_error,
    log_loss,
)
from experiments.tabular.torch_methods import TorchMethod


def test_log_loss_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3), size=50)
    y = rng.integers(0, 3, size=50)
    assert log_loss(y, P) == pytest.approx(sklearn.metrics.log_loss(y, P, labels=[0, 1, 2]))


def test_the_calibration_error_is_the_gap_of_confidence_and_accuracy() -> None:
    P = np.tile([0.8, 0.2], (10, 1))
    right = np.r_[np.zeros(8, dtype=int), np.ones(2, dtype=int)]
    assert calibration_error(right, P) == pytest.approx(0.0)
    assert calibration_error(np.zeros(10, dtype=int), P) == pytest.approx(0.2)
    both = np.vstack([P, np.tile([0.4, 0.6], (10, 1))])
    labels = np.r_[np.zeros(10, dtype=int), np.zeros(10, dtype=int)]
    assert calibration_error(labels, both) == pytest.approx((0.2 + 0.6) / 2.0)
    assert calibration_error(np.array([0]), np.array([[1.0, 0.0]])) == 0.0


PACKAGES = {
    "LightGBM": "lightgbm",
    "XGBoost": "xgboost",
    "CatBoost": "catboost",
    "EBM": "interpret",
}
FAST = ("GP-ARD", "HistGB", "two-stage", "HistGB, encoded", *PACKAGES)


def made_up(*, classes: bool) -> TableSplit:
    """A split whose target depends on a number and on a category, some of which are missing."""
    rng = np.random.default_rng(0)
    n_rows = 120
    kind = rng.choice(["a", "b"], n_rows)
    frame = pd.DataFrame({"odd name:": rng.random(n_rows), "kind": pd.Categorical(kind)})
    signal = frame["odd name:"].to_numpy() + (kind == "a")
    y = (signal > 1.0).astype(int) if classes else 10.0 * signal - 2.0
    frame.loc[:3, "odd name:"] = np.nan
    train, test = frame.iloc[:80], frame.iloc[80:].reset_index(drop=True)
    task: Any = "classification" if classes else "regression"
    scale = 1.0 if classes else float(y.std())
    return TableSplit("made up", task, train, y[:80], test, y[80:], scale, False)


@pytest.mark.parametrize(("name", "classes"), [(name, n % 2 == 1) for n, name in enumerate(FAST)])
@pytest.mark.filterwarnings("ignore")
def test_every_method_measures_both_tasks(name: str, classes: bool) -> None:
    if name in PACKAGES and importlib.util.find_spec(PACKAGES[name]) is None:
        pytest.skip(f"{PACKAGES[name]} is not installed")
    found = METHODS[name](made_up(classes=classes))
    assert found["n_train"] == 80
    assert found["n_test"] == 40
    assert found["error"] < (0.3 if classes else 0.5)
    assert found["fit_seconds"] > 0.0
    if classes and name != "two-stage":
        assert 0.0 < found["log_loss"] < 1.0
        assert 0.0 <= found["calibration_error"] <= 1.0
    if not classes and name == "GP-ARD":
        assert 0.5 < found["coverage"] <= 1.0


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Callable[[str], TorchMethod]]:
    """A method whose worker is a program of some lines, and the end of its process."""
    path = tmp_path / "worker.py"

    def method(program: str) -> TorchMethod:
        path.write_text(program)
        return TorchMethod("xRFM", "xrfm", path)

    torch_methods.running.cache_clear()
    yield method
    if torch_methods.running.cache_info().currsize:
        torch_methods.running(sys.executable, path).communicate()
        torch_methods.running.cache_clear()


LOOP = """
import sys
sys.path.insert(0, {folder!r})
from sklearn.dummy import DummyClassifier, DummyRegressor
from worker_loop import serve
def fit(X, y, classes):
    print("an epoch")
    return DummyClassifier(strategy="prior").fit(X, y) if classes else DummyRegressor().fit(X, y)
serve(fit)
"""


def test_the_loop_of_workers_answers_whatever_a_method_prints(
    worker: Callable[[str], TorchMethod], monkeypatch: pytest.MonkeyPatch
) -> None:
    method = worker(LOOP.format(folder=str(torch_methods.HERE)))
    monkeypatch.setenv(method.variable, sys.executable)
    X, y = np.zeros((4, 1)), np.array([0.0, 1.0, 1.0, 1.0])
    found = method.predicted(X, y, np.zeros((2, 1)), classes=False)
    assert found["predicted"].tolist() == [0.75, 0.75]
    assert "probabilities" not in found
    found = method.predicted(X, y, np.zeros((2, 1)), classes=True)
    assert found["predicted"].tolist() == [1, 1]
    np.testing.assert_allclose(found["probabilities"], [[0.25, 0.75]] * 2)
    with pytest.raises(RuntimeError, match="xRFM failed"):
        worker("input()\n").ask(sys.executable, method.worker.with_name("rows.npz"))
