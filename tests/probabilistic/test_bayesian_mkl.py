"""Probabilistic estimators: optimality, monotone descent, known machines, invariances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bayesian_cases import (
    CLASSIFIERS,
    PAIRS,
    PROBLEMS,
    REGRESSORS,
    SOLVERS,
    finest,
    fitted,
    noise_gradient,
    noise_of,
    normalized,
    theta_gradient,
)
from numpy.testing import assert_allclose, assert_array_equal
from probabilistic_reference import (
    NaiveGaussian,
    NaiveJointMAP,
    NaiveLaplace,
    NaiveLikelihood,
    NaiveLogistic,
    NaiveVariational,
    gaussian_evidence,
    joint_map,
    mkl,
    variational,
)
from reference import centered_alignment, gaussian, target_kernel
from scipy.optimize import minimize
from sklearn.base import clone

from mercer import BayesianMKLClassifier, BayesianMKLRegressor
from mercer.kernels import Gaussian, Linear, WeightedSum

every_pair = pytest.mark.parametrize(
    ("problem", "solver"), PAIRS, ids=[" by ".join(pair) for pair in PAIRS]
)
may_collapse = pytest.mark.filterwarnings("ignore:The objective is as low without any kernel")
every_solver = pytest.mark.parametrize("solver", SOLVERS)


def home(solver: str) -> str:
    """A problem that suits a solver."""
    return "features" if solver in CLASSIFIERS else "regression"


# --- every estimator on every problem ---------------------------------------------------------


@may_collapse
@every_pair
def test_the_objective_never_increases(problem: str, solver: str) -> None:
    model = fitted(problem, solver, finest(solver))
    history = model.objective_history_
    assert len(history) == model.n_iter_ == len(model.history_)
    assert (np.diff(history) <= 1e-10 * np.abs(history).max()).all()
    assert model.objective_ <= history[-1] + 1e-10 * np.abs(history).max()
    assert np.isfinite(history).all()


@may_collapse
@every_pair
def test_weights_are_stationary(problem: str, solver: str) -> None:
    """theta >= 0, theta_m |d phi / d theta_m| ~ 0, and no slope downwards at zero."""
    model, case = fitted(problem, solver, finest(solver)), PROBLEMS[problem]()
    gradient, theta = theta_gradient(model, case), normalized(model, case)[1]
    size = max(abs(model.objective_), 1.0)
    assert (theta >= 0.0).all()
    assert np.abs(theta * gradient).max() <= 3.0 * model.tol * size
    down = np.maximum(-gradient[theta == 0.0], 0.0).max(initial=0.0)
    if getattr(model, "norm", 1.0) > 1.0 and model.objective == "mkl":
        # Penalties without slope at zero have no zeros: what is left of those weights is worth
        # max_theta {q theta - penalty theta^norm}.
        p, penalty = model.norm, model.penalty
        assert (p - 1.0) * penalty * (down / (penalty * p)) ** (p / (p - 1.0)) <= model.tol * size
    else:
        assert down <= 1e-4 * size


@pytest.mark.parametrize("solver", ["gaussian mlm", "gaussian vb", "laplace vb"])
@pytest.mark.parametrize("problem", [name for name in PROBLEMS if not PROBLEMS[name]().classes])
def test_learned_noise_is_stationary(problem: str, solver: str) -> None:
    model = fitted(problem, solver, 1e-7)
    slope = noise_gradient(model, PROBLEMS[problem]())
    assert abs(slope) <= 1e-5 * max(abs(model.objective_), 1.0)


# --- optima -----------------------------------------------------------------------------------

NAIVE: dict[str, NaiveLikelihood] = {
    "logistic": NaiveLogistic(),
    "gaussian": NaiveGaussian(0.3),
    "laplace": NaiveLaplace(float(np.sqrt(2.0 / 0.3))),
}


def naive_objective(model: Any, case: Any, likelihood: NaiveLikelihood) -> float:
    grams, theta, Y = normalized(model, case)
    K, y = np.tensordot(theta, grams, axes=1), Y[:, 0]
    if model.objective == "map":
        return joint_map(K, y, likelihood, model.jitter)
    if model.objective == "mkl":
        return mkl(K, y, likelihood, theta, penalty=model.penalty, norm=model.norm)
    if isinstance(likelihood, NaiveGaussian):
        return gaussian_evidence(K, y, likelihood.noise)
    return variational(K, y, likelihood)[0]


@every_solver
def test_the_objective_is_its_definition(solver: str) -> None:
    case, model = PROBLEMS[home(solver)](), fitted(home(solver), solver)
    name = solver.split(maxsplit=1)[0]
    likelihood: NaiveLikelihood = NaiveLogistic()
    if name == "gaussian":
        likelihood = NaiveGaussian(noise_of(model))
    elif name == "laplace":
        likelihood = NaiveLaplace(float(np.sqrt(2.0 / noise_of(model))))
    assert_allclose(model.objective_, naive_objective(model, case, likelihood), rtol=1e-7)
    if model.objective in ("vb", "mlm"):
        assert_allclose(model.log_marginal_likelihood_, -0.5 * model.objective_, rtol=1e-14)
    else:
        assert not hasattr(model, "log_marginal_likelihood_")
    assert hasattr(model, "dual_gap_") == (model.objective == "mkl")


@pytest.mark.parametrize("name", ["logistic vb", "logistic map", "gaussian map", "laplace vb"])
@pytest.mark.parametrize("seed", [0, 1])
def test_no_restart_of_a_generic_search_is_better(name: str, seed: int) -> None:
    case, solver = PROBLEMS[home(name)](), clone(SOLVERS[name])
    rows = np.random.default_rng(seed).permutation(len(case.X))
    rows = rows if "map" in name else rows[:14]
    solver.set_params(kernels=case.kernels, tol=1e-8, max_iter=1000)
    y = np.asarray(case.y, dtype=float)[rows]
    if not case.classes:
        solver.set_params(noise=0.3, normalize_y=False)
        y = (y - y.mean()) / y.std()
    model = solver.fit(case.X[rows], y)
    setting = (case.grams[:, rows][:, :, rows], y, NAIVE[name.split(maxsplit=1)[0]])
    problem = (
        NaiveJointMAP(*setting, solver.jitter) if "map" in name else NaiveVariational(*setting)
    )
    best = problem.best(30 if len(rows) < 20 else 10, np.random.default_rng(seed))
    assert model.objective_ <= best + 1e-6 * abs(best)
    assert_allclose(best, model.objective_, rtol=1e-3)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_restart_finds_more_marginal_likelihood(seed: int) -> None:
    """Weights and noise together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=25)
    y = (y - y.mean()) / y.std()
    kernels = [Gaussian(0.3), Gaussian(1.0), Gaussian(3.0)]
    grams = np.stack([gaussian(X, s) for s in (0.3, 1.0, 3.0)])
    model = BayesianMKLRegressor(kernels, tol=1e-8).fit(X, y)

    def phi(x: np.ndarray) -> float:
        return gaussian_evidence(np.tensordot(np.exp(x[:3]), grams, axes=1), y, np.exp(x[3]))

    starts = rng.uniform(-6.0, 3.0, (30, 4))
    bounds = [(-25.0, 10.0)] * 3 + [(-15.0, 5.0)]
    best = min(minimize(phi, x, method="L-BFGS-B", bounds=bounds).fun for x in starts)
    assert model.objective_ <= best + 1e-6 * abs(best)
    assert_allclose(best, model.objective_, rtol=1e-3)


@pytest.mark.parametrize(
    ("problem", "solver"),
    # Without noise of its own, the other one's depends on the precision.
    [pair for pair in PAIRS if "mkl" in pair[1] and pair[1] != "gaussian mkl"],
)
def test_the_duality_gap_is_a_bound(problem: str, solver: str) -> None:
    precise = fitted(problem, solver, finest(solver))
    for tol in (1e-1, 1e-2, 1e-4):
        model = fitted(problem, solver, tol)
        size = max(abs(model.objective_), 1.0)
        above = (model.objective_ - precise.objective_) / size
        assert above >= -precise.dual_gap_ - 1e-12
        assert above <= model.dual_gap_ + 1e-12
        assert 0.0 <= model.dual_gap_ <= tol


# --- attributes and predictions ---------------------------------------------------------------


@every_solver
def test_fitted_attributes(solver: str) -> None:
    case, model = PROBLEMS[home(solver)](), fitted(home(solver), solver)
    assert isinstance(model.kernel_, WeightedSum)
    gram = model.kernel_(case.X)
    assert_allclose(gram, np.tensordot(model.weights_, case.grams, axes=1), atol=1e-12)
    task = "classification" if case.classes else "regression"
    expected = centered_alignment(gram, target_kernel(np.asarray(case.y), task))
    assert_allclose(model.alignment_, expected, rtol=1e-7)
    parts = model.weights_ * np.einsum("kii->k", case.grams)
    assert_allclose(model.shares_, parts / parts.sum(), rtol=1e-12)
    assert model.dual_coef_.shape == case.Y.shape
    assert_array_equal(model.X_fit_, case.X)
    assert model.n_features_in_ == 4


@every_solver
def test_predictions_are_the_formula(solver: str) -> None:
    case, model = PROBLEMS[home(solver)](), fitted(home(solver), solver)
    Z = np.random.default_rng(8).normal(size=(9, 4))
    across = np.tensordot(
        model.weights_, [gaussian(case.X[:, [z]], 1.5, Z[:, [z]]).T for z in range(4)], axes=1
    )
    mean = across @ model.dual_coef_[:, 0]
    if case.classes:
        assert_allclose(model.predict_latent(Z)[0], mean, rtol=1e-9, atol=1e-12)
        assert_array_equal(model.predict(Z), np.where(mean > 0, 1, -1))
        probability = model.predict_proba(Z)
        assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-14)
        assert_array_equal(probability[:, 1] > 0.5, mean > 0)
        # Doubt about the latent function moves probabilities towards one half.
        plain = 1.0 / (1.0 + np.exp(-mean))
        assert (np.abs(probability[:, 1] - 0.5) < np.abs(plain - 0.5)).all()
        return
    assert_allclose(model.predict(Z), mean * model.y_scale_ + model.y_mean_, rtol=1e-9)
    if solver.startswith("laplace m"):
        with pytest.raises(ValueError, match="no variances"):
            model.predict(Z, return_std=True)
        return
    again, std = model.predict(Z, return_std=True)
    assert_allclose(again, model.predict(Z), rtol=1e-12)
    noisy = model.predict(Z, return_std=True, include_noise=True)[1]
    assert_allclose(noisy**2 - std**2, model.noise_variance_, rtol=1e-9)
    far = model.predict(np.full((1, 4), 1e4), return_std=True)
    assert_allclose(far[0], model.y_mean_, rtol=1e-9)
    assert_allclose(far[1] ** 2, model.weights_.sum() * model.y_scale_**2, rtol=1e-9)


@every_solver
def test_the_same_call_twice_is_identical(solver: str) -> None:
    case = PROBLEMS[home(solver)]()
    model = clone(SOLVERS[solver]).set_params(kernels=case.kernels).fit(case.X, case.y)
    again = clone(model).fit(case.X.copy(), case.y)
    assert_array_equal(again.weights_, model.weights_)
    assert_array_equal(again.dual_coef_, model.dual_coef_)
    assert again.objective_ == model.objective_
    assert_array_equal(model.fit(case.X, case.y).weights_, again.weights_)


# --- invariances ------------------------------------------------------------------------------


@every_solver
def test_neither_order_nor_scale_matters(solver: str) -> None:
    case = PROBLEMS[home(solver)]()
    stack = np.moveaxis(case.grams, 0, -1)
    model = clone(SOLVERS[solver]).set_params(
        kernels="precomputed", tol=finest(solver), max_iter=400
    )
    here = clone(model).fit(stack, case.y)
    order = np.array([2, 0, 3, 1])
    there = clone(model).fit(stack[..., order], case.y)
    assert_allclose(there.objective_, here.objective_, rtol=1e-7)
    assert_allclose(there.weights_, here.weights_[order], rtol=1e-2, atol=1e-4)
    factors = np.array([1e-8, 1.0, 1e8, 1e3])
    there = clone(model).fit(stack * factors, case.y)
    assert_allclose(there.objective_, here.objective_, rtol=1e-7)
    assert_allclose(there.weights_ * factors, here.weights_, rtol=1e-2, atol=1e-4)
    assert_allclose(there.predict(stack * factors), here.predict(stack), atol=1e-3)


# Larger norms prefer to split.
@pytest.mark.parametrize("solver", [name for name in SOLVERS if not name.endswith("2")])
def test_a_kernel_split_in_two(solver: str) -> None:
    case = PROBLEMS[home(solver)]()
    model = clone(SOLVERS[solver]).set_params(
        kernels=case.kernels, tol=finest(solver), max_iter=400
    )
    whole = clone(model).fit(case.X, case.y)
    split = clone(model).set_params(kernels=[*case.kernels, case.kernels[0]])
    split.fit(case.X, case.y)
    assert_allclose(split.objective_, whole.objective_, rtol=1e-6)
    joined = split.weights_[:4] + split.weights_[4] * np.eye(4)[0]
    assert_allclose(joined, whole.weights_, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("solver", REGRESSORS)
@pytest.mark.parametrize(("factor", "offset"), [(1e-8, 0.0), (1e8, 0.0), (1.0, 1e6), (-1.0, 0.0)])
def test_the_unit_of_responses_does_not_matter(solver: str, factor: float, offset: float) -> None:
    case, here = PROBLEMS["regression"](), fitted("regression", solver)
    model = clone(SOLVERS[solver]).set_params(kernels=case.kernels, max_iter=400)
    if model.noise is not None:
        model.set_params(noise=model.noise * factor**2)
    there = model.fit(case.X, factor * case.y + offset)
    assert_allclose(there.objective_, here.objective_, rtol=1e-4, atol=1e-3)
    predicted = (there.predict(case.X) - offset) / factor
    assert_allclose(predicted, here.predict(case.X), rtol=1e-3, atol=1e-3 * here.y_scale_[0])
    assert_allclose(there.noise_variance_, factor**2 * here.noise_variance_, rtol=2e-2)


@pytest.mark.parametrize("factor", [1e-8, 1e8])
@pytest.mark.parametrize("solver", ["logistic vb", "logistic map", "gaussian mlm", "laplace vb"])
def test_the_unit_of_a_feature_does_not_matter(solver: str, factor: float) -> None:
    case = PROBLEMS[home(solver)]()
    model = clone(SOLVERS[solver]).set_params(kernels=[Linear(per_feature=True)])
    here = clone(model).fit(case.X, case.y)
    there = clone(model).fit(case.X * [factor, 1.0, 1.0, 1.0 / factor], case.y)
    assert_allclose(there.objective_, here.objective_, rtol=1e-6)
    assert_allclose(there.shares_, here.shares_, atol=1e-4)


def test_class_names_do_not_matter() -> None:
    case = PROBLEMS["features"]()
    here = fitted("features", "logistic vb")
    names = np.array(["no", "yes"])[(case.y > 0).astype(int)]
    there = BayesianMKLClassifier(case.kernels, max_iter=400).fit(case.X, names)
    assert_array_equal(there.classes_, ["no", "yes"])
    assert_array_equal(there.weights_, here.weights_)
    swapped = BayesianMKLClassifier(case.kernels, max_iter=400).fit(case.X, -case.y)
    assert_allclose(swapped.objective_, here.objective_, rtol=1e-9)
    assert_allclose(swapped.predict_proba(case.X)[:, ::-1], here.predict_proba(case.X), rtol=1e-6)
