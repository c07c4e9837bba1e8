"""Criteria maximized over one kernel's parameters: dense searches, penalties, histories."""

import numpy as np
import pytest
from ard_cases import FORMS, ard_learner, every_criterion, every_form, table, widths
from criterion_cases import table as normal_table
from criterion_cases import target_of
from numpy.testing import assert_allclose, assert_array_equal
from reference import REFERENCES, central_difference, gaussian, target_kernel, width_cost
from scipy.optimize import minimize

from mercer import KernelOptimization
from mercer._gram.samples import Samples
from mercer._search.kernel_objectives import CRITERIA, Dependence
from mercer._search.kernel_search import _falling_penalties, optimize_kernel
from mercer._search.parameter_search import STRENGTHS, WidthPenalty
from mercer.kernels import Gaussian


@every_criterion
def test_an_ard_kernel_is_no_worse_than_the_isotropic_one_it_starts_from(criterion: str) -> None:
    X = normal_table(40)
    target, L = target_of("two classes", 40)
    isotropic = optimize_kernel(Dependence(CRITERIA[criterion], Samples(X), target), Gaussian())
    family = Gaussian(ard=True).bind(X)
    found = optimize_kernel(Dependence(CRITERIA[criterion], Samples(X), target), family)
    assert found.value >= isotropic.value
    assert found.path[: len(isotropic.path)] == isotropic.path
    rest = found.path[len(isotropic.path) :]
    assert np.all(np.diff(rest) >= -1e-12 * np.abs(rest[:-1]))
    assert_allclose(found.value, REFERENCES[criterion](found.kernel(X), L), rtol=1e-9)
    bounds = family.log_bounds(X)
    assert (found.kernel.theta >= bounds[:, 0] - 1e-12).all()
    assert (found.kernel.theta <= bounds[:, 1] + 1e-12).all()


@every_criterion
def test_the_optimum_is_stationary(criterion: str) -> None:
    """Gradient zero, or pointing out of the bounds, by central differences of the reference."""
    X = normal_table(40)
    target, L = target_of("four classes", 40)
    family = Gaussian(ard=True).bind(X)
    found = optimize_kernel(Dependence(CRITERIA[criterion], Samples(X), target), family, tol=1e-12)

    def value(theta: np.ndarray) -> float:
        return REFERENCES[criterion](family.with_theta(theta)(X), L)

    gradient = central_difference(value, found.kernel.theta, 1e-5)
    low, high = family.log_bounds(X).T
    gradient[(found.kernel.theta <= low + 1e-9) & (gradient < 0)] = 0.0
    gradient[(found.kernel.theta >= high - 1e-9) & (gradient > 0)] = 0.0
    assert np.abs(gradient).max() < 1e-3 * found.value


@pytest.mark.parametrize(("criterion", "form"), list(zip(REFERENCES, FORMS, strict=True)))
def test_the_optimum_of_a_dense_objective(criterion: str, form: str) -> None:
    """SciPy follows the same penalties from the isotropic kernel, by finite differences."""
    X, y = table(1, n=25)
    L = target_kernel(y)
    strength = 1e-3 if form == "widths" else 0.3
    isotropic = ard_learner(criterion, width_penalty=np.inf, tol=1e-13).fit(X, y)
    s0, J0 = float(widths(isotropic)[0]), isotropic.objective_

    def cost(theta: np.ndarray, lam: float) -> float:
        unit = 1.0 if form == "widths" else J0
        return lam * unit * width_cost(np.exp(theta), form, s0)

    def negative(theta: np.ndarray, lam: float) -> float:
        return (cost(theta, lam) - REFERENCES[criterion](gaussian(X, np.exp(theta)), L)) / J0

    theta = np.full(3, np.log(s0))
    path = [strength] if form == "widths" else [*(s for s in STRENGTHS if s > strength), strength]
    for lam in path:
        options = {"ftol": 1e-13, "gtol": 1e-9}
        theta = minimize(negative, theta, (lam,), method="L-BFGS-B", options=options).x
    found = ard_learner(criterion, width_penalty=strength, width_penalty_on=form, tol=1e-13).fit(
        X, y
    )
    assert_allclose(found.kernel_.theta, theta, atol=2e-3)
    K = gaussian(X, widths(found))
    assert_allclose(found.objective_, REFERENCES[criterion](K, L), rtol=1e-9)
    reached = found.objective_ - cost(found.kernel_.theta, strength)
    assert_allclose(reached, -J0 * negative(theta, strength), rtol=1e-8)
    assert_allclose(found.history_[-1].objective, reached, rtol=1e-8)


@pytest.mark.parametrize(
    ("criterion", "form", "strength"),
    list(zip(REFERENCES, FORMS[::-1], [0.0, 1e-4, 2.0], strict=True)),
)
def test_history_never_falls(criterion: str, form: str, strength: float) -> None:
    X, y = table(2)
    fit = ard_learner(criterion, width_penalty=strength, width_penalty_on=form).fit(X, y)
    steps = np.array([step.objective for step in fit.history_])
    assert np.all(np.diff(steps) >= -1e-12 * steps[-1])
    cost = fit.objective_ - steps[-1]
    assert cost >= -1e-12 * steps[-1]
    assert (cost > 1e-9) == (strength > 0.0 and np.ptp(fit.kernel_.theta) > 1e-3)


@every_form
def test_an_infinite_penalty_gives_the_isotropic_kernel(form: str) -> None:
    X, y = table(3)
    isotropic = KernelOptimization(criterion="cka").fit(X, y)
    ard = ard_learner("cka", width_penalty=np.inf, width_penalty_on=form).fit(X, y)
    assert_array_equal(ard.kernel_.theta, np.full(3, isotropic.kernel_.theta[0]))
    assert_allclose(ard.kernel_(X), isotropic.kernel_(X), rtol=1e-12)
    assert ard.objective_ == isotropic.objective_
    assert ard.n_iter_ == isotropic.n_iter_
    assert (ard.width_penalty_, ard.width_penalty_on_) == (np.inf, form)


def test_only_relative_penalties_fall_from_stronger_ones() -> None:
    absolute, none = WidthPenalty(0.01, "widths"), WidthPenalty(0.0, "log_widths")
    assert _falling_penalties(absolute) == [absolute]
    assert _falling_penalties(none) == [none]
    falling = [penalty.strength for penalty in _falling_penalties(WidthPenalty(0.01, "log_widths"))]
    assert falling == [*(strength for strength in STRENGTHS if strength > 0.01), 0.01]
