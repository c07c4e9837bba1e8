"""Support vector machines along a grid of C, and the choice of its value."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from two_stage_cases import centered, shuffled

from mercer import TwoStageClassifier, UniformCombination
from mercer._data.weights import UnitWeights
from mercer._solvers.svm import (
    FIRST_TRIED,
    SVMPath,
    choose_c,
    class_decisions,
    fit_svm,
    surviving_values,
    svm_path,
)
from mercer.kernels import Gaussian


@pytest.mark.parametrize("known", [[0, 1, 2], [0, 2], [1, 2]])
def test_decisions_have_a_column_for_every_class(known: list[int]) -> None:
    """Classes without training samples lose, and the others are ranked as the machine does."""
    X, y = make_blobs(60, centers=3, cluster_std=3.0, random_state=0)
    gram, rows = centered(Gaussian(bandwidth=3.0)(X)), np.flatnonzero(np.isin(y, known))
    machine = SVC(kernel="precomputed").fit(gram[np.ix_(rows, rows)], y[rows])
    decisions = class_decisions(machine, gram[:, rows], 3)
    assert decisions.shape == (60, 3)
    np.testing.assert_array_equal(decisions.argmax(axis=1), machine.predict(gram[:, rows]))
    if len(known) == 3:
        np.testing.assert_array_equal(decisions, machine.decision_function(gram[:, rows]))
    else:
        absent = np.setdiff1d(range(3), known)
        assert (decisions[:, absent] < decisions[:, known]).all()


def test_a_machine_within_its_bounds_serves_every_larger_c():
    X, y = make_blobs(40, centers=2, cluster_std=0.5, random_state=0)
    gram = centered(Gaussian(bandwidth=3.0)(X))
    path = whole_path(gram, y, np.array([100.0, 1e3, 1e4]))
    assert path.unbounded
    assert path.decisions[0] is path.decisions[1] is path.decisions[2]


def whole_path(gram: np.ndarray, y: np.ndarray, grid: np.ndarray, **settings: Any) -> SVMPath:
    """Machines that are tried on their own training samples."""
    weights = UnitWeights(len(y)), UnitWeights(len(y))
    return svm_path(gram, y, gram, y, weights, grid=grid, n_classes=2, **settings)


def path_of(hits: list[list[int]], expensive: list[int], tried: list[int] | None = None) -> SVMPath:
    tried = [1] * len(hits) if tried is None else tried
    return SVMPath(
        np.array(hits, dtype=bool),
        np.array(tried, dtype=bool),
        np.array(expensive, dtype=bool),
        False,
        [],
        UnitWeights(len(hits[0])),
    )


def hits_of(n_right: int, n_test: int = 40) -> list[int]:
    return [1] * n_right + [0] * (n_test - n_right)


@pytest.mark.parametrize(("right", "expensive", "expected"), [
    ([20, 30, 28, 10], [0, 0, 0, 0], [1, 1, 1, 1]),    # none of them expensive
    ([20, 30, 28, 10], [0, 0, 1, 1], [1, 1, 1, 0]),    # 20 missed, of which 15.8 may be chance
    ([20, 30, 25, 24], [0, 0, 1, 1], [1, 1, 1, 1]),    # 5 and 6 missed: chance
    ([20, 30, 23, 29], [0, 0, 1, 1], [1, 1, 0, 0]),    # 7 missed; a larger one that is behind
    ([20, 30, 23, 30], [0, 0, 1, 1], [1, 1, 0, 1]),    # a larger one that is not
    ([20, 30, 10, 29], [0, 0, 1, 0], [1, 1, 0, 1]),    # a larger one that is not expensive
    ([10, 29, 30, 29], [1, 1, 0, 0], [0, 1, 1, 1]),    # smaller ones are not lost with others
])  # fmt: skip
def test_values_that_are_expensive_and_behind_are_given_up(right, expensive, expected):
    path = path_of([hits_of(n) for n in right], expensive)
    np.testing.assert_array_equal(surviving_values([path]), np.array(expected, dtype=bool))


def test_values_stay_given_up_and_folds_add_up():
    first = path_of([hits_of(30), hits_of(25), hits_of(10)], [0, 1, 0], [1, 1, 0])
    second = path_of([hits_of(30), hits_of(25), hits_of(40)], [0, 0, 0], [1, 1, 1])
    np.testing.assert_array_equal(surviving_values([first]), [True, True, False])
    np.testing.assert_array_equal(surviving_values([first, second]), [True, False, False])


def overlapping(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Three classes in a row, each mostly hidden by its neighbors."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sum(X + rng.normal(size=(n, 2)) > 0.0, axis=1)


@pytest.mark.parametrize(("seed", "n", "n_jobs"), [(17, 300, None), (2, 450, 2)])
def test_a_race_chooses_what_the_full_grid_does(monkeypatch, seed, n, n_jobs):
    X, y = overlapping(seed, n)
    grid = 2.0 ** np.arange(-5, 12, 4)
    monkeypatch.setattr("mercer._solvers.svm.C_GRID", grid)
    monkeypatch.setattr("mercer._estimators.two_stage.machine_stage.FIRST_TRIED", grid)
    learner = UniformCombination([Gaussian(1.5)])
    model = TwoStageClassifier(learner, cv=3, n_jobs=n_jobs).fit(X, y)
    gram = centered(model.kernel_(X))
    search = GridSearchCV(
        SVC(kernel="precomputed", break_ties=True), {"C": grid}, cv=shuffled(3, X, y)
    ).fit(gram, y)
    assert search.best_params_["C"] == model.C_
    mean = model.cv_results_["mean_test_score"]
    given_up = np.isnan(mean)
    assert given_up.any()
    np.testing.assert_allclose(mean[~given_up], search.cv_results_["mean_test_score"][~given_up])
    assert (search.cv_results_["mean_test_score"][given_up] < search.best_score_).all()
    given = TwoStageClassifier(learner, C=grid, cv=3, n_jobs=n_jobs).fit(X, y)
    np.testing.assert_allclose(
        given.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
    )


def test_rounding_errors_do_not_keep_a_fit_from_ending() -> None:
    """Where the finest tolerance is out of reach, the usual one is taken, without a warning."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    gram, labels = X @ X.T, rng.integers(0, 2, 30)
    exact = fit_svm(10.0, gram, labels)
    assert exact.tol == 1e-9
    rough = fit_svm(10.0, gram, labels, exact_iterations=0)
    assert rough.tol == 1e-3
    assert rough.max_iter == -1
    assert_allclose(rough.decision_function(gram), exact.decision_function(gram), atol=0.02)


@pytest.mark.parametrize("best", [2.0**-3, 2.0**11])
def test_the_grid_is_extended_at_either_end_and_stays_in_order(best: float) -> None:
    """Held-out samples that a machine misses are as many as octaves between its C and the best."""

    def paths_of(batch: Any, grid: np.ndarray, chosen: Any) -> list[SVMPath]:
        misses = np.abs(np.log2(grid / best)).astype(int)
        path = path_of([hits_of(40 - n) for n in misses], [0] * len(grid))
        return [replace(path, decisions=[np.full((40, 2), C) for C in grid])] * len(batch)

    splits = [(np.arange(40), np.arange(40))] * 3
    found = choose_c(paths_of, splits, FIRST_TRIED, auto=True)
    grid = found.results["param_C"]
    assert best == found.C
    assert (found.decisions == best).all()
    assert grid.min() < best < grid.max()
    expected = 1.0 - np.abs(np.log2(grid / best)) / 40
    assert_allclose(found.results["mean_test_score"], expected)
    assert_allclose(found.accuracy, 1.0)
    assert best != choose_c(paths_of, splits, FIRST_TRIED, auto=False).C
