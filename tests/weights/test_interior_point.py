"""The interior-point method against Newton's: both find the same saddle point."""

import numpy as np
import pytest

from mercer._gram.kernel_products import base_grams
from mercer._gram.samples import Samples
from mercer._search.weights.interior_point import interior_point_weights
from mercer._search.weights.mkl import learn_weights
from mercer._search.weights.weight_sets import Simplex
from mercer.kernels import Gaussian, Linear
from mercer.losses import EpsilonInsensitive, Hinge, Loss, Machine
from mercer.losses._loss import Problems

TOL = 1e-7
KERNELS = {
    "widths": [Gaussian(s) for s in (0.3, 1.0, 1.0, 3.0, 10.0)],
    "features": [Linear(per_feature=True)],
}
LOSSES = {
    "hinge": Hinge(1.0),
    "hinge, small C": Hinge(0.05),
    "hinge, large C": Hinge(100.0),
    "epsilon-insensitive": EpsilonInsensitive(2.0, 0.1),
}


def table(n_features: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(40, n_features))


CASES = [
    ("hinge", (6, 3, False)),
    ("hinge, small C", (60, 1, True)),
    ("hinge, large C", (60, 3, True)),
    ("epsilon-insensitive", (60, 1, False)),
]
"""Losses, and numbers of features and of problems, and whether the machines have an intercept."""


@pytest.mark.parametrize(("loss", "case"), CASES)
@pytest.mark.parametrize("kind", KERNELS)
def test_both_methods_find_the_saddle_point(
    loss: str, kind: str, case: tuple[int, int, bool]
) -> None:
    n_features, n_problems, intercept = case
    X, chosen = table(n_features), LOSSES[loss]
    kernels = [part for kernel in KERNELS[kind] for part in kernel.expand(X)]
    grams = base_grams(Samples(X), kernels, centered=intercept)
    Y = np.sign(X[:, :n_problems] + 0.3) + (0.2 * X[:, -1:] if "epsilon" in loss else 0.0)
    boxes = chosen.boxes(Y, intercept=intercept)
    assert boxes is not None
    weights, dual, _ = interior_point_weights(boxes, grams, TOL)
    assert weights.min() >= 0.0
    assert weights.sum() == pytest.approx(1.0)
    assert np.abs(dual).max() <= chosen.C * (1.0 + 1e-9)
    if intercept:
        assert np.abs(dual.sum(axis=0)).max() <= 1e-6 * chosen.C * len(dual)
    conjugate = sum(chosen.conjugate(y, c) for y, c in zip(Y.T, dual.T, strict=True))
    bound = -conjugate - 0.5 * grams.kernel_products(dual).quadratics.sum(axis=1).max()
    found = learn_weights(Problems(chosen, Y, intercept), grams, Simplex(), tol=1e-6)
    assert found.objective == pytest.approx(bound, rel=5e-6)
    reached = _objective(chosen, grams.weighted_sum(weights), Y, intercept)
    assert reached == pytest.approx(bound, rel=5e-6)


def test_an_unreachable_tolerance_gives_the_best_iterate() -> None:
    X = table(60) * 10.0 ** np.linspace(-2.0, 2.0, 60)
    grams = base_grams(Samples(X), Linear(per_feature=True).expand(X), centered=True)
    loss, y = Hinge(1e3), np.sign(X[:, 0] + 0.003)
    boxes = loss.boxes(y[:, None], intercept=True)
    weights, dual, intercepts = interior_point_weights(boxes, grams, 1e-30)
    bound = -loss.conjugate(y, dual[:, 0]) - 0.5 * grams.kernel_products(dual).quadratics.max()
    machine = Machine(dual[:, 0], float(intercepts[0]))
    reached = loss.objective(grams.weighted_sum(weights), y, machine)[0]
    assert reached == pytest.approx(bound, rel=1e-6)


def _objective(loss: Loss, K: np.ndarray, Y: np.ndarray, intercept: bool) -> float:
    fits = [(y, loss.fit(K, y, intercept=intercept, accuracy=1e-9)) for y in Y.T]
    return sum(loss.objective(K, y, machine)[0] for y, machine in fits)
