"""Likelihoods and models of the log-determinant: bounds by brute force, derivatives, integrals."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from probabilistic_reference import NaiveGaussian, NaiveLaplace, NaiveLikelihood, NaiveLogistic
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_ndtr

from mercer.probabilistic import GaussianLikelihood, LaplaceLikelihood, LogisticLikelihood
from mercer.probabilistic._bound_widths import DeterminantModel

PAIRS: dict[str, tuple[Any, NaiveLikelihood]] = {
    "gaussian": (GaussianLikelihood(0.3), NaiveGaussian(0.3)),
    "laplace": (LaplaceLikelihood(4.0), NaiveLaplace(4.0)),
    "laplace-flat": (LaplaceLikelihood(1e-3), NaiveLaplace(1e-3)),
    "logistic": (LogisticLikelihood(), NaiveLogistic()),
}
every_likelihood = pytest.mark.parametrize("name", PAIRS)
values = st.floats(-60.0, 60.0)
log_widths = st.floats(np.log(1e-6), np.log(1e6))


def one(value: float) -> np.ndarray:
    return np.array([float(value)])


def label(name: str, y: float) -> np.ndarray:
    """A response, or its sign where labels are meant."""
    return one(1.0 if y >= 0.0 else -1.0) if name == "logistic" else one(y)


# --- losses and bounds -------------------------------------------------------------------------


@every_likelihood
@given(y=values, u=values, log_gamma=log_widths)
def test_bounds_are_above_the_loss(name: str, y: float, u: float, log_gamma: float) -> None:
    likelihood, naive = PAIRS[name]
    target = label(name, y)
    loss = naive.losses(target, one(u))[0]
    bound = likelihood.bound(target, one(u), one(np.exp(log_gamma)))
    assert bound >= loss - 1e-12 * (1.0 + np.abs(loss))


@every_likelihood
@given(y=values, u=values)
def test_bounds_are_tight_at_their_widths(name: str, y: float, u: float) -> None:
    likelihood, naive = PAIRS[name]
    target = label(name, y)
    width = likelihood.tight_width(target, one(u))
    bound = likelihood.bound(target, one(u), width)
    # At the kink of a Laplace likelihood, the width that would be tight is zero.
    kink = 4e-8 * getattr(likelihood, "rate", 0.0)
    assert_allclose(bound, naive.losses(target, one(u))[0], rtol=1e-10, atol=max(1e-10, kink))


def test_the_height_of_the_logistic_bound() -> None:
    """h(gamma) = max_x {-x / gamma - 2 g(x)}, with g(r^2) = ln p - b r, by brute force."""
    likelihood = LogisticLikelihood()
    for gamma in (1e-3, 1.0, 3.9, 4.0, 4.0 + 1e-9, 4.001, 5.0, 30.0, 1e3):
        r = np.linspace(0.0, gamma, 400001)
        height = np.max(2.0 * np.logaddexp(0.5 * r, -0.5 * r) - r**2 / gamma)
        assert_allclose(likelihood.bound(one(1), one(0), one(gamma)), height, rtol=1e-9)


# --- dual objectives ---------------------------------------------------------------------------


# --- learned noise and probabilities -----------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "variance"),
    [
        *[(-700.0, 0.0), (-30.0, 1e-12), (-3.0, 0.1), (-0.1, 0.999), (0.0, 1.0)],
        *[(1.0, 1.001), (12.0, 4.0), (500.0, 40.0), (0.5, 1e4), (2.0, 1e8)],
    ],
)
def test_class_probabilities(mean: float, variance: float) -> None:
    """Against adaptive quadrature, over the narrower of Gaussian and logistic density."""
    found = LogisticLikelihood().probability(one(mean), one(variance))[0]
    deviation = np.sqrt(variance)

    def over_normal(z: float) -> float:
        return float(expit(mean + deviation * z) * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi))

    def over_logistic(x: float) -> float:
        return float(np.exp(log_ndtr((mean + x) / deviation)) * expit(x) * expit(-x))

    precisely: dict[str, Any] = {"epsabs": 1e-15, "epsrel": 1e-13, "limit": 500}
    if deviation <= 1.0:
        expected = quad(over_normal, -12.0, 12.0, **precisely)[0]
    else:
        split = [0.0, float(np.clip(-mean, -44.0, 44.0))]
        expected = quad(over_logistic, -45.0, 45.0, points=split, **precisely)[0]
    assert_allclose(found, expected, rtol=0.0, atol=2e-12)
    opposite = LogisticLikelihood().probability(one(-mean), one(variance))[0]
    assert_allclose(found + opposite, 1.0, rtol=1e-13)


LATENTS = [-700.0, -40.0, -4.0, -1.0, -1e-3, 0.0, 1e-9, 0.1, 0.5, 2.0, 10.0, 300.0]
DETERMINANTS = [
    DeterminantModel(one(c), m) for c, m in ((1e-6, 10.0), (0.1, 1.0), (7.0, 1.7), (1e8, 1e4))
]


@every_likelihood
@pytest.mark.parametrize("determinant", DETERMINANTS)
def test_the_best_bound_is_the_least(name: str, determinant: DeterminantModel) -> None:
    """Bound - ln gamma + m ln(1 + gamma / c) over all widths, by bounded search."""
    likelihood, _ = PAIRS[name]
    y = one(1.0)
    for u in LATENTS:
        model, gamma = likelihood.best_bound(y, one(u), determinant)

        def cost(t: float, u: float = u) -> float:
            width = np.exp(t)
            bound = float(likelihood.bound(y, one(u), one(width))[0])
            return bound - t + determinant.damping * float(np.log1p(width / determinant.c[0]))

        if name == "gaussian":
            assert_allclose(model.value, cost(np.log(0.3)), rtol=1e-12)
            assert gamma == 0.3
            continue
        grid = np.linspace(-25.0, 30.0, 111)
        rough = min(grid, key=cost)
        fine = minimize_scalar(
            cost, bounds=(rough - 0.6, rough + 0.6), method="bounded", options={"xatol": 1e-11}
        )
        assert_allclose(model.value, fine.fun, rtol=1e-10, atol=1e-10)
        assert_allclose(model.value, cost(np.log(gamma[0])), rtol=1e-12, atol=1e-12)
        # A search by values is as precise as the square root of their rounding errors.
        assert_allclose(gamma, np.exp(fine.x), rtol=1e-3)
