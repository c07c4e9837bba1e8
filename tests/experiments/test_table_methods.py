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
from campaign import in_campaign, rotating

from experiments.experiment import Unavailable
from experiments.tabular import table_methods, torch_methods
from experiments.tabular.table_files import TableSplit
from experiments.tabular.table_methods import (
    METHODS,
    calibration_error,
    encoded,
    log_loss,
    native,
    of_intervals,
    of_torch,
    strings,
    uncertainty,
)
from experiments.tabular.torch_methods import TorchMethod


def test_log_loss_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3), size=50)
    y = rng.integers(0, 3, size=50)
    assert log_loss(y, P) == pytest.approx(sklearn.metrics.log_loss(y, P, labels=[0, 1, 2]))


def test_a_class_without_a_column_costs_as_much_as_a_probability_of_zero() -> None:
    P = np.array([[1.0, 0.0], [0.5, 0.5]])
    unseen, impossible = log_loss(np.array([2, 0]), P), log_loss(np.array([1, 0]), P)
    assert unseen == pytest.approx(impossible)
    assert np.isfinite(unseen)
    assert unseen > 10.0


def test_the_calibration_error_is_the_gap_of_confidence_and_accuracy() -> None:
    P = np.tile([0.8, 0.2], (10, 1))
    right = np.r_[np.zeros(8, dtype=int), np.ones(2, dtype=int)]
    assert calibration_error(right, P) == pytest.approx(0.0)
    assert calibration_error(np.zeros(10, dtype=int), P) == pytest.approx(0.2)
    assert calibration_error(np.ones(10, dtype=int), P) == pytest.approx(0.8)
    both = np.vstack([P, np.tile([0.4, 0.6], (10, 1))])
    labels = np.r_[np.zeros(10, dtype=int), np.zeros(10, dtype=int)]
    assert calibration_error(labels, both) == pytest.approx((0.2 + 0.6) / 2.0)
    assert calibration_error(np.array([0]), np.array([[1.0, 0.0]])) == 0.0


def test_bins_of_equal_mass_keep_equal_confidences_together() -> None:
    confidence = np.repeat([0.6, 0.61, 0.62, 0.99], 10)
    P = np.column_stack([confidence, 1.0 - confidence])
    labels = np.tile(np.r_[np.zeros(6, dtype=int), np.ones(4, dtype=int)], 4)
    # All but the last have one bin of equal width, in which 24 of 40 are right.
    wide = (0.6 * 30 - confidence[:30].sum(), 6.0 - 9.9)
    assert calibration_error(labels, P) == pytest.approx(np.abs(wide).sum() / 40)
    gaps = np.abs([0.0, 0.01, 0.02, 0.39])
    assert calibration_error(labels, P, equal_mass=True) == pytest.approx(gaps.mean())
    order = np.random.default_rng(0).permutation(40)
    shuffled = calibration_error(labels[order], P[order], equal_mass=True)
    assert shuffled == pytest.approx(gaps.mean())


def test_coverage_counts_responses_within_their_intervals() -> None:
    y = np.array([0.0, 1.0, 2.0, 3.0])
    found = of_intervals(y, y - np.array([1, 1, -1, 0]), y + 2.0, scale=2.0)
    assert found["coverage"] == 0.75
    assert found["width"] == pytest.approx(np.mean([3, 3, 1, 2]) / 2.0)


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


@pytest.mark.parametrize(("name", "classes"), rotating(FAST, [False, True]))
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


@pytest.mark.parametrize("classes", [True, *in_campaign(False)])
@pytest.mark.filterwarnings("ignore")
def test_the_grid_has_ten_widths_and_eleven_penalties(
    classes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(table_methods.GAMMAS) == 10
    assert len(table_methods.C_GRID) == 11
    monkeypatch.setattr(table_methods, "GAMMAS", table_methods.GAMMAS[3:6])
    found = METHODS["grid search"](made_up(classes=classes))
    assert found["error"] < (0.2 if classes else 0.4)
    assert "log_loss" not in found


def test_encoded_inputs_are_numbers_and_native_ones_keep_their_types() -> None:
    split = made_up(classes=True)
    numbers, columns = encoded(split), native(split)
    assert numbers.train.dtype == np.float64
    assert np.isfinite(numbers.test).all()
    assert list(columns.train.columns) == ["x0", "x1"]
    assert columns.train.dtypes.iloc[1] == "category"
    assert columns.train["x0"].isna().sum() == split.X_train["odd name:"].isna().sum()


def test_categories_become_strings_where_a_library_wants_them() -> None:
    split = made_up(classes=True)
    split.X_train.loc[0, "kind"] = None
    found = strings(split)
    kinds = ["missing", *split.X_train["kind"].astype(str)[1:]]
    assert found.train["x1"].tolist() == kinds
    assert found.test["x1"].tolist() == split.X_test["kind"].tolist()
    pd.testing.assert_series_equal(found.train["x0"], split.X_train["odd name:"], check_names=False)


@pytest.mark.parametrize("columns", [False, True])
def test_intervals_are_measured_where_an_estimator_gives_them(columns: bool) -> None:
    class Interval:
        def predict_interval(self, X: Any, coverage: float) -> Any:
            assert coverage == 0.9
            ends = np.zeros(len(X)), np.full(len(X), 100.0)
            return np.column_stack(ends) if columns else ends

    split = made_up(classes=False)
    found = uncertainty(split, Interval(), split.X_test)
    assert found["coverage"] == np.mean(split.y_test >= 0.0)
    assert found["width"] == pytest.approx(100.0 / split.scale)


TORCH = {"xRFM": torch_methods.XRFM, "RealMLP-TD": torch_methods.REALMLP}


@pytest.mark.parametrize("name", TORCH)
def test_methods_of_torch_need_an_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TORCH[name].variable, raising=False)
    with pytest.raises(Unavailable, match=f"{TORCH[name].variable} .*{TORCH[name].package}"):
        METHODS[name](made_up(classes=True))


STAND_IN = """
import sys
import numpy as np
for line in sys.stdin:
    path = line.strip()
    with np.load(path) as file:
        data = dict(file)
    n = len(data["X_test"])
    found = {"fit_seconds": 1.5, "predict_seconds": 0.5, "predicted": np.full(n, data["y"].mean())}
    if data["classes"]:
        found |= {"predicted": np.zeros(n, int), "probabilities": np.full((n, 2), 0.5)}
    np.savez(path, **found)
    print("done", flush=True)
"""


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


@pytest.mark.parametrize("classes", [False, True])
def test_methods_of_torch_are_asked_in_a_process(
    classes: bool, worker: Callable[[str], TorchMethod], monkeypatch: pytest.MonkeyPatch
) -> None:
    method = worker(STAND_IN)
    monkeypatch.setenv(method.variable, sys.executable)
    split = made_up(classes=classes)
    found = of_torch(split, method=method)
    assert found["fit_seconds"] >= 1.5
    assert found["predict_seconds"] == 0.5
    if classes:
        assert found["error"] == pytest.approx(np.mean(split.y_test != 0))
        assert found["log_loss"] == pytest.approx(np.log(2.0))
    else:
        expected = np.sqrt(np.mean((split.y_test - split.y_train.mean()) ** 2)) / split.scale
        assert found["error"] == pytest.approx(expected)


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


@pytest.mark.parametrize("classes", [False, True])
def test_the_loop_of_workers_answers_whatever_a_method_prints(
    classes: bool, worker: Callable[[str], TorchMethod], monkeypatch: pytest.MonkeyPatch
) -> None:
    method = worker(LOOP.format(folder=str(torch_methods.HERE)))
    monkeypatch.setenv(method.variable, sys.executable)
    X, y = np.zeros((4, 1)), np.array([0.0, 1.0, 1.0, 1.0])
    found = method.predicted(X, y, np.zeros((2, 1)), classes=classes)
    assert found["predicted"].tolist() == ([1, 1] if classes else [0.75, 0.75])
    assert found["fit_seconds"] >= 0.0
    assert ("probabilities" in found) == classes
    if classes:
        np.testing.assert_allclose(found["probabilities"], [[0.25, 0.75]] * 2)


def test_a_process_that_ends_is_reported(
    worker: Callable[[str], TorchMethod], tmp_path: Path
) -> None:
    with pytest.raises(RuntimeError, match="xRFM failed"):
        worker("input()\n").ask(sys.executable, tmp_path / "rows.npz")
