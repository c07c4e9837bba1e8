"""Left-out errors of kernels, and of kernels in the order of their widths."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from mercer._data.sample import encode_target
from mercer._gram.dense import to_unit_scale
from mercer._gram.samples import Samples
from mercer._model_selection.held_out import best_in_order, best_width, kernel_error
from mercer._solvers.left_out import PenaltyLosses, leave_one_out
from mercer.kernels import Gaussian, Linear


def table(n: int = 18, d: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def test_errors_are_those_of_the_gram_matrix() -> None:
    X = table(300)
    y = np.sin(X[:, 0])
    target = encode_target(y, classification=False)
    every = kernel_error(Gaussian(2.0), Samples(X), target)
    gram, _ = to_unit_scale(Gaussian(2.0)(X))
    expected = leave_one_out(gram, target.values)
    # Rounding errors of the Gram matrix count as often as its largest eigenvalue exceeds alpha.
    rounding = np.finfo(float).eps * np.trace(gram) / expected.alphas
    assert np.all(np.abs(every.losses / expected.losses - 1.0) <= 1e-12 + 10.0 * rounding)


def test_a_linear_kernel_has_the_error_of_ridge_regression() -> None:
    X = table(40)
    y = X @ [1.0, -1.0, 0.5] + 0.1 * np.random.default_rng(1).normal(size=40)
    target = encode_target(y, classification=False)
    found = kernel_error(Linear(), Samples(X), target, alphas=np.array([0.3]))
    unit = to_unit_scale(X @ X.T)[1].scale
    wrong = 0.0
    for i in range(40):
        rest = np.arange(40) != i
        ridge = Ridge(alpha=0.3 * unit).fit(X[rest], y[rest])
        wrong += float((ridge.predict(X[i : i + 1])[0] - y[i]) ** 2)
    assert_allclose(found.loss * ((y - y.mean()) ** 2).sum() * (40 / 39) ** 2, wrong, rtol=1e-8)


@pytest.mark.parametrize("start", [0, 3, 6])
def test_steps_downhill_end_at_the_best_of_kernels_in_order(start: int) -> None:
    X = table()
    y = np.sin(X[:, :1])
    kernels = [Gaussian(width) for width in 2.0 ** np.arange(-3.0, 4.0)]
    losses = [leave_one_out(to_unit_scale(k(X))[0], y, extend=False).loss for k in kernels]
    best, found = best_in_order(kernels, X, y, start)
    assert best == int(np.argmin(losses))
    assert_allclose(found.loss, min(losses))


@pytest.mark.parametrize("lowest", [-0.4, 0.0, 0.3, 2.2])
def test_widths_are_refined_between_positions(lowest: float) -> None:
    def evaluate(at: float) -> PenaltyLosses:
        return PenaltyLosses(np.array([at + 10.0]), np.array([0.1 + (at - lowest) ** 2]))

    best, found = best_width(evaluate, 0, (-4, 5), refine=True)
    assert_allclose(best, lowest, atol=1e-12)
    assert_allclose([found.loss, found.alpha], [0.1, best + 10.0])
    assert best_width(evaluate, 0, (-4, 5))[0] == round(lowest)
