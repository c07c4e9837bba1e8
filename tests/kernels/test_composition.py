"""Sums and products of kernels."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from mercer.kernels import Gaussian, Linear, Matern, Product, WeightedSum


def test_sums_and_products_agree_with_their_formulas() -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    parts = [Gaussian(0.7), Matern(2.0), Linear()]
    grams = [part(X) for part in parts]
    weighted = WeightedSum(parts, [0.2, 0.3, 0.5])(X)
    assert_allclose(weighted, 0.2 * grams[0] + 0.3 * grams[1] + 0.5 * grams[2], atol=1e-12)
    assert_allclose(Product(parts)(X), grams[0] * grams[1] * grams[2], atol=1e-12)
