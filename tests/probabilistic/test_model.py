"""Learned models: objective and noise, invariances, extreme data, and the collapse of joint MAP."""

from collections.abc import Callable

import numpy as np
import pytest
from bayesian_cases import (
    CLASSIFIERS,
    FINE_TOL,
    PROBLEMS,
    SOLVERS,
    data,
    every_solver,
    fitted,
    make,
    may_collapse,
    noise_gradient,
    suitable_problem,
)
from learner_cases import problem
from numpy.testing import assert_allclose
from probabilistic_cases import standardized
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch

from mercer import BayesianMKLClassifier
from mercer.kernels import Gaussian, Polynomial

CHOSEN = [
    *("logistic vb", "logistic laplace", "logistic map", "logistic mkl"),
    *("gaussian marginal", "laplace vb", "laplace map"),
]
LEARNS_NOISE = pytest.mark.parametrize("solver", ["gaussian marginal", "laplace vb"])

# --- objective and noise -----------------------------------------------------------------------


@LEARNS_NOISE
@pytest.mark.parametrize("problem", ["regression", "noise_alone", "no_noise"])
def test_learned_noise_is_stationary(problem: str, solver: str) -> None:
    model = fitted(problem, solver, 1e-7)
    slope = noise_gradient(model, PROBLEMS[problem]())
    assert abs(slope) <= 1e-5 * max(abs(model.objective_), 1.0)


@LEARNS_NOISE
def test_responses_of_noise_alone_are_explained_by_noise(solver: str) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(100, 3)), 5.0 * rng.normal(size=100) + 2.0
    model = make(solver).fit(X, y)
    assert_allclose(model.noise_variance_, y.var(), rtol=0.3)
    assert model.predict(X).std() < 0.5 * y.std()
    # The likelihood of white noise alone is a lower limit.
    r = np.abs(y - y.mean()) / y.std()
    none = -50.0 * (np.log(2.0 * np.pi) + 1.0)
    if "laplace" in solver:
        none = -100.0 * (np.log(2.0 * r.mean()) + 1.0)
    none -= 100.0 * np.log(y.std())
    assert model.log_marginal_likelihood_ >= none * (1.0 + 1e-4)


def test_mkl_refuses_kernels_whose_penalty_is_no_number() -> None:
    X, y = problem("binary", 40)
    stack = np.stack([1e-160 * Gaussian(1.0)(X), Gaussian(3.0)(X)], axis=-1)
    with pytest.raises(ValueError, match=r"weights\^2 is not a finite number"):
        BayesianMKLClassifier("precomputed", objective="mkl", norm=2.0).fit(stack, y)


# --- invariances -------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", CHOSEN)
def test_neither_order_nor_scale_of_kernels_matters(solver: str) -> None:
    case = PROBLEMS[suitable_problem(solver)]()
    stack = np.moveaxis(case.grams, 0, -1)
    model = clone(SOLVERS[solver]).set_params(kernels="precomputed", tol=FINE_TOL, max_iter=400)
    here = clone(model).fit(stack, case.y)
    order = np.array([2, 0, 3, 1])
    # "mkl" penalizes the weights of the kernels as they are given.
    factors = np.ones(4) if "mkl" in solver else np.array([1e-8, 1.0, 1e8, 1e3])
    changed = stack[..., order] * factors
    there = clone(model).fit(changed, case.y)
    assert_allclose(there.objective_, here.objective_, rtol=1e-7)
    assert_allclose(there.weights_ * factors, here.weights_[order], rtol=1e-2, atol=1e-4)
    assert_allclose(there.predict(changed), here.predict(stack), atol=1e-3)


@pytest.mark.parametrize(
    ("solver", "unit"),
    [
        *(("gaussian marginal", (1e-8, 0.0)), ("gaussian mkl 2", (1e8, 0.0))),
        *(("laplace vb", (-1.0, 0.0)), ("gaussian map", (1.0, 1e6))),
    ],
)
def test_the_unit_of_responses_does_not_matter(solver: str, unit: tuple[float, float]) -> None:
    factor, offset = unit
    case, here = PROBLEMS["regression"](), fitted("regression", solver)
    model = clone(SOLVERS[solver]).set_params(kernels=case.kernels, max_iter=400)
    if model.noise is not None:
        model.set_params(noise=model.noise * factor**2)
    there = model.fit(case.X, factor * case.y + offset)
    assert_allclose(there.objective_, here.objective_, rtol=1e-4, atol=1e-3)
    predicted = (there.predict(case.X) - offset) / factor
    assert_allclose(predicted, here.predict(case.X), rtol=1e-3, atol=1e-3 * here.y_scale_[0])
    assert_allclose(there.noise_variance_, factor**2 * here.noise_variance_, rtol=2e-2)


# --- extreme data ------------------------------------------------------------------------------


@every_solver
@may_collapse
def test_two_samples_suffice(solver: str) -> None:
    model = make(solver).fit([[0.0, 1.0], [2.0, 1.0]], [0, 1])
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.predict([[0.0, 1.0], [1.0, 1.0], [50.0, -3.0]])).all()
    if solver in CLASSIFIERS:
        assert_allclose(model.predict_proba([[1.0, 1.0]]).sum(), 1.0, rtol=1e-14)


@pytest.mark.parametrize("solver", CHOSEN)
@pytest.mark.parametrize("value", [0.0, 3.0])
@may_collapse
def test_stacks_of_constant_matrices_give_constant_predictions(solver: str, value: float) -> None:
    _, y = data(solver)
    n = len(y)
    model = make(solver, kernels="precomputed").fit(np.full((n, n, 2), value), y)
    assert np.isfinite([model.objective_, *model.weights_, *model.shares_]).all()
    assert len(np.unique(model.predict(np.full((2, n, 2), value)))) == 1


# --- the limit of iterations, and collapse -----------------------------------------------------


@pytest.mark.filterwarnings("ignore:The objective is as low without any kernel")
@pytest.mark.parametrize("solver", CHOSEN)
def test_a_warning_reports_the_limit_of_iterations(solver: str) -> None:
    X, y = data(solver)
    kernels = [Gaussian(0.5), Gaussian(2.0), "linear", Polynomial(2)]
    model = make(solver, kernels=kernels, max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="before tol=1e-09 .*raise max_iter") as told:
        model.fit(X, y)
    message = str(next(w.message for w in told if "tol=" in str(w.message)))
    if model.objective == "mkl":
        assert f"relative duality gap of {model.dual_gap_:.2g}" in message
    assert f"Stopped after {model.n_iter_} step" in message
    assert all(w.filename == __file__ for w in told)
    assert np.isfinite(model.predict(X)).all()


def test_joint_map_collapses_for_small_jitter_only(data: Callable[[str], Bunch]) -> None:
    X, y, _ = standardized(data("ionosphere"), 150)
    model = BayesianMKLClassifier(objective="map").fit(X, y)
    assert model.weights_.sum() > 0.0
    assert model.score(X, y) > 0.8
    with pytest.warns(UserWarning, match=r"joint MAP has collapsed. Raise jitter") as told:
        clone(model).set_params(jitter=1e-3).fit(X, y)
    assert told[0].filename == __file__
