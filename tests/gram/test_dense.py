"""Centering, alignment and parts of a trace of Gram matrices in memory."""

import numpy as np
import pytest
from gram_cases import table, targets
from numpy.testing import assert_allclose
from reference import center, centered_alignment, gaussian

from mercer._gram.dense import gram_alignment, unit_gram, unit_rows
from mercer.kernels import Gaussian, Kernel, Linear, WeightedSum, as_kernel


def test_alignment_is_that_of_the_centered_matrices() -> None:
    X, Y = table(30), targets(30)
    for width in (0.5, 1.0, 2.0):
        K = gaussian(X, width)
        assert_allclose(gram_alignment(K, Y), centered_alignment(K, Y @ Y.T), rtol=1e-11)
    assert gram_alignment(np.full((30, 30), 0.1), Y) == 0.0


KERNELS = [Gaussian(2.0), Linear(), WeightedSum([Gaussian(1.0), Linear()], [3.0, 0.1])]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize("n", [3, 700])
def test_a_gram_matrix_is_centered_and_has_a_mean_diagonal_of_one(kernel: Kernel, n: int) -> None:
    X = table(n)
    K = center(kernel(X))
    gram, unit = unit_gram(kernel, X)
    assert_allclose(gram, K * n / np.trace(K), rtol=1e-7, atol=1e-9)
    assert_allclose(unit_rows(kernel, unit, X[:5], X), gram[:5], rtol=1e-7, atol=1e-9)


def test_values_that_are_not_finite_are_refused() -> None:
    def kernel(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        return np.full((len(X), len(Z)), np.inf)

    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="holds NaN or infinities"):
        unit_gram(as_kernel(kernel), np.ones((4, 2)))
