"""Leave-one-out predictions of candidates, and the honesty of those that learn from labels."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import kernel_ridge, left_out_kernel_ridge
from sklearn.svm import SVC
from stacking_cases import (
    labels,
    problem,
    ridge_evaluation,
    values_target,
    viewed,
)

from mercer._data.encoded_targets import EncodedTarget, encode_target
from mercer._data.folds import shuffled_folds
from mercer._data.resampling import Together, resampled
from mercer._estimators.stacking.candidates import Candidate
from mercer._estimators.stacking.combination import logistic_combination
from mercer._estimators.stacking.default_estimators import best_machine
from mercer._estimators.stacking.evaluation import Evaluation
from mercer._estimators.stacking.out_of_fold import OutOfFold
from mercer._estimators.stacking.ridges import evaluate, mean_kernel
from mercer._gram.dense import unit_gram
from mercer._solvers.left_out import leave_one_out
from mercer._solvers.left_out_fits import left_out_fits
from mercer.kernels import Gaussian, Kernel, Linear, WeightedSum, as_kernel


class Recorder:
    """Learns a Gaussian kernel of another width each time, and remembers from which samples."""

    def __init__(self) -> None:
        self.learned: list[tuple[np.ndarray, Kernel]] = []

    def __call__(self, X: Any, y: Any, values: np.ndarray, *_: Any) -> list[Kernel]:
        kernel = Gaussian(2.0 + 0.25 * len(self.learned)).bind(X)
        self.learned.append((X[:, 0].copy(), kernel))
        assert len(X) == len(y) == len(values)
        return [kernel]

    def refined(self, X: Any, y: Any, values: np.ndarray, starts: Any) -> list[Kernel]:
        [(mean, one, other)] = starts
        assert mean == mean_kernel(one, other)
        return self(X, y, values)


def predicted_by(found: Evaluation, target: EncodedTarget) -> np.ndarray:
    """Leave-one-out predictions, whose deviations an evaluation holds."""
    return np.asarray(found.deviations + target.left_out_means)


def evaluated(learn: Any, X: Any, target: EncodedTarget, y: Any, **kwargs: Any) -> Evaluation:
    candidate = Candidate(["one"], "given", learn, **kwargs)
    return evaluate([candidate], viewed(X, y, target), random_state=0)[0]


def test_a_kernel_that_uses_labels_predicts_samples_that_it_was_not_learned_from() -> None:
    X, y = problem(40)
    y = labels(y)
    target = encode_target(y, classification=True)
    learn = Recorder()
    found = evaluated(learn, X, target, y, uses_labels=True)
    whole = [kernel for rows, kernel in learn.learned if len(rows) == len(X)]
    assert found.kernel in whole
    best = leave_one_out(unit_gram(found.kernel, X)[0], target.values)
    assert_allclose(found.solver.alpha, best.alpha)
    predicted = np.zeros(len(X), dtype=int)
    for rows, kernel in learn.learned:
        if len(rows) == len(X):
            continue
        unseen = ~np.isin(X[:, 0], rows)
        gram, alpha = unit_gram(kernel, X)[0], np.array([found.solver.alpha])
        values = leave_one_out(gram, target.values, alpha, extend=False).best_predictions
        same = np.isclose(values, predicted_by(found, target), rtol=1e-9, atol=0.0).all(axis=1)
        assert_array_equal(same, unseen)
        predicted += same
    assert_array_equal(predicted, 1)
    errors = np.square(predicted_by(found, target) - target.values).mean()
    mean_errors = np.square((target.values - target.values.mean(axis=0)) * 40 / 39).mean()
    assert_allclose(found.loo_error, errors / mean_errors)


@pytest.mark.parametrize(
    ("n", "noise", "classes", "averaged"),
    [(250, 0.5, True, 0), (251, 0.5, True, 1), (251, 0.0, True, 0), (251, 0.5, False, 0)],
)
def test_kernels_of_halves_of_classes_are_averaged_unless_small_differences_matter(
    n: int, noise: float, classes: bool, averaged: int
) -> None:
    X, _ = problem(n)
    X[:, 0] += 2.0 * np.sign(X[:, 0])
    y = X[:, 0] + 4.0 * noise * np.random.default_rng(1).normal(size=n)
    y = y > 0.0 if classes else y
    learn, target = Recorder(), encode_target(y, classification=classes)
    found = evaluated(learn, X, target, y, uses_labels=True, refine=learn.refined)
    assert not classes or (found.loo_error < 0.2) == (noise == 0.0)
    sizes = [len(rows) for rows, _ in learn.learned]
    assert sizes.count(n) == 1 - averaged
    if averaged:
        (_, one), (_, other) = learn.learned
        assert_allclose(found.kernel.bandwidth, np.sqrt(one.bandwidth * other.bandwidth))
        assert found.kernel == mean_kernel(other, one)


def test_means_of_sums_do_not_depend_on_the_unit_of_their_weights() -> None:
    one, other = (WeightedSum([Gaussian(2.0 * k), Linear()], [1.0, 3.0 * k]) for k in (1.0, 2.0))
    found = mean_kernel(one, other)
    assert_allclose(found.kernels[0].bandwidth, np.sqrt(8.0))
    again = mean_kernel(one, replace(other, weights=10.0 * np.asarray(other.weights)))
    assert_allclose(again.weights, found.weights)
    assert_allclose(found.weights[1] / found.weights[0], np.sqrt(18.0))


def test_kernels_that_are_learned_from_other_samples_are_evaluated_without_parts() -> None:
    X, y = problem(80)
    target = encode_target(y, classification=False)
    few, rest = np.arange(30), np.arange(30, 80)
    tables = [viewed(X[r], y[r], target.take(r)) for r in (few, rest)]
    learn = Recorder()
    candidate = Candidate(["one"], "given", learn, uses_labels=True)
    [found] = evaluate([candidate], tables[0], random_state=0, others=tables[1])
    [(seen, kernel)] = learn.learned
    assert_array_equal(seen, X[rest, 0])
    values = leave_one_out(unit_gram(kernel, X[few])[0], tables[0].target.values)
    assert_allclose(predicted_by(found, tables[0].target), values.best_predictions)


def test_tiny_penalties_are_raised() -> None:
    X = np.linspace(0.0, 3.0, 30)[:, None]
    y = np.sin(X[:, 0])
    found = evaluated(Recorder(), X, encode_target(y, classification=False), y)
    assert found.solver.alpha >= 1e-8 * (1.0 - 1e-12)
    assert found.loo_error < 1e-6


def test_penalties_below_rounding_errors_are_raised_for_all_samples() -> None:
    X, y = problem(200, 2)
    target = encode_target(np.sin(X[:, 0]), classification=False)
    single = as_kernel(lambda A, B: np.asarray(Gaussian(20.0)(A, B), dtype=np.float32))
    found, table = ridge_evaluation(single, 1e-12, target.values), viewed(X, y, target)
    assert np.isfinite(found.left_out_deviations(table)).all()
    member = found.fitted(table)
    assert 1e-12 < member.predictor.alpha < 1e-3
    assert_allclose(member.deviations(X, X), target.values, atol=0.3)
    indefinite = ridge_evaluation(as_kernel(lambda A, B: np.tanh(A @ B.T)), 1e-6, target.values)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        indefinite.fitted(table)


# --- support vector machines -------------------------------------------------------------------


def machines(X: np.ndarray, target: EncodedTarget) -> list[Evaluation]:
    """The best machine on a kernel, unless no machine predicts anything."""
    given = ridge_evaluation(Gaussian(2.0), 0.1, target.values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return best_machine(given, viewed(X, target.codes, target), 0)


def fitted_decisions(C: float, gram: np.ndarray, codes: np.ndarray, rows: Any) -> np.ndarray:
    """Decisions of a machine at some rows minus their mean over its training samples."""
    machine = SVC(C=C, kernel="precomputed").fit(gram, codes)
    values, own = machine.decision_function(rows), machine.decision_function(gram)
    if values.ndim == 1:
        values, own = (np.column_stack([-column, column]) for column in (values, own))
    return np.asarray(values - own.mean(axis=0))


@pytest.mark.parametrize(("n_classes", "overlapping"), [(2, True), (3, False)])
def test_decisions_are_means_of_those_of_machines_without_the_fold(
    n_classes: int, overlapping: bool
) -> None:
    X, y = problem(60)
    target = encode_target(labels(y) if n_classes == 3 else y > 0.5, classification=True)
    rows, codes = np.arange(60), target.codes
    splits = shuffled_folds(60, 5, codes, 0)
    if overlapping:
        tests = [rows[::3], rows[1::3], rows[2::3], rows[20:50], rows[40:]]
        splits = [(np.setdiff1d(rows, test), test) for test in tests]
        target = replace(target, resampling=resampled(splits, 60))
    [found] = machines(X, target)
    assert "a kernel" in found.description
    assert found.loo_error < (codes != np.bincount(codes).argmax()).mean()
    gram, _ = unit_gram(found.kernel, X)
    total, counts = np.zeros((60, n_classes)), np.zeros((60, 1))
    for train, test in splits:
        inside, across = gram[np.ix_(train, train)], gram[np.ix_(test, train)]
        total[test] += fitted_decisions(1.0 / found.solver.alpha, inside, codes[train], across)
        counts[test] += 1.0
    assert_allclose(found.deviations, total / counts, rtol=1e-6, atol=1e-9)


def test_a_machine_predicts_new_samples() -> None:
    X, y = problem(60)
    new = problem(9, seed=1)[0]
    target = encode_target(labels(y), classification=True)
    [found] = machines(X, target)
    member = found.fitted(viewed(X, target.codes, target))
    C = 1.0 / found.solver.alpha / member.unit.scale
    decisions = fitted_decisions(C, found.kernel(X), target.codes, found.kernel(new, X))
    assert_allclose(member.deviations(new, X), decisions, atol=0.005)


def test_left_out_predictions_of_a_machine_repeat() -> None:
    X, y = problem(60)
    weights = np.linspace(0.1, 4.0, 60)
    target = encode_target(labels(y), classification=True, weights=weights)
    [found] = machines(X, target)
    repeated = found.left_out_deviations(viewed(X, target.codes, target))
    assert_allclose(repeated, found.deviations, atol=1e-9)


def test_decisions_against_the_labels_are_not_turned_around() -> None:
    # Of two classes that alternate on a line, the neighbors have the other label.
    X, y = np.arange(40.0)[:, None], np.arange(40) % 2
    for seed in range(2):
        target = encode_target(np.roll(y, seed), classification=True)
        [found] = machines(X + 0.01 * seed, target)
        weights = logistic_combination([found.deviations], target.codes, target.mean)
        product = np.sum(found.deviations * (target.values - target.mean))
        assert (weights.used.size > 0) == (product > 0.0)


@pytest.mark.parametrize("counts", [(2, 1), (30, 29, 1), (1, 1, 1)])
def test_classes_that_a_fold_lacks_have_low_decision_values(counts: tuple[int, ...]) -> None:
    y = np.repeat(np.arange(len(counts)), counts)
    X, _ = problem(len(y))
    target = encode_target(y, classification=True)
    table = viewed(X, target.codes, target)
    gram = table.inputs(Gaussian(2.0), "given")
    solver = OutOfFold(SVC(C=10.0, kernel="precomputed"), 0)
    deviations, decisions = solver.scores(gram, target, gram, target.folds(5, 0))
    assert np.isfinite(deviations).all()
    for rare in np.flatnonzero(np.array(counts) == 1):
        # Whatever machine is learned without the only sample does not know its class.
        sample = int(np.flatnonzero(y == rare)[0])
        assert decisions[sample, rare] == decisions[sample].min()
        assert deviations[sample, rare] <= 1e-12
    for found in machines(X, target):
        assert np.isfinite(found.fitted(table).deviations(X, X)).all()


# --- ridge regression as a member of a stack, against fits without each sample ---------------


@pytest.mark.parametrize(
    ("kernel", "alpha", "weighted"),
    [
        (Gaussian(2.0), 1e-4, False),
        (Linear(), 10.0, False),
        (WeightedSum([Gaussian(2.0), Linear()], [2.0, 0.5]), 0.1, True),
    ],
)
def test_predictions_and_fits_without_each_sample(
    kernel: Kernel, alpha: float, weighted: bool
) -> None:
    X, y = problem(25)
    new = problem(7, seed=1)[0]
    Y = np.column_stack([y, X[:, 2]])
    weights = np.random.default_rng(0).uniform(0.2, 2.0, 25) if weighted else np.ones(25)
    target = values_target(Y, weights)
    member = ridge_evaluation(kernel, alpha, Y).fitted(viewed(X, Y, target))
    K, rows, penalty = kernel(X), kernel(new, X), alpha * member.unit.scale / weights
    predicted = target.mean + member.deviations(new, X)
    assert_allclose(predicted, kernel_ridge(K, Y, rows, penalty), rtol=1e-6, atol=1e-7)
    expected = left_out_kernel_ridge(K, Y, penalty, rows)
    gram, unit = unit_gram(kernel, X, member.unit.weights)
    residuals = left_out_fits(gram, member.predictor, unit.weights).residuals
    assert_allclose(Y - residuals, expected[:, 0], rtol=1e-6, atol=1e-7)
    left_out = member.left_out(X, Together(len(X)))(new) + target.mean[0]
    assert_allclose(left_out, expected[:, 1:, 0].T, rtol=1e-6, atol=1e-7)


def test_kernels_are_learned_from_other_samples_where_these_are_no_fewer() -> None:
    X, y = problem(50)
    table, rows = viewed(X, y, values_target(y[:, None])), np.arange(0, 50, 2)
    others = table.others(rows)
    assert others is not None
    assert_array_equal(others.y, y[1::2])
    assert table.others(np.arange(26)) is None
    together = Together(50, codes=np.arange(50) // 5)
    target = replace(table.target, resampling=together)
    assert replace(table, target=target).others(rows) is None


def test_penalties_are_the_same_whether_all_or_those_downhill_are_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = problem(240)
    y = y + 0.3 * y.std() * np.random.default_rng(0).normal(size=240)
    target = encode_target(y, classification=False)
    both = Candidate(["one", "other"], "given", lambda *_: [Gaussian(1.0), Gaussian(5.0)])
    every = evaluate([both], viewed(X, y, target), random_state=0)
    monkeypatch.setattr("mercer._estimators.stacking.ridges._ROWS_DOWNHILL", 240)
    downhill = evaluate([both], viewed(X, y, target), random_state=0)
    assert len({found.solver for found in every}) == 2
    for one, other in zip(every, downhill, strict=True):
        assert_allclose(other.solver.alpha, one.solver.alpha, rtol=1e-12)
        assert_allclose(other.deviations, one.deviations, rtol=1e-6, atol=1e-8)
