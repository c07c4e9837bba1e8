"""Which kernels are fitted to all rows of a large table beside boosted trees."""

from typing import Any

import numpy as np
import pytest
from campaign import in_campaign
from sklearn.model_selection import KFold

from mercer import KernelStackingClassifier, KernelStackingRegressor
from mercer._blocks import tables
from mercer._estimators.stacking import default_estimators

N, N_DRAWN = 1500, 250
RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, size=(2 * N, 3))
SMOOTH = X @ np.array([1.0, -2.0, 0.5]) + np.sin(2.0 * X[:, 0] * X[:, 1])
NOISE = 0.1 * RNG.normal(size=2 * N)
TRAIN, NEW = slice(0, N), slice(N, None)


@pytest.fixture(autouse=True)
def _few_rows_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of small tables, few rows stand for the 20,000 that are drawn of large ones."""
    drawn = tables.drawn_rows
    monkeypatch.setattr(
        tables, "drawn_rows", lambda *args, **settings: drawn(*args, **settings, max_rows=N_DRAWN)
    )
    monkeypatch.setattr(default_estimators, "_FEWEST_ROWS", N_DRAWN)
    monkeypatch.setattr(default_estimators, "_FEWEST_RESPONSES", N_DRAWN)


def stack(kind: Any = KernelStackingRegressor, **settings: Any) -> Any:
    return kind(approximation="nystroem", n_components=80, max_samples=100, **settings)


def test_kernels_are_left_out_that_trees_make_useless() -> None:
    """Rows of a step are predicted by trees alone."""
    steps = 3.0 * (X[:, 0] > 0.2) + 2.0 * (X[:, 1] > -0.3) * (X[:, 2] > 0.0)
    model = stack().fit(X[TRAIN], steps[TRAIN])
    assert model.kernels_ == [None]
    assert model.score(X[NEW], steps[NEW]) > 0.98


def test_kernels_are_fitted_to_what_is_smooth() -> None:
    model = stack().fit(X[TRAIN], (SMOOTH + NOISE)[TRAIN])
    assert any(kernel is not None for kernel in model.kernels_)
    assert model.score(X[NEW], SMOOTH[NEW]) > 0.98


def test_classes_are_predicted() -> None:
    labels = np.where(SMOOTH > 0.0, "high", "low")
    model = stack(KernelStackingClassifier).fit(X[TRAIN], labels[TRAIN])
    assert model.score(X[NEW], labels[NEW]) > 0.95


@pytest.mark.parametrize("settings", [{}, *in_campaign({"cv": KFold(3)})])
def test_noise_is_not_learned(settings: Any) -> None:
    y = np.random.default_rng(0).normal(size=2 * N)
    model = stack(**settings).fit(X[TRAIN], y[TRAIN])
    assert model.loo_score_ < 0.01
    assert model.score(X[NEW], y[NEW]) > -0.01


def test_groups_are_left_out_as_wholes() -> None:
    groups = np.repeat(np.arange(N // 10), 10)
    effects = RNG.normal(size=N // 10)[groups]
    table = np.column_stack([X[TRAIN], effects + 0.01 * RNG.normal(size=N)])
    y = 3.0 * RNG.normal(size=N // 10)[groups] + NOISE[TRAIN]
    assert stack().fit(table, y, groups=groups).loo_score_ < 0.1
