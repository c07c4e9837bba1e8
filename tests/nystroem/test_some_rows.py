"""Tables of more rows than can be centers: features of all rows, or all pairs of some rows."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import TimeSeriesSplit

from mercer import (
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer._blocks import tables
from mercer._data.encoded_targets import encode_target
from mercer._data.weights import UnitWeights
from mercer._nystroem.second_stage import NystroemModel
from mercer._nystroem.some_rows import PairsOfSomeRows
from mercer.kernels import Gaussian, Laplacian

N_ROWS, N_DRAWN, N_CENTERS, N_FEW = 1400, 1000, 800, 12

STACKS = [KernelStackingRegressor, KernelStackingClassifier]
CLASSIFIERS = [KernelStackingClassifier, TwoStageClassifier]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Any:
    """As with tens of thousands of rows: 1,000 of 1,400 are drawn, and 800 may all be centers."""

    def number(given: int | str, n_rows: int, *, listed: bool = False) -> int:
        default = n_rows if n_rows <= (N_DRAWN if listed else N_CENTERS) else N_FEW
        return default if isinstance(given, str) else given

    monkeypatch.setattr(tables, "drawn_rows", partial(tables.drawn_rows, max_rows=N_DRAWN))
    for module in ("two_stage.feature_stage", "stacking.drawn_views", "stacking.kernel_stacking"):
        monkeypatch.setattr(f"mercer._estimators.{module}.number_of_components", number)
    monkeypatch.setattr("mercer._blocks.approximation.EXACT_ROWS", N_FEW)
    monkeypatch.setattr("mercer._estimators.two_stage.two_stage.EXACT_ROWS", 60)
    monkeypatch.setattr("mercer._blocks.approximation.MOST_EXACT_ROWS", N_FEW)
    monkeypatch.setattr("mercer._nystroem.second_stage.FEW_ROWS", N_FEW)
    with sklearn.config_context(working_memory=4.0 * N_CENTERS**2 / 2.0**20):
        yield


def problem(kind: Any, noise: float, n: int = N_ROWS, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    y = np.sin(3.0 * X[:, 0]) * np.cos(3.0 * X[:, 1]) + noise * rng.normal(size=n)
    return X, np.where(y > 0.0, "high", "low") if kind in CLASSIFIERS else y


def fitted(kind: Any, X: np.ndarray, y: Any, sample_weight: Any = None, **settings: Any) -> Any:
    if kind in STACKS:
        settings = {"candidates": [Gaussian()], "max_samples": 60} | settings
    return kind(approximation="nystroem", **settings).fit(X, y, sample_weight)


def models_of(estimator: Any) -> list[NystroemModel]:
    """Those of a stack; of noise it may have none."""
    if not isinstance(estimator, tuple(STACKS)):
        return [estimator.predictor_]
    return [member.model for member in estimator._members]


def model_of(estimator: Any) -> NystroemModel:
    (model,) = models_of(estimator)
    return model


KINDS = pytest.mark.parametrize("kind", [TwoStageRegressor, TwoStageClassifier, *STACKS])


@KINDS
def test_all_pairs_of_some_rows_are_fitted_where_these_predict_better(
    kind: Any, small: None
) -> None:
    X, y = problem(kind, noise=0.02)
    model, few = fitted(kind, X, y), fitted(kind, X, y, n_components=N_FEW)
    assert model_of(model).columns.n_centers == N_CENTERS
    assert model_of(few).columns.n_centers == N_FEW
    new = problem(kind, noise=0.02, seed=1)
    assert 1.0 - model.score(*new) < 0.5 * (1.0 - few.score(*new))


@KINDS
def test_features_of_all_rows_stay_where_pairs_of_some_predict_no_better(
    kind: Any, small: None
) -> None:
    X, y = problem(kind, noise=0.0)
    y = np.random.default_rng(2).permutation(y)
    model, few = fitted(kind, X, y), fitted(kind, X, y, n_components=N_FEW)
    assert {found.columns.n_centers for found in models_of(model)} <= {N_FEW}
    assert_array_equal(model.predict(X), few.predict(X))


@KINDS
@pytest.mark.parametrize("memory", [2.0**40, 4.0 * 4.0 * N_DRAWN**2 - 1.0])
def test_all_rows_are_paired_where_memory_holds_their_pairs(
    kind: Any, memory: float, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mercer._blocks.approximation.available_memory", lambda: memory)
    X, y = problem(kind, noise=0.02, n=N_DRAWN)
    model = model_of(fitted(kind, X, y))
    every = memory == 2.0**40
    assert model.columns.n_centers == (N_DRAWN if every else N_CENTERS)
    assert (model.rows is None) == every


@KINDS
def test_noise_is_not_fitted_to_the_pairs_of_all_rows(kind: Any, small: None) -> None:
    X, y = problem(kind, noise=0.0, n=N_DRAWN)
    y = np.random.default_rng(2).permutation(y)
    found = models_of(fitted(kind, X, y))
    assert {model.columns.n_centers for model in found} <= {N_FEW}


def test_folds_that_are_listed_leave_out_later_rows_of_all_pairs(small: None) -> None:
    X, y = problem(KernelStackingRegressor, noise=0.02, n=N_DRAWN)
    stack = fitted(KernelStackingRegressor, X, y, cv=TimeSeriesSplit(3), max_samples=200)
    model = model_of(stack)
    assert model.columns.n_centers == N_DRAWN
    assert model.held_out is not None
    assert_array_equal(np.isnan(model.held_out[:, 0]), np.arange(N_DRAWN) < N_DRAWN // 4)


@pytest.mark.parametrize("promises", [False, True])
def test_members_of_a_stack_follow_the_best_of_them(
    promises: bool, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where pairs do not promise less error for this one, they are not tried for the others."""
    tried = []

    def may_predict_better(
        self: Any, features: NystroemModel, kernel: Any, *, learns_widths: bool
    ) -> bool:
        tried.append(type(kernel))
        return promises

    monkeypatch.setattr(PairsOfSomeRows, "may_predict_better", may_predict_better)
    X, y = problem(KernelStackingClassifier, noise=0.02)
    kernels = [Laplacian(), Gaussian()]
    settings: Any = {"approximation": "nystroem", "max_samples": 200, "candidates": kernels}
    stack = KernelStackingClassifier(**settings).fit(X, y)
    best_first = sorted(stack.candidates_, key=lambda candidate: candidate.loo_error)
    kinds = [type(candidate.kernel) for candidate in best_first]
    assert tried == kinds[: 1 + promises]


def test_a_fold_that_holds_out_few_rows_is_taken(small: None) -> None:
    X, y = problem(KernelStackingRegressor, noise=0.02)
    folds = [(np.arange(N_ROWS - 5), np.arange(N_ROWS - 5, N_ROWS))]
    stack = fitted(KernelStackingRegressor, X, y, cv=folds)
    assert model_of(stack).columns.n_centers == N_FEW


def test_pairs_of_many_classes_are_not_tried(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer._nystroem.some_rows._MOST_OUTPUTS", 1)
    X, y = problem(KernelStackingClassifier, noise=0.02)
    stack = fitted(KernelStackingClassifier, X, y)
    assert model_of(stack).columns.n_centers == N_FEW


def test_copies_of_rows_leave_the_others_to_compare(small: None) -> None:
    X, y = problem(TwoStageRegressor, noise=0.02)
    X, y = np.vstack([X, X[:1]]), np.append(y, y[0])
    assert fitted(TwoStageRegressor, X, y).predictor_.columns.n_centers == N_CENTERS


def test_the_penalty_that_is_given_is_that_of_the_trials(
    small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []
    fit = PairsOfSomeRows._fitted

    def recorded(self: Any, kernel: Any, some: Any, alphas: Any) -> NystroemModel:
        tried.append(alphas)
        return fit(self, kernel, some, alphas)

    monkeypatch.setattr(PairsOfSomeRows, "_fitted", recorded)
    X, y = problem(TwoStageRegressor, noise=0.02)
    fitted(TwoStageRegressor, X, y, alpha=0.5)
    assert tried
    assert all(alphas == [0.5] for alphas in tried)


def test_centers_that_are_given_are_taken(small: None) -> None:
    X, y = problem(TwoStageRegressor, noise=0.02)
    assert fitted(TwoStageRegressor, X, y, n_components=40).predictor_.columns.n_centers == 40


def test_what_is_reported_is_of_the_fit_that_is_taken(small: None) -> None:
    X, y = problem(TwoStageRegressor, noise=0.02)
    model = fitted(TwoStageRegressor, X, y)
    centers = {tuple(row) for row in model.predictor_.columns.centers}
    assert {tuple(row) for row in model._held_out.X} <= centers <= {tuple(row) for row in X}
    assert model.kernel_ == model.predictor_.columns.kernel
    assert model.candidates_[0].kernel is not None
    # Errors out of fold are those for new rows.
    new, response = problem(TwoStageRegressor, noise=0.02, seed=1)
    error = np.sqrt(np.mean((model.predict(new) - response) ** 2))
    assert 0.6 < np.sqrt(np.mean(model.cv_residuals_**2)) / error < 1.6


def test_given_widths_stay(small: None) -> None:
    X, y = problem(TwoStageRegressor, noise=0.02)
    model = fitted(TwoStageRegressor, X, y, learner=UniformCombination([Gaussian(0.7)]))
    assert model.predictor_.columns.n_centers == N_CENTERS
    assert model.kernel_.kernels[0].bandwidth == 0.7


def test_groups_are_held_out_whole_among_some_rows(small: None) -> None:
    """A response that follows groups alone is not predicted for new ones."""
    X, _ = problem(TwoStageRegressor, noise=0.02)
    groups = np.arange(N_ROWS) // 50
    rng = np.random.default_rng(3)
    X = rng.uniform(-2.0, 2.0, size=(30, 2))[groups] + 0.01 * X
    y = rng.normal(size=30)[groups]
    model = TwoStageRegressor(approximation="nystroem")
    apart = model.fit(X, y, groups=groups).cv_results_["mean_test_score"].max()
    alone = model.fit(X, y).cv_results_["mean_test_score"].max()
    assert model.predictor_.columns.n_centers == N_CENTERS
    assert apart < 0.3
    assert alone > 0.9


@pytest.mark.parametrize("noise", [0.02, 0.3])
def test_left_out_errors_of_stacks_are_those_for_new_rows(noise: float, small: None) -> None:
    X, y = problem(KernelStackingRegressor, noise)
    stack = fitted(KernelStackingRegressor, X, y)
    new, response = problem(KernelStackingRegressor, noise, seed=1)
    error = np.sqrt(np.mean((stack.predict(new) - response) ** 2))
    left_out = stack._left_out_residuals()
    assert 0.8 < np.sqrt(np.mean(left_out**2)) / error < 1.25


def test_rows_beside_those_of_the_fit_are_predicted_as_new_ones(small: None) -> None:
    X, y = problem(KernelStackingRegressor, noise=0.02)
    model = model_of(fitted(KernelStackingRegressor, X, y))
    assert model.rows is not None
    assert model.held_out is not None
    source = tables.block_source(X, y)
    drawn = tables.DrawnSample(
        X, y, UnitWeights(N_ROWS), source=source, positions=np.arange(N_ROWS)
    )
    found, inside = model.out_of_fold(X, drawn), np.isin(np.arange(N_ROWS), model.rows)
    assert_array_equal(found[inside], model.held_out)
    assert_allclose(found[~inside], model.values(X[~inside]), rtol=1e-12)


def test_no_others_are_in_the_groups_of_the_rows() -> None:
    X, y = problem(KernelStackingRegressor, noise=0.02)
    groups = np.random.default_rng(4).integers(0, 90, size=N_ROWS)
    drawn = tables.drawn_rows(
        TwoStageRegressor(), X, y, None, groups, max_rows=N_ROWS, random_state=0
    )
    pairs = PairsOfSomeRows(drawn, encode_target(y, classification=False).encoding, 700, 0)
    rows = pairs._whole_groups()
    assert 600 < len(rows) <= 700
    assert not np.intersect1d(groups[rows], np.delete(groups, rows)).size
