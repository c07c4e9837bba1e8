"""The scorer by a series agrees with the one that evaluates kernels."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import median_gaussian
from selection_cases import standardized

from mercer._data.weights import UnitWeights
from mercer._feature_selection.elimination import gaussian_scorer, radial_scorer
from mercer._targets import Target
from mercer.kernels import Gaussian


@pytest.mark.parametrize(("n", "p"), [(40, 3), (120, 12), (400, 40), (30, 600)])
def test_the_series_has_all_digits(n: int, p: int) -> None:
    rng = np.random.default_rng(n)
    X = standardized(rng.standard_t(4, size=(n, p)))
    Y = rng.normal(size=(n, 2))
    Y -= Y.mean(axis=0)
    target = Target(Y, np.ones(2), None, None, UnitWeights(len(Y)))
    left = np.flatnonzero(rng.uniform(size=p) < 0.8)
    value, without = gaussian_scorer(X, target)(left)
    expected, each = radial_scorer(X, target, Gaussian())(left)
    size = float(np.abs(median_gaussian(X[:, left]) * (Y @ Y.T)).sum()) / (n - 1) ** 2
    assert_allclose(value, expected, rtol=0.0, atol=1e-13 * size)
    assert_allclose(without, each, rtol=0.0, atol=1e-13 * size)
