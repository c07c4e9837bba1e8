"""Combinations of left-out predictions."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import lsq_linear, minimize, minimize_scalar

from mercer._data.encoded_targets import encode_target
from mercer._data.weights import SampleWeights, UnitWeights
from mercer._estimators.stacking.combination import (
    LinearCombination,
    LogisticCombination,
    linear_combination,
    logistic_combination,
)


def predictions(
    seed: int, n: int = 30, n_outputs: int = 1, n_predictors: int = 4
) -> tuple[list[np.ndarray], np.ndarray]:
    rng = np.random.default_rng(seed)
    targets = rng.normal(size=(n, n_outputs))
    noise = rng.normal(size=(n_predictors, n, n_outputs))
    return [targets * rng.uniform(-0.5, 1.0) + part for part in noise], targets


# --- responses --------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 6), st.integers(1, 30))
def test_weights_are_those_of_bounded_least_squares_on_all_rows(
    seed: int, n_outputs: int, n_predictors: int, n: int
) -> None:
    found, targets = predictions(seed, n, n_outputs, n_predictors)
    columns = np.stack([part.ravel() for part in found], axis=1)
    best = lsq_linear(columns, targets.ravel(), bounds=(0.0, 1.0), tol=1e-14).cost
    weights = linear_combination(found, targets).weights
    assert (weights >= 0.0).all()
    assert (weights <= 1.0).all()
    cost = 0.5 * np.sum((columns @ weights - targets.ravel()) ** 2)
    assert cost <= best * (1.0 + 1e-7) + 1e-12


def test_nothing_is_combined_where_nothing_predicts() -> None:
    targets = np.arange(5.0)[:, None] - 2.0
    found = linear_combination([-targets, np.zeros((5, 1))], targets)
    assert_allclose(found.weights, 0.0)
    assert found.used.size == 0
    assert linear_combination([], targets).weights.shape == (0,)


def test_weights_of_samples_repeat_them() -> None:
    found, targets = predictions(5)
    counts = np.random.default_rng(5).integers(1, 4, 30)
    weighted = linear_combination(found, targets, counts.astype(float)).weights
    repeated = linear_combination(
        [f.repeat(counts, axis=0) for f in found], targets.repeat(counts, 0)
    )
    assert_allclose(weighted, repeated.weights, atol=1e-9)


# --- classes ----------------------------------------------------------------------------------


def class_problem(
    seed: int, n_classes: int = 3, n: int = 60, n_members: int = 3
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % n_classes)
    indicators = np.eye(n_classes)[codes]
    deviations = []
    for k in range(n_members):
        values = (0.1 + 0.3 * k) * (indicators - 1.0 / n_classes)
        values = values + 0.2 * rng.normal(size=values.shape)
        deviations.append(values - values.mean(axis=1, keepdims=True))
    return deviations, codes, indicators.mean(axis=0)


def naive_loss(
    w: np.ndarray,
    V: np.ndarray,
    b: np.ndarray,
    problem: tuple[list[np.ndarray], np.ndarray, np.ndarray],
    weights: np.ndarray,
    *,
    penalties: tuple[float, float, float] = (6.0, 16.0, 10.0),
) -> float:
    """The penalized negative log-likelihood, sample by sample."""
    deviations, codes, frequencies = problem
    sizes = w.sum() ** 2, np.sum((w - w.mean()) ** 2), np.sum(V**2)
    total = 0.5 * float(np.dot(penalties, sizes))
    for i, code in enumerate(codes):
        logits = np.log(frequencies) + b
        for k, found in enumerate(deviations):
            logits = logits + w[k] * found[i] + found[i] @ V / len(deviations)
        total += weights[i] * (np.log(np.sum(np.exp(logits))) - logits[code])
    return float(total)


def own_slope(problem: tuple[Any, Any, Any], weights: np.ndarray, member: int) -> float:
    """The slope of a logistic regression on a member alone, by a general search."""
    deviations, codes, frequencies = problem
    c = len(frequencies)
    alone = [deviations[member]], codes, frequencies

    def loss(x: np.ndarray) -> float:
        own = 0.1, 0.0, 0.0
        return naive_loss(
            x[:1], np.zeros((c, c)), x[1:] - x[1:].mean(), alone, weights, penalties=own
        )

    return float(minimize(loss, np.ones(1 + c), method="BFGS", options={"gtol": 1e-6}).x[0])


@pytest.mark.parametrize(("n_classes", "weighted"), [(2, True), (3, False)])
def test_no_step_lowers_the_penalized_deviance(n_classes: int, weighted: bool) -> None:
    deviations, codes, _ = class_problem(1, n_classes)
    frequencies = np.arange(1.0, n_classes + 1.0) / np.arange(1.0, n_classes + 1.0).sum()
    problem = deviations, codes, frequencies
    rng = np.random.default_rng(2)
    weights = rng.uniform(0.2, 1.8, len(codes)) if weighted else np.ones(len(codes))
    found = logistic_combination(deviations, codes, frequencies, weights if weighted else None)
    k = len(deviations)
    own = np.array([own_slope(problem, weights, j) for j in range(k)])
    scaled = [one * table for one, table in zip(own, deviations, strict=True)], codes, frequencies
    slopes = found.slopes / own[:, None, None]
    off = slopes - np.einsum("kcd,cd->kcd", slopes, np.eye(n_classes))
    assert_allclose(off, off[:1].repeat(k, axis=0), atol=1e-5)

    def loss(V: np.ndarray, b: np.ndarray, w: np.ndarray) -> float:
        return naive_loss(w, V, b, scaled, weights)

    if n_classes == 2:
        w, V = slopes[:, 0, 0], np.zeros((2, 2))
        assert_allclose(off, 0.0)
    else:
        # The first slope, less its own weight, is the mixing matrix, of which the diagonal and the
        # weights are known together only: the penalties decide.
        first = np.array([s[0, 0] for s in slopes])

        def parts(shift: float) -> tuple[np.ndarray, np.ndarray]:
            return first - first[0] + shift, k * (slopes[0] - shift * np.eye(n_classes))

        def penalty(shift: float) -> float:
            w, V = parts(shift)
            return 6.0 * float(w.sum() ** 2) + 10.0 * float(np.sum(V**2))

        w, V = parts(float(minimize_scalar(penalty).x))
    best = loss(V, found.intercepts, w)
    for _ in range(40):
        step = 1e-3 * rng.normal(size=k)
        other_w = np.maximum(w + step, 0.0)
        other_V = V + (1e-3 * rng.normal(size=V.shape) if n_classes > 2 else 0.0)
        other_b = found.intercepts + 1e-3 * rng.normal(size=n_classes)
        assert loss(other_V, other_b, other_w) >= best - 1e-6


@pytest.mark.parametrize("n_classes", [2, 3])
def test_members_on_another_scale_are_combined_alike(n_classes: int) -> None:
    deviations, codes, frequencies = class_problem(7, n_classes, n=3000)
    large = [deviations[0], 30.0 * deviations[1], deviations[2]]
    found = logistic_combination(deviations, codes, frequencies)
    scaled = logistic_combination(large, codes, frequencies)
    # The penalty on a member's own slope depends on its scale.
    assert_allclose(
        scaled.combine(large, frequencies), found.combine(deviations, frequencies), atol=0.005
    )


def test_deviations_against_the_label_are_not_turned_around() -> None:
    deviations, codes, frequencies = class_problem(3, 2)
    found = logistic_combination([-d for d in deviations], codes, frequencies)
    assert found.used.size == 0
    assert_allclose(found.combine([-d for d in deviations], frequencies), 0.5, atol=1e-6)


def test_the_left_out_mean_tells_nothing() -> None:
    # Left-out predictions of a constant predictor are the mean without the sample: the deviation
    # from it is zero, while the prediction itself falls where the label is high.
    target = encode_target(np.arange(40) % 2, classification=True)
    predicted = target.left_out_means
    assert np.corrcoef(predicted[:, 1], target.values[:, 1])[0, 1] < -0.99
    deviations = predicted - target.left_out_means
    found = logistic_combination([deviations], target.codes, target.mean)
    assert_allclose(found.combine([deviations], target.mean), 0.5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_errors_with_the_sign_of_the_label_are_not_amplified(n_classes: int) -> None:
    target = encode_target(np.arange(60) % n_classes, classification=True)
    own = 1e-7 * (target.values - target.mean)
    found = logistic_combination([own], target.codes, target.mean)
    assert_allclose(found.combine([own], target.mean), 1.0 / n_classes, atol=1e-9)


def test_members_that_predict_worse_than_the_frequencies_have_no_effect() -> None:
    deviations, codes, frequencies = class_problem(6, 3)
    found = logistic_combination(deviations, codes, frequencies)
    more = logistic_combination([-deviations[0], *deviations], codes, frequencies)
    assert_allclose(more.slopes[0], 0.0)
    assert_allclose(more.slopes[1:], found.slopes)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logistic_combinations_of_weighted_samples_are_those_of_repeated_ones(
    n_classes: int,
) -> None:
    deviations, codes, frequencies = class_problem(6, n_classes)
    counts = np.random.default_rng(6).integers(1, 4, len(codes))
    weighted = logistic_combination(deviations, codes, frequencies, counts.astype(float))
    repeated = [np.repeat(table, counts, axis=0) for table in deviations]
    again = logistic_combination(repeated, np.repeat(codes, counts), frequencies)
    assert_allclose(weighted.slopes, again.slopes, atol=1e-4)


def test_a_class_without_samples_has_no_probability() -> None:
    deviations, codes, _ = class_problem(4, 3)
    rows = codes < 2
    frequencies = np.array([0.5, 0.5, 0.0])
    found = logistic_combination([d[rows] for d in deviations], codes[rows], frequencies)
    assert_allclose(found.combine(deviations, frequencies)[:, 2], 0.0)
    assert np.isfinite(found.combine(deviations, np.array([0.4, 0.4, 0.2]))).all()


# --- both -------------------------------------------------------------------------------------


def test_unused_members_may_be_left_out() -> None:
    deviations, codes, frequencies = class_problem(5, 2)
    deviations = [deviations[0], -deviations[1], deviations[2]]
    found = logistic_combination(deviations, codes, frequencies)
    assert_array_equal(found.used, [0, 2])
    few = found.take(found.used).combine([deviations[0], deviations[2]], frequencies)
    assert_allclose(few, found.combine(deviations, frequencies))
    linear = LinearCombination(np.array([0.5, 0.0, 0.25]))
    assert_array_equal(linear.used, [0, 2])
    few = linear.take(linear.used).combine([deviations[0], deviations[2]], frequencies)
    assert_allclose(few, linear.combine(deviations, frequencies))


def test_shares_are_mean_sizes_of_the_parts() -> None:
    deviations, codes, frequencies = class_problem(6)
    found = logistic_combination(deviations, codes, frequencies)
    weights = SampleWeights(np.random.default_rng(0).uniform(0.5, 1.5, len(codes)))
    sizes = [
        np.average(np.abs(d @ s).mean(axis=1), weights=weights.values)
        for d, s in zip(deviations, found.slopes, strict=True)
    ]
    assert_allclose(found.shares(deviations, weights), np.array(sizes) / np.sum(sizes))
    nothing = LogisticCombination(np.zeros((3, 3, 3)), np.zeros(3))
    assert_array_equal(nothing.shares(deviations, UnitWeights(len(codes))), 0.0)
