"""Tables of more rows than can be centers: features of all rows, or all pairs of some rows."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose

from mercer import TwoStageClassifier, TwoStageRegressor, UniformCombination
from mercer._two_stage import training_rows, two_stage
from mercer.kernels import Gaussian

N_ROWS, N_DRAWN, N_CENTERS, N_FEW = 1400, 1000, 800, 12


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Any:
    """As with tens of thousands of rows: 1,000 of 1,400 are drawn, and 800 may all be centers."""

    def number(given: int | str, n_rows: int) -> int:
        default = n_rows if n_rows <= N_CENTERS else N_FEW
        return default if isinstance(given, str) else given

    drawn_rows = partial(two_stage.tables.drawn_rows, max_rows=N_DRAWN)
    monkeypatch.setattr(two_stage.tables, "drawn_rows", drawn_rows)
    monkeypatch.setattr(training_rows, "number_of_components", number)
    for module in ("_blocks.approximation", "_nystroem.second_stage"):
        monkeypatch.setattr(f"mercer.{module}.EXACT_ROWS", N_FEW)
    with sklearn.config_context(working_memory=4.0 * N_CENTERS**2 / 2.0**20):
        yield


def problem(kind: Any, noise: float, n: int = N_ROWS, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    y = np.sin(3.0 * X[:, 0]) * np.cos(3.0 * X[:, 1]) + noise * rng.normal(size=n)
    return X, np.where(y > 0.0, "high", "low") if kind is TwoStageClassifier else y


def fitted(kind: Any, X: np.ndarray, y: Any, **settings: Any) -> Any:
    return kind(approximation="nystroem", max_samples=60, **settings).fit(X, y)


KINDS = pytest.mark.parametrize("kind", [TwoStageRegressor, TwoStageClassifier])


@KINDS
def test_all_pairs_of_some_rows_are_fitted_where_these_predict_better(
    kind: Any, small: None
) -> None:
    X, y = problem(kind, noise=0.02)
    model, few = fitted(kind, X, y), fitted(kind, X, y, n_components=N_FEW)
    assert (model.predictor_.columns.n_centers, few.predictor_.columns.n_centers) == (
        N_CENTERS,
        N_FEW,
    )
    new = problem(kind, noise=0.02, seed=1)
    assert 1.0 - model.score(*new) < 0.5 * (1.0 - few.score(*new))
    assert model.cv_results_["mean_test_score"].max() > few.cv_results_["mean_test_score"].max()


@KINDS
def test_features_of_all_rows_stay_where_pairs_of_some_predict_no_better(
    kind: Any, small: None
) -> None:
    X, y = problem(kind, noise=0.0)
    y = np.random.default_rng(2).permutation(y)
    model, few = fitted(kind, X, y), fitted(kind, X, y, n_components=N_FEW)
    assert model.predictor_.columns.n_centers == N_FEW
    assert_allclose(model.predictor_.values(X), few.predictor_.values(X), rtol=1e-9)


def test_centers_that_are_given_are_taken(small: None) -> None:
    X, y = problem(TwoStageRegressor, noise=0.02)
    assert fitted(TwoStageRegressor, X, y, n_components=40).predictor_.columns.n_centers == 40


def test_what_is_reported_is_of_the_fit_that_is_taken(small: None) -> None:
    X, y = problem(TwoStageRegressor, noise=0.02)
    model = fitted(TwoStageRegressor, X, y)
    centers = {tuple(row) for row in model.predictor_.columns.centers}
    assert {tuple(row) for row in model._held_out.X} <= centers <= {tuple(row) for row in X}
    assert model.kernel_ == model.predictor_.columns.kernel
    assert model.candidates_[0].learner is not None
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
    model = TwoStageRegressor(approximation="nystroem", max_samples=60)
    apart = model.fit(X, y, groups=groups).cv_results_["mean_test_score"].max()
    alone = model.fit(X, y).cv_results_["mean_test_score"].max()
    assert model.predictor_.columns.n_centers == N_CENTERS
    assert apart < 0.3
    assert alone > 0.9


@KINDS
def test_further_rows_are_added_to_the_rows_of_the_fit(kind: Any, small: None) -> None:
    X, y = problem(kind, noise=0.02)
    weights = np.where(np.arange(N_ROWS) % 10, 1.0, 0.0)
    learner = UniformCombination([Gaussian(0.7)])
    model = kind(learner, approximation="nystroem", max_samples=60).fit(X, y, weights)
    with pytest.raises(ValueError, match="not fitted to these rows"):
        model.prepare_updates(X[:700], y[:700])
    new = problem(kind, noise=0.02, n=40, seed=1)
    model.prepare_updates(X, y, weights).update(*new)
    assert model.predictor_.columns.n_centers == N_CENTERS + 40
    assert model.score(*new) > 0.9
