"""Tables of more rows than are all centers by default: all of them are if there is little noise."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import TimeSeriesSplit

from mercer import (
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
)
from mercer._nystroem.second_stage import NystroemModel
from mercer.kernels import Gaussian

N_ROWS, N_FEW = 900, 12

STACKS = [KernelStackingRegressor, KernelStackingClassifier]
CLASSIFIERS = [KernelStackingClassifier, TwoStageClassifier]
KINDS = pytest.mark.parametrize("kind", [TwoStageRegressor, TwoStageClassifier, *STACKS])


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with tens of thousands of rows, which working memory does not hold the pairs of."""
    monkeypatch.setattr("mercer._blocks.approximation.MOST_EXACT_ROWS", N_FEW)
    monkeypatch.setattr("mercer._blocks.approximation.working_memory", lambda: 4.0 * N_FEW**2)
    monkeypatch.setattr("mercer._blocks.approximation.available_memory", lambda: 2.0**40)
    monkeypatch.setattr("mercer._nystroem.second_stage.FEW_ROWS", N_FEW)
    monkeypatch.setattr("mercer._estimators.two_stage.two_stage.EXACT_ROWS", 200)


def problem(kind: Any, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(N_ROWS, 2))
    y = np.sin(2.0 * X[:, 0]) * np.cos(2.0 * X[:, 1]) + 0.02 * rng.normal(size=N_ROWS)
    X, y = X[np.abs(y) > 0.2], y[np.abs(y) > 0.2]
    return X, np.where(y > 0.0, "high", "low") if kind in CLASSIFIERS else y


def fitted(kind: Any, X: np.ndarray, y: Any, **settings: Any) -> Any:
    if kind in STACKS:
        settings = {"candidates": [Gaussian()], "max_samples": 200} | settings
    return kind(approximation="nystroem", **settings).fit(X, y)


def models_of(estimator: Any) -> list[NystroemModel]:
    if not isinstance(estimator, tuple(STACKS)):
        return [estimator.predictor_]
    return [member.model for member in estimator._members]


@KINDS
def test_all_rows_are_centers_where_there_is_little_noise(kind: Any, small: None) -> None:
    X, y = problem(kind)
    model, few = fitted(kind, X, y), fitted(kind, X, y, n_components=N_FEW)
    assert [found.columns.n_centers for found in models_of(model)] == [len(X)]
    assert [found.columns.n_centers for found in models_of(few)] == [N_FEW]
    new = problem(kind, seed=1)
    assert 1.0 - model.score(*new) < 0.5 * (1.0 - few.score(*new))


@KINDS
def test_features_are_used_for_noise(
    kind: Any, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mercer._blocks.approximation._CENTERS", N_FEW)
    X, y = problem(kind)
    y = np.random.default_rng(2).permutation(y)
    model, few = fitted(kind, X, y), fitted(kind, X, y, n_components=N_FEW)
    assert {found.columns.n_centers for found in models_of(model)} <= {N_FEW}
    assert_array_equal(model.predict(X), few.predict(X))


@KINDS
def test_features_are_used_where_memory_does_not_hold_all_pairs(
    kind: Any, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = problem(kind)
    memory = 4.0 * 4.0 * len(X) ** 2 - 1.0
    monkeypatch.setattr("mercer._blocks.approximation.available_memory", lambda: memory)
    monkeypatch.setattr("mercer._blocks.approximation._CENTERS", N_FEW)
    assert [found.columns.n_centers for found in models_of(fitted(kind, X, y))] == [N_FEW]


def test_folds_that_are_listed_leave_out_later_rows_of_all_pairs(small: None) -> None:
    X, y = problem(KernelStackingRegressor)
    stack = fitted(KernelStackingRegressor, X, y, cv=TimeSeriesSplit(3))
    [model] = models_of(stack)
    assert model.columns.n_centers == len(X)
    assert model.held_out is not None
    first = int(np.flatnonzero(np.isfinite(model.held_out[:, 0]))[0])
    assert np.isfinite(model.held_out[first:]).all()
    assert 0.2 < first / len(X) < 0.3
