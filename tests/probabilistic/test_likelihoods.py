"""Likelihoods and models of the log-determinant: bounds by brute force, derivatives, integrals."""

from typing import Any

import numpy as np
import pytest
from campaign import rotating
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from probabilistic_reference import NaiveGaussian, NaiveLaplace, NaiveLikelihood, NaiveLogistic
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_ndtr

from mercer.losses import EpsilonInsensitive, Hinge
from mercer.probabilistic import Deviance, GaussianLikelihood, LaplaceLikelihood, LogisticLikelihood
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
def test_values_and_slopes(name: str) -> None:
    likelihood, naive = PAIRS[name]
    rng = np.random.default_rng(0)
    y = np.where(rng.random(50) < 0.5, -1.0, 1.0)
    u = 5.0 * rng.normal(size=50)
    losses, slopes = naive.losses(y, u)
    assert_allclose(likelihood.value(y, u), losses.sum(), rtol=1e-13)
    model = likelihood.quadratic_model(y, u, 0.0)
    if "laplace" not in name:
        assert_allclose(model.value, losses, rtol=1e-12)
        assert_allclose(model.slope, slopes, rtol=1e-12)
        step = 1e-5
        ahead, behind = naive.losses(y, u + step)[1], naive.losses(y, u - step)[1]
        assert_allclose(model.curvature, (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-9)


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


@pytest.mark.parametrize("gamma", [4.0, 1e2, 1e8, 1e60])
@pytest.mark.parametrize("u", [-700.0, -1e-300, 0.0, 1e-12, 700.0, 1e5])
def test_limits_of_the_logistic_likelihood(gamma: float, u: float) -> None:
    likelihood = LogisticLikelihood()
    for y in (-1.0, 1.0):
        loss = 2.0 * np.logaddexp(0.0, -y * u)
        assert_allclose(likelihood.value(one(y), one(u)), loss, rtol=1e-15)
        bound = likelihood.bound(one(y), one(u), one(gamma))
        assert np.isfinite(bound).all()
        assert bound >= loss - 1e-12 * (1.0 + loss)
        model = likelihood.quadratic_model(one(y), one(u), 0.0)
        assert np.isfinite([model.value, model.slope, model.curvature]).all()
        assert model.curvature >= 0.0


# --- dual objectives ---------------------------------------------------------------------------


LOSSES: dict[str, Any] = {name: likelihood for name, (likelihood, _) in PAIRS.items()}
LOSSES["hinge"] = Deviance(Hinge(2.0))
LOSSES["tube"] = Deviance(EpsilonInsensitive(2.0, 0.3))


@pytest.mark.parametrize("name", LOSSES)
@given(y=values, u=values, alpha=values)
def test_fenchel_young(name: str, y: float, u: float, alpha: float) -> None:
    """-l*(-2 alpha) <= l(u) + 2 alpha u, whatever alpha and u."""
    loss = LOSSES[name]
    target = label("logistic" if name == "hinge" else name, y)
    a = loss.loss.feasible(target, one(alpha))
    bound = loss.dual(target, one(alpha))
    assert bound == loss.dual(target, a)
    value = loss.value(target, one(u)) + 2.0 * float(a[0]) * u
    assert bound <= value + 1e-11 * (1.0 + abs(value) + abs(bound))


@pytest.mark.parametrize("name", ["gaussian", "logistic"])
@given(y=values, u=st.floats(-30.0, 30.0))
def test_duals_are_tight_at_the_slope(name: str, y: float, u: float) -> None:
    likelihood, naive = PAIRS[name]
    target = label(name, y)
    alpha = -0.5 * naive.losses(target, one(u))[1]
    value = likelihood.value(target, one(u)) + 2.0 * float(alpha[0]) * u
    assert_allclose(likelihood.dual(target, alpha), value, rtol=1e-9, atol=1e-9)


# --- learned noise and probabilities -----------------------------------------------------------


@pytest.mark.parametrize("m", [1.0, 4.0])
def test_the_learned_rate_is_the_best(m: float) -> None:
    rng = np.random.default_rng(3)
    Y, U = rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    determinants = [DeterminantModel(rng.uniform(0.1, 5.0, 40), m) for _ in range(2)]

    def cost(log_rate: float) -> float:
        likelihood = LaplaceLikelihood(float(np.exp(log_rate)))
        return sum(
            float(likelihood.best_bound(Y[:, c], U[:, c], determinants[c])[0].value.sum())
            for c in (0, 1)
        )

    best = minimize_scalar(cost, bounds=(-3.0, 6.0), method="bounded", options={"xatol": 1e-9})
    for start in (1e-3, 1.0, 300.0):
        found = LaplaceLikelihood(start).fit_noise(Y, U, determinants)
        assert_allclose(np.log(found.rate), best.x, atol=1e-5)
        assert cost(np.log(found.rate)) <= best.fun + 1e-10


@pytest.mark.parametrize(
    ("mean", "variance"),
    rotating(
        [-700.0, -30.0, -3.0, -0.1, 0.0, 1.0, 12.0, 500.0, 0.5, 2.0, -5.0],
        [0.0, 1e-12, 0.1, 0.999, 1.0, 1.001, 4.0, 40.0, 1e4, 1e8],
    ),
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


free_width = pytest.mark.parametrize("name", ["laplace", "laplace-flat", "logistic"])


DETERMINANTS = [
    DeterminantModel(one(c), m)
    for c in (1e-6, 0.1, 1.0, 7.0, 1e3, 1e8)
    for m in (1.0, 1.7, 10.0, 1e4)
]


LATENTS = [-700.0, -40.0, -4.0, -1.0, -1e-3, 0.0, 1e-9, 0.1, 0.5, 2.0, 10.0, 300.0]


every_determinant = pytest.mark.parametrize(
    ("determinant", "name"), rotating(DETERMINANTS, list(PAIRS))
)


@every_determinant
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


@every_determinant
def test_slopes_and_curvatures_of_the_best_bound(name: str, determinant: DeterminantModel) -> None:
    likelihood, _ = PAIRS[name]
    u = np.array([-40.0, -3.3, -1.0, 0.3, 1.7, 9.0])
    y, step = np.ones_like(u), 1e-4
    determinant = DeterminantModel(np.full_like(u, determinant.c[0]), determinant.damping)

    def at(shift: float) -> Any:
        return likelihood.best_bound(y, u + shift, determinant)

    (here, gamma), (ahead, wider), (behind, narrower) = at(0.0), at(step), at(-step)
    slope = (ahead.value - behind.value) / (2 * step)
    assert_allclose(here.slope, slope, rtol=1e-5, atol=1e-6)
    assert (here.curvature >= 0.0).all()
    curvature = (ahead.slope - behind.slope) / (2 * step)
    # The curvature jumps at the width 4, and is limited from below where the model is not convex.
    smooth = (wider - 4.0) * (narrower - 4.0) > 0.0
    smooth &= 1.0 - determinant.damping * (gamma / (gamma + determinant.c)) ** 2 > 2e-3
    assert_allclose(here.curvature[smooth], curvature[smooth], rtol=1e-5, atol=1e-7)


@free_width
@pytest.mark.parametrize("m", [1.0, 3.0, 1e6])
def test_the_best_bound_is_finite_everywhere(name: str, m: float) -> None:
    likelihood, _ = PAIRS[name]
    u, c = (
        a.ravel() for a in np.meshgrid([-1e6, -700.0, 0.0, 700.0, 1e6], [1e-100, 1e-20, 1e20, 1e60])
    )
    model, gamma = likelihood.best_bound(np.ones_like(u), u, DeterminantModel(c, m))
    for found in (model.value, model.slope, model.curvature, gamma):
        assert np.isfinite(found).all()
    assert (gamma > 0.0).all()
    assert (model.curvature >= 0.0).all()


@pytest.mark.parametrize("m", [1.0, 2.0, 1e6])
def test_determinant_models_have_the_slope_of_the_log_determinant(m: float) -> None:
    """m = 1 is exact for each width by itself; the larger m, the nearer to the tangent."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    K, gamma = A @ A.T, rng.uniform(0.5, 3.0, 6)
    C = K + np.diag(gamma)
    slopes = np.diag(np.linalg.inv(C))
    determinant = DeterminantModel.fit(gamma, slopes, m)
    for i, factor in ((0, 0.1), (3, 1.5), (5, 20.0)):
        moved = gamma.copy()
        moved[i] *= factor
        change = np.linalg.slogdet(C + np.diag(moved - gamma))[1] - np.linalg.slogdet(C)[1]
        found = float((determinant.value(moved) - determinant.value(gamma)).sum())
        tangent = float(slopes @ (moved - gamma))
        if m == 1.0:
            assert_allclose(found, change, rtol=1e-10)
        else:
            assert change - 1e-12 <= found <= tangent + 1e-12
        if m == 1e6:
            assert_allclose(found, tangent, rtol=1e-4)
    diagonal = DeterminantModel.of_variance(np.diag(K))
    assert_allclose(diagonal.value(gamma), np.log1p(gamma / np.diag(K)), rtol=1e-12)
