"""Losses of weighted samples against the same losses of samples that are repeated."""

from __future__ import annotations

import numpy as np
import pytest
from loss_cases import Case, X, every_loss, predictions
from numpy.testing import assert_allclose, assert_array_equal
from reference import gaussian

from mercer._gram.kernel_products import base_grams
from mercer._gram.samples import Samples
from mercer._weights.interior_point import interior_point_weights
from mercer.kernels import Linear
from mercer.losses import Hinge, Loss


def counts(n: int) -> np.ndarray:
    return np.random.default_rng(5).integers(1, 4, size=n)


def weighted(loss: Loss, n: int) -> Loss:
    return loss.with_weights(counts(n).astype(float))


def test_losses_without_weights_are_the_same_object() -> None:
    loss = Hinge(1.0)
    assert loss.with_weights(None) is loss


@every_loss
def test_sums_count_each_sample_as_often_as_its_weight_says(case: Case) -> None:
    f, n = predictions(), counts(len(case.y))
    loss, y, repeated = weighted(case.loss, len(case.y)), case.y, case.y.repeat(n)
    assert_allclose(loss.value(y, f), case.loss.value(repeated, f.repeat(n)), rtol=1e-12)
    c = case.loss.feasible(y, 0.5 * np.sign(y))
    expected = case.loss.conjugate(repeated, c.repeat(n))
    assert_allclose(loss.conjugate(y, n * c), expected, rtol=1e-12)
    assert_allclose(loss.feasible(y, 1e6 * n * c), n * case.loss.feasible(y, 1e6 * c), rtol=1e-12)
    model, plain = loss.quadratic_model(y, f, 0.3), case.loss.quadratic_model(y, f, 0.3)
    for name in ("value", "slope", "curvature"):
        assert_allclose(getattr(model, name), n * getattr(plain, name), rtol=1e-12)
    curvature = case.loss.conjugate_curvature(y, f, 0.3)
    assert_allclose(loss.conjugate_curvature(y, f, 0.3), curvature / n, rtol=1e-12)


@every_loss
@pytest.mark.parametrize("intercept", [True, False])
def test_machines_are_those_of_repeated_samples(case: Case, intercept: bool) -> None:
    n = counts(len(case.y))
    K = gaussian(X, 1.0) + 0.1 * X @ X.T
    again = np.repeat(np.repeat(K, n, axis=0), n, axis=1)
    options = {"intercept": intercept, "accuracy": 1e-12}
    found = weighted(case.loss, len(n)).fit(K, case.y, **options)
    plain = case.loss.fit(again, case.y.repeat(n), **options)
    expected = np.add.reduceat(plain.c, np.cumsum(n) - n)
    size = np.abs(K @ expected).max()
    assert_allclose(K @ found.c, K @ expected, rtol=0.0, atol=1e-6 * size)
    assert found.intercept == pytest.approx(plain.intercept, abs=1e-5 * size)
    primal, dual = weighted(case.loss, len(n)).objective(K, case.y, found)
    assert primal == pytest.approx(case.loss.objective(again, case.y.repeat(n), plain)[0], rel=1e-9)
    assert dual == pytest.approx(primal, rel=1e-6)


@every_loss
def test_boxes_hold_weights(case: Case) -> None:
    boxes = weighted(case.loss, len(case.y)).boxes(case.y[:, None], intercept=True)
    if boxes is None:
        return
    assert_array_equal(boxes.upper[:, 0], boxes.C * counts(len(case.y)))


@every_loss
@pytest.mark.parametrize("n_features", [3, 80])
def test_the_interior_point_method_takes_weights(case: Case, n_features: int) -> None:
    n = counts(len(case.y))
    boxes = weighted(case.loss, len(n)).boxes(case.y[:, None], intercept=True)
    if boxes is None:
        return
    Z = np.random.default_rng(1).normal(size=(len(n), n_features))
    kernels, again = list(Linear(per_feature=True).expand(Z)), Z.repeat(n, axis=0)
    grams = base_grams(Samples(Z, weights=n.astype(float)), kernels, centered=True)
    weights, dual, intercepts = interior_point_weights(boxes, grams, 1e-6)
    plain = case.loss.boxes(case.y.repeat(n)[:, None], intercept=True)
    assert plain is not None
    grams = base_grams(Samples(again), kernels, centered=True)
    expected, repeated, shift = interior_point_weights(plain, grams, 1e-6)
    assert_allclose(weights, expected, rtol=1e-6, atol=1e-8)
    scale = case.loss.C
    sums = np.add.reduceat(repeated, np.cumsum(n) - n)
    assert_allclose(dual, sums, rtol=1e-6, atol=1e-6 * scale)
    assert_allclose(intercepts, shift, rtol=1e-5, atol=1e-6)
