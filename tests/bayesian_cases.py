"""Problems of the probabilistic estimators, the estimators, and their optimality conditions."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from learner_cases import problem
from one_stage_cases import PROBLEMS as TABLES
from one_stage_cases import Problem
from sklearn.base import BaseEstimator, clone

from mercer import BayesianMKLClassifier, BayesianMKLRegressor
from mercer.kernels import Gaussian, Linear

Matrix = np.ndarray


def noise_alone() -> Problem:
    case = TABLES["regression"]()
    y = np.random.default_rng(7).normal(size=len(case.X))
    return Problem(case.X, y, case.kernels, case.grams)


def no_noise() -> Problem:
    case = TABLES["regression_nested_widths"]()
    y = np.sin(2.0 * case.X[:, 0])
    return Problem(case.X, y, case.kernels, case.grams)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    name: make for name, make in TABLES.items() if name != "wild_units"
}
PROBLEMS |= {"noise_alone": cache(noise_alone), "no_noise": cache(no_noise)}

CLASSIFIERS: dict[str, BaseEstimator] = {
    "logistic vb": BayesianMKLClassifier(),
    "logistic map": BayesianMKLClassifier(objective="map"),
    "logistic laplace": BayesianMKLClassifier(objective="laplace"),
    "logistic mkl": BayesianMKLClassifier(objective="mkl"),
    "logistic mkl 3/2": BayesianMKLClassifier(objective="mkl", norm=1.5, weight_penalty=3.0),
    "logistic mkl 2": BayesianMKLClassifier(objective="mkl", norm=2.0, weight_penalty=0.1),
}
REGRESSORS: dict[str, BaseEstimator] = {
    "gaussian marginal": BayesianMKLRegressor(),
    "gaussian marginal, known noise": BayesianMKLRegressor(noise=0.3),
    "gaussian map": BayesianMKLRegressor(objective="map"),
    "gaussian mkl": BayesianMKLRegressor(objective="mkl"),
    "gaussian mkl 2": BayesianMKLRegressor(objective="mkl", norm=2.0, noise=0.1),
    "laplace vb": BayesianMKLRegressor(likelihood="laplace", objective="vb"),
    "laplace vb, known noise": BayesianMKLRegressor(
        likelihood="laplace", objective="vb", noise=0.3
    ),
    "laplace map": BayesianMKLRegressor(likelihood="laplace", objective="map"),
    "laplace mkl": BayesianMKLRegressor(likelihood="laplace", objective="mkl", noise=0.1),
}
SOLVERS: dict[str, BaseEstimator] = {**CLASSIFIERS, **REGRESSORS}
FINE_TOL = 1e-7
"""The tolerance of precise fits: those of support vector machines reach it, too."""
PAIRS = [
    *(("nested_widths", solver) for solver in CLASSIFIERS),
    *(("regression_nested_widths", solver) for solver in REGRESSORS),
    *(
        (name, "logistic vb" if make().classes else "gaussian marginal")
        for name, make in PROBLEMS.items()
        if "nested_widths" not in name
    ),
    *(("three_classes", "logistic laplace"), ("two_outputs", "laplace vb")),
    *(("more_kernels_than_samples", "logistic mkl"), ("regression", "gaussian mkl 2")),
]
"""Problems, and the solvers that are tried on them."""


@cache
def fitted(problem: str, solver: str, tol: float = 1e-4) -> Any:
    case = PROBLEMS[problem]()
    model = clone(SOLVERS[solver]).set_params(kernels=case.kernels, tol=tol, max_iter=400)
    return model.fit(case.X, case.y)


def normalized(model: Any, case: Problem) -> tuple[Matrix, Matrix, Matrix]:
    """Gram matrices of mean diagonal one, their weights, and targets of unit variance."""
    means = np.einsum("kii->k", case.grams) / len(case.X)
    scales = np.divide(1.0, means, out=np.zeros_like(means), where=means > 0.0)
    Y = case.Y
    if not case.classes:
        Y = (Y - model.y_mean_) / model.y_scale_
    return scales[:, None, None] * case.grams, model.weights_ * means, Y


def penalties(model: Any, case: Problem) -> Matrix:
    """Penalties of the normalized weights at which those of the kernels as given cost the same."""
    means = np.einsum("kii->k", case.grams) / len(case.X)
    return np.asarray(model.weight_penalty * np.where(means > 0.0, means, 1.0) ** -model.norm)


def noise_of(model: Any) -> float:
    """The noise variance in the unit of the normalized responses."""
    return float(np.mean(np.asarray(model.noise_variance_) / model.y_scale_**2))


def weight_gradient(model: Any, case: Problem) -> Matrix:
    """d objective / d weights from dense matrices, t_m - alpha'K_m alpha summed over problems."""
    grams, weights, Y = normalized(model, case)
    n, K, alpha = len(Y), np.tensordot(weights, grams, axes=1), model.dual_coef_
    q = np.einsum("im,kij,jm->k", alpha, grams, alpha)
    if model.objective == "mkl":
        return penalties(model, case) * model.norm * weights ** (model.norm - 1.0) - q
    if model.objective == "laplace":
        return laplace_gradient(grams, K, alpha)
    if model.objective == "map":
        matrices = [K + model.jitter * np.eye(n)] * Y.shape[1]
    elif getattr(model, "likelihood", "") == "gaussian":
        matrices = [K + noise_of(model) * np.eye(n)] * Y.shape[1]
    else:
        matrices = [K + np.diag(1.0 / scale**2) for scale in model.scale_]
    inverses = np.sum([np.linalg.inv(C) for C in matrices], axis=0)
    return np.einsum("kij,ij->k", grams, inverses) - q


def laplace_gradient(grams: Matrix, K: Matrix, alpha: Matrix) -> Matrix:
    """Rasmussen and Williams (2006), equations 5.22 to 5.24, on the -2 log scale."""
    total, identity = np.zeros(len(grams)), np.eye(len(K))
    for a in alpha.T:
        s = 1.0 / (1.0 + np.exp(-K @ a))
        W = np.diag(s * (1.0 - s))
        inverse = np.linalg.solve(identity + W @ K, W)
        moved = np.diag(K - K @ inverse @ K) * np.diag(W) * (1.0 - 2.0 * s)
        for k, gram in enumerate(grams):
            mode = np.linalg.solve(identity + K @ W, gram @ a)
            total[k] += np.trace(inverse @ gram) - a @ gram @ a + moved @ mode
    return total


def noise_gradient(model: Any, case: Problem) -> float:
    """d objective / d ln noise of a learned noise, weights and widths given."""
    grams, weights, Y = normalized(model, case)
    noise, n = noise_of(model), len(Y)
    if model.likelihood == "laplace":
        return float(Y.size - 2.0 / noise * np.sum(1.0 / model.scale_**2))
    inverse = np.linalg.inv(np.tensordot(weights, grams, axes=1) + noise * np.eye(n))
    return float(noise * (Y.shape[1] * np.trace(inverse) - np.sum(model.dual_coef_**2)))


every_solver = pytest.mark.parametrize("solver", SOLVERS)
may_collapse = pytest.mark.filterwarnings("ignore:The objective is as low without any kernel")
KERNELS: list[Any] = [Gaussian(1.0), Gaussian(3.0), Linear()]


def suitable_problem(solver: str) -> str:
    """Return the name of a problem of the solver's kind."""
    return "features" if solver in CLASSIFIERS else "regression"


def data(solver: str) -> tuple[Matrix, Any]:
    return problem("binary", 40) if solver in CLASSIFIERS else problem("regression", 25)


def make(solver: str, **options: Any) -> Any:
    return clone(SOLVERS[solver]).set_params(**{"kernels": KERNELS, "max_iter": 400, **options})


def has_variances(solver: str) -> bool:
    return solver not in ("laplace map", "laplace mkl")
