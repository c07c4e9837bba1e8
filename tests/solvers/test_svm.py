"""Support vector machines along a grid of C, the choice of its value, and grids of penalties."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits
from two_stage_cases import centered, shuffled

from mercer import TwoStageClassifier, UniformCombination
from mercer._data.weights import UnitWeights
from mercer._estimators.two_stage import C_GRID
from mercer._solvers.grids import as_grid, extension, first_best, warn_at_edge
from mercer._solvers.left_out import vertex
from mercer._solvers.svm import (
    SVMPath,
    class_decisions,
    early_stops_ignored,
    fit_svm,
    machine_coefficients,
    pair_votes,
    surviving_values,
)
from mercer.kernels import Gaussian


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_votes_of_pairs_are_those_of_the_machine(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(60, 2)), rng.normal(size=(40, 2))
    K, rows = Gaussian(1.0)(X), Gaussian(1.0)(new, X)
    machine = SVC(kernel="precomputed", C=3.0).fit(K, np.arange(60) % n_classes)
    coefficients, intercepts = machine_coefficients(machine, 60)
    values = rows @ coefficients + intercepts
    assert values.shape == (40, n_classes * (n_classes - 1) // 2)
    assert_allclose(coefficients.sum(axis=0), 0.0, atol=1e-12)
    found = values[:, 0] if n_classes == 2 else pair_votes(values, n_classes)
    assert_allclose(found, machine.decision_function(rows), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("known", [[0, 1, 2], [0, 2], [1, 2]])
def test_decisions_have_a_column_for_every_class(known: list[int]) -> None:
    """Classes without training samples lose, and the others are ranked as the machine does."""
    X, y = make_blobs(60, centers=3, cluster_std=3.0, random_state=0)
    gram, rows = centered(Gaussian(bandwidth=3.0)(X)), np.flatnonzero(np.isin(y, known))
    machine = SVC(kernel="precomputed").fit(gram[np.ix_(rows, rows)], y[rows])
    decisions = class_decisions(machine.decision_function(gram[:, rows]), machine.classes_, 3)
    assert decisions.shape == (60, 3)
    np.testing.assert_array_equal(decisions.argmax(axis=1), machine.predict(gram[:, rows]))
    if len(known) == 3:
        np.testing.assert_array_equal(decisions, machine.decision_function(gram[:, rows]))
    else:
        absent = np.setdiff1d(range(3), known)
        assert (decisions[:, absent] < decisions[:, known]).all()


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


def overlapping(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Three classes in a row, each mostly hidden by its neighbors."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sum(X + rng.normal(size=(n, 2)) > 0.0, axis=1)


@pytest.mark.parametrize(("seed", "n", "n_threads"), [(17, 300, 1), (2, 450, 2)])
def test_a_race_chooses_what_the_full_grid_does(monkeypatch, seed, n, n_threads):
    X, y = overlapping(seed, n)
    grid = 2.0 ** np.arange(-5, 12, 4)
    monkeypatch.setattr("mercer._solvers.svm.C_GRID", grid)
    monkeypatch.setattr("mercer._estimators.two_stage.exact_stages.FIRST_TRIED", grid)
    learner = UniformCombination([Gaussian(1.5)])
    with threadpool_limits(n_threads):
        model = TwoStageClassifier(learner, cv=3).fit(X, y)
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
    with threadpool_limits(n_threads):
        given = TwoStageClassifier(learner, C=grid, cv=3).fit(X, y)
    np.testing.assert_allclose(
        given.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
    )


def test_rounding_errors_do_not_keep_a_fit_from_ending() -> None:
    """Where the finest tolerance is out of reach, the usual one is taken."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    gram, labels = X @ X.T, rng.integers(0, 2, 30)
    exact = fit_svm(10.0, gram, labels)
    assert exact.tol == 1e-9
    with pytest.warns(ConvergenceWarning, match="Solver terminated early"):
        fit_svm(10.0, gram, labels, exact_iterations=0)
    with early_stops_ignored():
        rough = fit_svm(10.0, gram, labels, exact_iterations=0)
    assert rough.tol == 1e-3
    assert rough.max_iter == -1
    assert_allclose(rough.decision_function(gram), exact.decision_function(gram), atol=0.02)


# --- grids -------------------------------------------------------------------------------------


def test_grids():
    np.testing.assert_array_equal(as_grid("C", "auto", C_GRID), C_GRID)
    np.testing.assert_array_equal(as_grid("C", 3, C_GRID), [3.0])
    np.testing.assert_array_equal(as_grid("C", (4.0, 1.0, 4.0), C_GRID), [1.0, 4.0])


@pytest.mark.parametrize("value", ["best", None, 0.0, np.inf, [], [1.0, np.nan], {1.0}])
def test_grids_are_positive_numbers(value):
    with pytest.raises(ValueError, match="C must be 'auto', a positive number or a sequence"):
        as_grid("C", value, C_GRID)


def test_the_first_of_equal_scores_is_best():
    assert first_best(np.array([0.1, 0.7, 0.7 + 1e-14, 0.7])) == 1
    assert first_best(np.array([np.nan, 0.6, np.nan, 0.7])) == 3
    assert first_best(np.array([0.4, 0.7, 0.7 + 5e-10, 0.5])) == 2
    assert first_best(1e-12 * np.array([-0.3, -0.1, -0.1 + 1e-14])) == 1


@pytest.mark.parametrize(("scores", "settled", "warns"), [
    ([0.9, 0.8, 0.7], False, True),
    ([0.7, 0.8, 0.9], False, True),
    ([0.7, 0.8, 0.9], True, False),    # a larger C gives the same machine
    ([0.7, 0.9, 0.8], False, False),
    ([0.9, 0.9, 0.9], False, False),   # plateau: the smallest is taken for the tie alone
    ([0.9, 0.9, 0.8], False, False),
    ([0.7, 0.8, 0.8 + 1e-5], False, False),
    ([0.9], False, False),
    ([0.9, np.nan, np.nan], False, True),    # given up, being far behind
    ([0.8, 0.9, np.nan], False, False),
])  # fmt: skip
def test_warning_at_the_edge(recwarn, scores, settled, warns):
    warn_at_edge("C", np.array([1.0, 2.0, 4.0])[: len(scores)], np.array(scores), unbounded=settled)
    messages = [str(warning.message) for warning in recwarn]
    assert len(messages) == warns
    assert all("lies on the edge of the values tried, 1 to 4" in message for message in messages)


@pytest.mark.parametrize(("grid", "scores", "settings", "expected"), [
    ([1, 4, 16], [0.7, 0.9, 0.8], {}, []),
    ([1, 4, 16], [0.9, 0.9, 0.8], {}, [0.25]),                      # the full grid has it
    ([1, 4, 16], [0.7, 0.8, 0.9], {}, [64]),
    ([1, 4, 16], [0.7, 0.8, 0.9], {"unbounded": True}, []),
    ([1, 4, 16], [0.7, 0.8, 0.9], {"expensive": True}, []),
    ([1, 4, 16], [0.9, 0.8, 0.7], {"expensive": True}, [0.25]),
    ([0.25, 1], [0.9, 0.9], {}, []),                                # a plateau beyond the full grid
    ([0.25, 1], [0.9, 0.8], {}, [0.0625]),
    ([0.25, 1, 4, 16, 64], [0.5, 0.6, 0.7, 0.8, 0.8 + 1e-4], {}, []),
    ([2.0**-10, 2.0**-8], [0.9, 0.8], {}, []),                      # too far from the full grid
])  # fmt: skip
def test_a_grid_is_extended_where_its_end_is_best(grid, scores, settings, expected):
    full = np.array([0.25, 1.0, 4.0, 16.0, 64.0])
    found = extension(np.array(grid, dtype=float), np.array(scores), full, **settings)
    np.testing.assert_allclose(found, expected)


def test_the_vertex_of_a_parabola() -> None:
    for at in (-0.5, -0.2, 0.0, 0.4):
        assert_allclose(vertex([3.0 * (x - at) ** 2 + 1.0 for x in (-1, 0, 1)]), at, atol=1e-12)
    assert vertex([1.0, 1.0, 1.0]) == 0.0
