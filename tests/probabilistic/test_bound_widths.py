"""Models of the log-determinant, and the best bounds that they lead to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from probabilistic_reference import NaiveGaussian, NaiveLaplace, NaiveLikelihood, NaiveLogistic
from scipy.optimize import minimize_scalar

from mercer.probabilistic import GaussianLikelihood, LaplaceLikelihood, LogisticLikelihood
from mercer.probabilistic._bound_widths import DeterminantModel

PAIRS: dict[str, tuple[Any, NaiveLikelihood]] = {
    "gaussian": (GaussianLikelihood(0.3), NaiveGaussian(0.3)),
    "laplace": (LaplaceLikelihood(4.0), NaiveLaplace(4.0)),
    "laplace-flat": (LaplaceLikelihood(1e-3), NaiveLaplace(1e-3)),
    "logistic": (LogisticLikelihood(), NaiveLogistic()),
}
every_likelihood = pytest.mark.parametrize("name", PAIRS)
free_width = pytest.mark.parametrize("name", ["laplace", "laplace-flat", "logistic"])
values = st.floats(-60.0, 60.0)


def one(value: float) -> np.ndarray:
    return np.array([float(value)])


DETERMINANTS = [
    DeterminantModel(one(c), m)
    for c in (1e-6, 0.1, 1.0, 7.0, 1e3, 1e8)
    for m in (1.0, 1.7, 10.0, 1e4)
]
LATENTS = [-700.0, -40.0, -4.0, -1.0, -1e-3, 0.0, 1e-9, 0.1, 0.5, 2.0, 10.0, 300.0]
every_determinant = pytest.mark.parametrize(
    "determinant", DETERMINANTS, ids=lambda t: f"c={t.c[0]:g}, m={t.damping:g}"
)


@every_likelihood
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


@every_likelihood
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
