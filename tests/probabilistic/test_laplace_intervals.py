"""Quantiles of the sum of a Gaussian and a Laplace variable."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import laplace, norm

from mercer.probabilistic._bayesian_regressor import laplace_half_widths


@pytest.mark.parametrize("deviation", [0.01, 0.3, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("coverage", [0.1, 0.9, 0.999])
def test_half_widths_hold_the_sum_with_the_coverage(deviation: float, coverage: float) -> None:
    """The distribution is integrated over the Gaussian variable."""
    scale = 1.5
    width = laplace_half_widths(np.array([[deviation**2]]), 2.0 * scale**2, coverage).item()

    def held(latent: float) -> float:
        inside = laplace.cdf(width - latent, scale=scale) - laplace.cdf(
            -width - latent, scale=scale
        )
        return float(inside * norm.pdf(latent, scale=deviation))

    limits = 12.0 * deviation
    found = quad(held, -limits, limits, points=[-width, width] if width < limits else None)[0]
    assert_allclose(found, coverage, rtol=1e-5)


def test_without_a_latent_variance_quantiles_are_those_of_laplace() -> None:
    found = laplace_half_widths(np.zeros((1, 2)), np.array([2.0, 8.0]), 0.95)
    assert_allclose(found, [[np.log(20.0), 2.0 * np.log(20.0)]], rtol=1e-6)


def test_without_much_noise_quantiles_are_normal() -> None:
    found = laplace_half_widths(np.array([[4.0]]), 1e-12, 0.95)
    assert_allclose(found, 2.0 * norm.ppf(0.975), rtol=1e-6)
