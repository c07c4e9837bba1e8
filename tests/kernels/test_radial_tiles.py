"""Tiles of ARD kernels: values and gradients against those of the whole kernel."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import WIDTHS
from numpy.testing import assert_allclose

from mercer.kernels import Gaussian, Kernel, Laplacian, Matern
from mercer.kernels._kernel import gram_tiles

KERNELS = {
    "gaussian": Gaussian(WIDTHS, ard=True),
    "matern": Matern(WIDTHS, ard=True),
    "norm-1": Laplacian(WIDTHS, norm=1.0, ard=True),
}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_tiles_are_those_of_the_gram_matrix(kernel: Kernel) -> None:
    """A tile on the diagonal and one beside it, far from the origin, with equal rows."""
    rng = np.random.default_rng(0)
    X = 5.0 + rng.normal(size=(30, 3))
    X[3], X[25] = X[7], X[7]
    P = rng.normal(size=(30, 30))
    gram = gram_tiles(kernel, X)
    assert gram is not None
    for rows, columns in ((slice(0, 12), slice(0, 12)), (slice(2, 12), slice(12, 30))):
        tile = gram.tile(rows, columns)
        assert_allclose(tile.values + 1.0, kernel(X)[rows, columns], rtol=0, atol=1e-14)
        assert np.all(tile.values[X[rows][:, :1] == X[columns][:, 0]] == 0.0)
        expected = kernel.vjp(X[rows], P[rows, columns], X[columns])[1]
        assert_allclose(gram.gradient(tile, P[rows, columns]), expected, rtol=1e-11)


def test_kernels_of_one_width_have_no_such_tiles() -> None:
    assert gram_tiles(Gaussian(2.0), np.ones((3, 2))) is None
