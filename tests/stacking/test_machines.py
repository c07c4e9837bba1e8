"""Support vector machines on candidates' kernels."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC
from stacking_cases import labels, problem

from mercer._gram.dense import unit_gram
from mercer._model_selection.leave_one_out import EncodedTarget, encode_target
from mercer._stacking.evaluation import Evaluation, LabeledTable, parts
from mercer._stacking.machines import MachineEvaluation, evaluate_machines
from mercer.kernels import Gaussian


def table(X: np.ndarray, target: EncodedTarget) -> LabeledTable:
    return LabeledTable({"given": X}, target.codes, target)


def best_machine(X: np.ndarray, target: EncodedTarget) -> MachineEvaluation:
    given = Evaluation("a kernel", "given", Gaussian(2.0), 0.1, target.values, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return evaluate_machines([given], table(X, target), 0)[0]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_decisions_are_those_of_machines_without_the_fold(n_classes: int) -> None:
    X, y = problem(60)
    y = labels(y) if n_classes == 3 else y > 0.5
    target = encode_target(y, classification=True)
    codes = target.codes
    found = best_machine(X, target)
    assert "a kernel" in found.description
    assert found.deviations.shape == (60, n_classes)
    decisions = found.deviations / found.slope + found.center
    assert_allclose(found.loo_error, (decisions.argmax(axis=1) != codes).mean())
    assert found.loo_error < (codes != np.bincount(codes).argmax()).mean()
    gram, _ = unit_gram(found.kernel, X)
    for train, test in parts(target, 0, 5):
        machine = SVC(C=1.0 / found.alpha, kernel="precomputed")
        machine.fit(gram[np.ix_(train, train)], codes[train])
        values = machine.decision_function(gram[np.ix_(test, train)])
        expected = values if n_classes == 3 else np.column_stack([-values, values])
        assert_allclose(decisions[test], expected, rtol=1e-6, atol=1e-9)


def test_a_machine_predicts_new_samples() -> None:
    X, y = problem(60)
    new = problem(9, seed=1)[0]
    target = encode_target(labels(y), classification=True)
    found = best_machine(X, target)
    member = found.fitted(table(X, target))
    K = found.kernel(X)
    machine = SVC(C=1.0 / found.alpha / member.unit.scale, kernel="precomputed", tol=1e-6)
    machine.fit(K, target.codes)
    decisions = machine.decision_function(found.kernel(new, X))
    assert_allclose(member.deviations(new, X), found.slope * (decisions - found.center), atol=0.005)


def test_predictions_are_fitted_to_the_indicators() -> None:
    X, y = problem(60)
    target = encode_target(labels(y), classification=True)
    found = best_machine(X, target)
    assert_allclose(found.deviations.mean(axis=0), 0.0, atol=1e-12)
    rest = target.values - target.mean - found.deviations
    assert_allclose(np.sum(found.deviations * rest), 0.0, atol=1e-9)
    repeated = found.left_out_deviations(table(X, target), 0)
    assert_allclose(repeated, found.deviations, atol=1e-9)


def test_decisions_against_the_labels_are_not_turned_around() -> None:
    # Of two classes that alternate on a line, the neighbors have the other label.
    X, y = np.arange(40.0)[:, None], np.arange(40) % 2
    slopes = [
        best_machine(X + 0.01 * seed, encode_target(np.roll(y, seed), classification=True)).slope
        for seed in range(4)
    ]
    assert min(slopes) >= 0.0
    noise = [
        best_machine(problem(40, seed=s)[0], encode_target(y, classification=True)).slope
        for s in range(8)
    ]
    assert min(noise) == 0.0


@pytest.mark.parametrize("counts", [(1, 1), (2, 1), (59, 1), (30, 29, 1), (1, 1, 1)])
def test_classes_that_a_fold_lacks_have_low_decision_values(counts: tuple[int, ...]) -> None:
    y = np.repeat(np.arange(len(counts)), counts)
    X, _ = problem(len(y))
    target = encode_target(y, classification=True)
    found = best_machine(X, target)
    assert np.isfinite(found.deviations).all()
    for rare in np.flatnonzero(np.array(counts) == 1):
        # Whatever machine is learned without the only sample does not know its class.
        sample = int(np.flatnonzero(y == rare)[0])
        deviation = found.deviations[sample, rare]
        if found.slope > 0.0:
            assert deviation / found.slope + found.center[rare] < 0.0
        assert deviation <= 0.0
    assert np.isfinite(found.fitted(table(X, target)).deviations(X, X)).all()


def test_prices_repeat() -> None:
    X, y = problem(40)
    target = encode_target(y > 0.5, classification=True)
    assert_array_equal(best_machine(X, target).deviations, best_machine(X, target).deviations)
