"""Leave-one-out predictions of candidates, and the honesty of those that learn from labels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from stacking_cases import labels, problem

from mercer._gram.dense import unit_gram
from mercer._model_selection.leave_one_out import EncodedTarget, encode_target, leave_one_out
from mercer._stacking.candidates import Candidate
from mercer._stacking.evaluation import Evaluation, LabeledTable, evaluate, parts
from mercer._weights.ridge import leave_one_out_residuals
from mercer.kernels import Gaussian, Kernel, as_kernel


class Recorder:
    """Learns a Gaussian kernel of another width each time, and remembers from which samples."""

    def __init__(self) -> None:
        self.learned: list[tuple[np.ndarray, Kernel]] = []

    def __call__(self, X: Any, y: Any, target: EncodedTarget) -> list[Kernel]:
        kernel = Gaussian(2.0 + 0.25 * len(self.learned)).bind(X)
        self.learned.append((X[:, 0].copy(), kernel))
        assert len(X) == len(y) == len(target.values)
        return [kernel]


def predicted_by(found: Evaluation, target: EncodedTarget) -> np.ndarray:
    """Leave-one-out predictions, whose deviations an evaluation holds."""
    return np.asarray(found.deviations + target.left_out_means)


def evaluated(learn: Any, X: Any, target: EncodedTarget, y: Any, **kwargs: Any) -> Evaluation:
    candidate = Candidate(["one"], "given", learn, **kwargs)
    table = LabeledTable({"given": X}, y, target)
    return evaluate([candidate], table, random_state=0)[0]


@pytest.mark.parametrize("classification", [False, True])
def test_a_kernel_that_uses_labels_predicts_samples_that_it_was_not_learned_from(
    classification: bool,
) -> None:
    X, y = problem(40)
    y = labels(y) if classification else y
    target = encode_target(y, classification=classification)
    learn = Recorder()
    found = evaluated(learn, X, target, y, uses_labels=True)
    whole = [kernel for rows, kernel in learn.learned if len(rows) == len(X)]
    assert found.kernel in whole
    best = leave_one_out(unit_gram(found.kernel, X)[0], target.values)
    assert_allclose(found.alpha, best.alpha)
    predicted = np.zeros(len(X), dtype=int)
    for rows, kernel in learn.learned:
        if len(rows) == len(X):
            continue
        unseen = ~np.isin(X[:, 0], rows)
        gram, alpha = unit_gram(kernel, X)[0], np.array([found.alpha])
        values = leave_one_out(gram, target.values, alpha, extend=False).best_predictions
        same = np.isclose(values, predicted_by(found, target), rtol=1e-9, atol=0.0).all(axis=1)
        assert_array_equal(same, unseen)
        predicted += same
    assert_array_equal(predicted, 1)
    errors = np.square(predicted_by(found, target) - target.values).mean()
    mean_errors = np.square((target.values - target.values.mean(axis=0)) * 40 / 39).mean()
    assert_allclose(found.loo_error, errors / mean_errors)


def test_predictions_without_labels_are_those_of_all_other_samples() -> None:
    X, y = problem(40)
    target = encode_target(y, classification=False)
    learn = Recorder()
    found = evaluated(learn, X, target, y)
    assert len(learn.learned) == 1
    assert not found.uses_labels
    gram, _ = unit_gram(found.kernel, X)
    centered = gram + 1.0 / len(gram)
    for i in range(40):
        rest = np.arange(40) != i
        # Constants have a penalty of alpha, which would shrink the mean; the augmented system
        # leaves it free.
        system = np.ones((40, 40))
        system[:39, :39] = centered[np.ix_(rest, rest)] + found.alpha * np.eye(39)
        system[39, 39] = 0.0
        solution = np.linalg.solve(system, np.append(target.values[rest, 0], 0.0))
        expected = centered[i, rest] @ solution[:39] + solution[39]
        assert_allclose(predicted_by(found, target)[i, 0], expected, rtol=1e-6, atol=1e-8)


def test_kernels_that_are_learned_from_other_samples_are_priced_without_parts() -> None:
    X, y = problem(80)
    target = encode_target(y, classification=False)
    few, rest = np.arange(30), np.arange(30, 80)
    tables = [LabeledTable({"given": X[r]}, y[r], target.take(r)) for r in (few, rest)]
    learn = Recorder()
    candidate = Candidate(["one"], "given", learn, uses_labels=True)
    [found] = evaluate([candidate], tables[0], random_state=0, others=tables[1])
    [(seen, kernel)] = learn.learned
    assert_array_equal(seen, X[rest, 0])
    values = leave_one_out(unit_gram(kernel, X[few])[0], tables[0].target.values)
    assert_allclose(predicted_by(found, tables[0].target), values.best_predictions)


def test_kernels_that_are_learned_together_are_priced_one_by_one() -> None:
    X, y = problem(40)
    target = encode_target(y, classification=False)
    kernels = [Gaussian(2.0), Gaussian(5.0)]
    both = Candidate(["narrow", "wide"], "given", lambda X, y, target: kernels)
    found = evaluate([both], LabeledTable({"given": X}, y, target), random_state=0)
    assert [one.description for one in found] == ["narrow", "wide"]
    assert [one.kernel for one in found] == kernels
    for one in found:
        alone = evaluated(lambda X, y, target, one=one: [one.kernel], X, target, y)
        assert_allclose(one.deviations, alone.deviations)


@pytest.mark.parametrize(
    "error", [ValueError("no"), KeyError("no"), ZeroDivisionError("no"), RuntimeError("no")]
)
def test_a_candidate_that_fails_is_left_out_with_its_name(error: Exception) -> None:
    def fail(X: Any, y: Any, target: EncodedTarget) -> list[Kernel]:
        raise error

    X, y = problem(20)
    target = encode_target(y, classification=False)
    candidates = [Candidate(["bad one"], "given", fail), Candidate(["good"], "given", Recorder())]
    with pytest.warns(UserWarning, match=r"'bad one' is left out: .*no"):
        found = evaluate(candidates, LabeledTable({"given": X}, y, target), random_state=0)
    assert [one.description for one in found] == ["good"]


def test_tiny_penalties_are_raised() -> None:
    X = np.linspace(0.0, 3.0, 30)[:, None]
    y = np.sin(X[:, 0])
    found = evaluated(Recorder(), X, encode_target(y, classification=False), y)
    assert found.alpha >= 1e-8
    assert found.loo_error < 1e-6


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_few_samples_have_finite_prices(n: int) -> None:
    X, y = problem(n)
    target = encode_target(y, classification=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = evaluated(Recorder(), X, target, y, uses_labels=True)
    assert np.isfinite(found.deviations).all()


def test_parts_divide_classes_in_proportion_where_possible() -> None:
    codes = np.arange(40) % 4
    target = encode_target(codes, classification=True)
    divided = parts(target, 0, 5)
    assert_array_equal(np.sort(np.concatenate([inside for _, inside in divided])), np.arange(40))
    for outside, inside in divided:
        assert_array_equal(np.bincount(codes[inside]), 2)
        assert not set(outside) & set(inside)
    rare = encode_target(np.array([0, 0, 0, 1]), classification=True)
    assert len(parts(rare, 0, 5)) == 4


def test_left_out_deviations_raise_penalties_below_rounding_errors() -> None:
    X, y = problem(200, 2)
    target = encode_target(np.sin(X[:, 0]), classification=False)
    single = as_kernel(lambda A, B: np.asarray(Gaussian(20.0)(A, B), dtype=np.float32))
    found = Evaluation("one", "given", single, 1e-12, np.zeros((200, 1)), 0.5)
    table = LabeledTable({"given": X}, y, target)
    with pytest.raises(ValueError, match="not positive"):
        leave_one_out_residuals(unit_gram(single, X)[0], target.values, found.alpha)
    assert np.isfinite(found.left_out_deviations(table, 0)).all()
