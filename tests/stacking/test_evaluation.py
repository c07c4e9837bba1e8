"""Leave-one-out predictions of candidates, and the honesty of those that learn from labels."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import kernel_ridge, left_out_kernel_ridge
from sklearn.svm import SVC
from stacking_cases import labels, problem, ridge_evaluation, values_target, viewed

from mercer._data.encoded_targets import EncodedTarget, encode_target
from mercer._data.folds import shuffled_folds
from mercer._data.resampling import OneAtATime, Together, resampled
from mercer._estimators.stacking.candidates import Candidate
from mercer._estimators.stacking.evaluation import Evaluation
from mercer._estimators.stacking.machines import evaluate_machines
from mercer._estimators.stacking.ridges import evaluate
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


def best_machine(X: np.ndarray, target: EncodedTarget) -> tuple[Evaluation, Any]:
    """The best machine on a kernel, and its solver."""
    given = ridge_evaluation(Gaussian(2.0), 0.1, target.values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        [found] = evaluate_machines([given], viewed(X, target.codes, target), 0)
    return found, found.solver


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
    found, solver = best_machine(X, target)
    assert "a kernel" in found.description
    decisions = found.deviations / solver.slope + solver.center
    assert_allclose(found.loo_error, (decisions.argmax(axis=1) != codes).mean())
    assert found.loo_error < (codes != np.bincount(codes).argmax()).mean()
    gram, _ = unit_gram(found.kernel, X)
    total, counts = np.zeros((60, n_classes)), np.zeros((60, 1))
    for train, test in splits:
        machine = SVC(C=1.0 / solver.alpha, kernel="precomputed")
        machine.fit(gram[np.ix_(train, train)], codes[train])
        values = machine.decision_function(gram[np.ix_(test, train)])
        total[test] += values if n_classes == 3 else np.column_stack([-values, values])
        counts[test] += 1.0
    assert_allclose(decisions, total / counts, rtol=1e-6, atol=1e-9)


def test_a_machine_predicts_new_samples() -> None:
    X, y = problem(60)
    new = problem(9, seed=1)[0]
    target = encode_target(labels(y), classification=True)
    found, solver = best_machine(X, target)
    member = found.fitted(viewed(X, target.codes, target))
    K = found.kernel(X)
    machine = SVC(C=1.0 / solver.alpha / member.unit.scale, kernel="precomputed", tol=1e-6)
    machine.fit(K, target.codes)
    decisions = machine.decision_function(found.kernel(new, X))
    assert_allclose(
        member.deviations(new, X), solver.slope * (decisions - solver.center), atol=0.005
    )


def test_predictions_are_fitted_to_the_indicators() -> None:
    X, y = problem(60)
    weights = np.linspace(0.1, 4.0, 60)
    target = encode_target(labels(y), classification=True, weights=weights)
    found, solver = best_machine(X, target)
    assert_allclose(weights @ found.deviations, 0.0, atol=1e-10)
    rest = target.values - target.mean - found.deviations
    assert_allclose(weights @ np.sum(found.deviations * rest, axis=1), 0.0, atol=1e-9)
    wrong = (found.deviations / solver.slope + solver.center).argmax(axis=1) != target.codes
    assert_allclose(found.loo_error, np.average(wrong, weights=weights))
    repeated = found.left_out_deviations(viewed(X, target.codes, target))
    assert_allclose(repeated, found.deviations, atol=1e-9)


def test_decisions_against_the_labels_are_not_turned_around() -> None:
    # Of two classes that alternate on a line, the neighbors have the other label.
    X, y = np.arange(40.0)[:, None], np.arange(40) % 2
    slopes = [
        best_machine(X + 0.01 * seed, encode_target(np.roll(y, seed), classification=True))[1].slope
        for seed in range(2)
    ]
    assert min(slopes) >= 0.0
    noise = [
        best_machine(problem(40, seed=s)[0], encode_target(y, classification=True))[1].slope
        for s in range(3)
    ]
    assert min(noise) == 0.0


@pytest.mark.parametrize("counts", [(2, 1), (30, 29, 1), (1, 1, 1)])
def test_classes_that_a_fold_lacks_have_low_decision_values(counts: tuple[int, ...]) -> None:
    y = np.repeat(np.arange(len(counts)), counts)
    X, _ = problem(len(y))
    target = encode_target(y, classification=True)
    found, solver = best_machine(X, target)
    assert np.isfinite(found.deviations).all()
    for rare in np.flatnonzero(np.array(counts) == 1):
        # Whatever machine is learned without the only sample does not know its class.
        sample = int(np.flatnonzero(y == rare)[0])
        deviation = found.deviations[sample, rare]
        if solver.slope > 0.0:
            decisions = found.deviations[sample] / solver.slope + solver.center
            assert decisions[rare] == decisions.min()
        assert deviation <= 1e-12
    assert np.isfinite(found.fitted(viewed(X, target.codes, target)).deviations(X, X)).all()


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
    left_out = member.left_out(X, OneAtATime(len(X)))(new) + target.mean[0]
    assert_allclose(left_out, expected[:, 1:, 0].T, rtol=1e-6, atol=1e-7)


def test_kernels_are_learned_from_other_samples_where_these_are_no_fewer() -> None:
    X, y = problem(50)
    table, rows = viewed(X, y, values_target(y[:, None])), np.arange(0, 50, 2)
    others = table.others(rows)
    assert others is not None
    assert_array_equal(others.y, y[1::2])
    assert table.others(np.arange(26)) is None
    together = Together(50, np.arange(50) // 5)
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
