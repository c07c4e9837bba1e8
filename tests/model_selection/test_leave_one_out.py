"""Prices of kernels against refits without each sample; encodings of targets; grids that extend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import ridge_with_intercept

from mercer._gram.dense import to_unit_scale
from mercer._model_selection.leave_one_out import (
    LEAST_ALPHA,
    MOST_ALPHA,
    LeaveOneOut,
    encode_target,
    leave_one_out,
    relative_loss,
)
from mercer.kernels import Gaussian, Linear


def table(n: int = 18, d: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def priced(K: np.ndarray, targets: Any, alphas: Any = (1e-3, 0.1, 10.0)) -> LeaveOneOut:
    """The price of a Gram matrix as it is, on a fixed grid."""
    gram, _ = to_unit_scale(K)
    return leave_one_out(gram, np.asarray(targets), np.asarray(alphas), extend=False)


def refitted(K: np.ndarray, targets: np.ndarray, alpha: float) -> np.ndarray:
    """Each sample predicted by a fit to all others, with the penalty relative to all samples."""
    n, scale = len(K), to_unit_scale(K)[1].scale
    found = []
    for i in range(n):
        rest = np.arange(n) != i
        inside = K[np.ix_(rest, rest)]
        relative = alpha * scale / to_unit_scale(inside)[1].scale
        found.append(ridge_with_intercept(inside, targets[rest], K[i : i + 1, rest], relative)[0])
    return np.array(found)


# --- leave-one-out -----------------------------------------------------------------------------


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_predictions_are_those_of_refits(n_outputs: int) -> None:
    X = table()
    targets = table(18, n_outputs, seed=1) + 5.0
    found = priced(Gaussian(2.0)(X), targets)
    for alpha, predictions in zip(found.alphas, found.predictions, strict=True):
        assert_allclose(predictions, refitted(Gaussian(2.0)(X), targets, alpha), rtol=1e-8)


def test_losses_are_relative_to_the_means_of_all_others() -> None:
    K, y = Gaussian(2.0)(table()), table(18, 2, seed=1)
    found = priced(K, y)
    others = (y.sum(axis=0) - y) / 17
    expected = ((found.predictions - y) ** 2).sum(axis=(1, 2)) / ((others - y) ** 2).sum()
    assert_allclose(found.losses, expected, rtol=1e-12)
    assert found.loss == found.losses.min()
    assert found.alpha == found.alphas[found.best]
    assert_array_equal(found.best_predictions, found.predictions[found.best])


def test_indicators_start_from_the_class_frequencies_of_the_others() -> None:
    target = encode_target(["b", "a", "b", "c"], classification=True)
    found = priced(np.zeros((4, 4)), target.values)
    expected = (target.values.sum(axis=0) - target.values) / 3
    assert_allclose(found.best_predictions, expected, atol=1e-15)
    assert_allclose(found.losses, 1.0)


def test_misclassification_is_that_of_the_largest_prediction() -> None:
    X = table(30)
    codes = np.digitize(X[:, 0], [-0.4, 0.5])
    found = priced(Gaussian(2.0)(X), np.eye(3)[codes])
    for predictions, wrong in zip(found.predictions, found.misclassification(codes), strict=True):
        assert wrong == np.mean(predictions.argmax(axis=1) != codes)


def test_misclassification_is_weighted() -> None:
    X = table(30)
    codes = np.digitize(X[:, 0], [-0.4, 0.5])
    weights = np.random.default_rng(3).uniform(0.1, 3.0, 30)
    gram, _ = to_unit_scale(Gaussian(2.0)(X), weights)
    found = leave_one_out(gram, np.eye(3)[codes], weights=weights)
    for predictions, wrong in zip(found.predictions, found.misclassification(codes), strict=True):
        expected = np.average(predictions.argmax(axis=1) != codes, weights=weights)
        assert_allclose(wrong, expected)
    assert np.ptp(found.misclassification(codes)) > 0.0


def test_left_out_means_are_those_of_all_other_samples() -> None:
    y = table(12, 1)[:, 0]
    weights = np.random.default_rng(3).uniform(0.1, 3.0, 12)
    for own in (None, weights):
        target = encode_target(y, classification=False, weights=own)
        for i in range(12):
            rest = np.arange(12) != i
            w = None if own is None else own[rest]
            expected = np.average(target.values[rest], weights=w, axis=0)
            assert_allclose(target.left_out_means[i], expected, atol=1e-12)


def test_new_samples_are_predicted_by_the_fit_to_all() -> None:
    X, Z, y = table(), table(5, seed=2), table(18, 2, seed=1)
    gram, unit = to_unit_scale(Gaussian(2.0)(X))
    found, rows = leave_one_out(gram, y), unit.apply(Gaussian(2.0)(Z, X))
    for alpha in (None, 0.3):
        expected = ridge_with_intercept(
            Gaussian(2.0)(X), y, Gaussian(2.0)(Z, X), found.alpha if alpha is None else alpha
        )
        assert_allclose(found.predict(rows, alpha), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_few_samples(n: int) -> None:
    X, y = table(n), np.arange(n) % 2 + 0.0
    for kernel in (Gaussian(), Gaussian(1e-3), Linear()):
        found = leave_one_out(to_unit_scale(kernel(X))[0], y)
        assert np.isfinite(found.predictions).all()
        assert 0.0 <= found.loss <= 1.01
    with pytest.raises(ValueError, match="at least two samples"):
        leave_one_out(np.zeros((1, 1)), y[:1])


def test_two_samples_predict_each_other() -> None:
    found = leave_one_out(to_unit_scale(Gaussian()(table(2)))[0], np.array([1.0, 5.0]))
    assert_allclose(found.best_predictions[:, 0], [5.0, 1.0])


def test_duplicated_rows_and_constant_kernels() -> None:
    X = np.repeat(table(6), 3, axis=0)
    y = np.repeat(np.arange(6.0), 3)
    found = leave_one_out(to_unit_scale(Gaussian(1.0)(X))[0], y)
    assert found.loss < 1e-6
    constant = leave_one_out(to_unit_scale(np.ones((18, 18)))[0], y)
    assert_allclose(constant.losses, 1.0)


def test_a_constant_target_has_a_loss_of_one() -> None:
    target = encode_target(np.full(18, 7.0), classification=False)
    found = leave_one_out(to_unit_scale(Gaussian()(table()))[0], target.values)
    assert_allclose(found.losses, 1.0)
    assert_allclose(target.decode(found.best_predictions), 7.0)


@given(st.integers(0, 10**6), st.sampled_from([1e-6, 1.0, 1e6]), st.floats(-1e3, 1e3))
def test_unit_and_offset_of_responses_do_not_matter(seed: int, unit: float, offset: float) -> None:
    X = table(seed=seed)
    y = X[:, 0] ** 2
    one = encode_target(y, classification=False)
    other = encode_target(unit * (y + offset), classification=False)
    assert_allclose(other.values, one.values, atol=1e-9)
    gram, _ = to_unit_scale(Gaussian(2.0)(X))
    assert_allclose(leave_one_out(gram, other.values).loss, leave_one_out(gram, one.values).loss)


# --- the grid ----------------------------------------------------------------------------------


def test_the_grid_extends_to_a_smaller_penalty() -> None:
    X = np.linspace(0.0, 4.0, 40)[:, None]
    gram, _ = to_unit_scale(Gaussian(0.6)(X))
    y = np.sin(2.0 * X[:, 0]) + 1e-3 * np.random.default_rng(0).normal(size=40)
    found = leave_one_out(gram, y, np.array([0.1, 1.0, 10.0]))
    assert found.alpha < 1e-3
    assert found.best > 0
    assert found.alphas[0] >= LEAST_ALPHA
    assert_allclose(np.diff(np.log10(found.alphas)), 1.0)
    again = leave_one_out(gram, y, found.alphas, extend=False)
    assert_allclose(found.losses, again.losses, rtol=1e-6)


def test_the_grid_extends_until_all_is_shrunk() -> None:
    y = np.random.default_rng(0).normal(size=18)
    found = leave_one_out(to_unit_scale(Gaussian(1e-3)(table()))[0], y, np.array([0.1, 1.0]))
    assert found.best == len(found.alphas) - 1
    assert 10.0 * found.alpha > MOST_ALPHA * 18
    assert_allclose(found.loss, 1.0, rtol=1e-3)


def test_one_penalty_is_taken_as_it_is() -> None:
    found = leave_one_out(to_unit_scale(Gaussian()(table()))[0], table()[:, 0], np.array([1e5]))
    assert_array_equal(found.alphas, [1e5])


# --- targets -----------------------------------------------------------------------------------


def test_responses_are_standardized_and_back() -> None:
    y = table(18, 2) * [1.0, 1e9] + [5.0, -1e9]
    target = encode_target(y, classification=False)
    assert_allclose(target.values.mean(axis=0), 0.0, atol=1e-12)
    assert_allclose(target.values.std(axis=0), 1.0)
    assert_allclose(target.decode(target.values), y, rtol=1e-12)


@pytest.mark.parametrize("size", [1e-300, 1e12, 1e307])
def test_extreme_responses_are_finite(size: float) -> None:
    y = np.r_[np.arange(17.0), size]
    target = encode_target(y, classification=False)
    found = leave_one_out(to_unit_scale(Gaussian()(table()))[0], target.values)
    assert np.isfinite(found.losses).all()
    assert np.isfinite(target.decode(found.predictions)).all()


def test_labels_are_indicators_and_back() -> None:
    labels = np.array(["no", "yes", "no", "maybe"])
    target = encode_target(labels, classification=True)
    assert target.classes is not None
    assert_array_equal(target.classes, ["maybe", "no", "yes"])
    assert_array_equal(target.values.sum(axis=1), 1.0)
    assert_array_equal(target.decode(target.values), labels)
    part = target.take(np.array([3, 1]))
    assert_array_equal(part.decode(part.values), ["maybe", "yes"])


def test_the_relative_loss_is_that_of_the_path() -> None:
    y = table()[:, :2]
    found = leave_one_out(to_unit_scale(Gaussian()(table()))[0], y)
    assert_allclose(relative_loss(y - found.best_predictions, y), found.loss)
    assert relative_loss(np.ones((4, 1)), np.full((4, 1), 0.1)) == 1.0
