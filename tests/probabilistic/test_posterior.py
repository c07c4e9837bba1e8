"""Posteriors and objectives for given weights: definitions, published values, bad input."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from probabilistic_cases import (
    KERNELS,
    LIKELIHOODS,
    OBJECTIVES,
    SCALES,
    WEIGHTS,
    naive,
    problem,
    standardized,
)
from probabilistic_reference import (
    gaussian_evidence,
    joint_map,
    laplace_approximation,
    mode,
    variational,
)
from reference import central_difference, gaussian
from scipy.integrate import quad
from scipy.special import expit, log_ndtr
from sklearn.datasets import load_iris
from sklearn.utils import Bunch

from mercer import BayesianMKLClassifier
from mercer.kernels import Gaussian, Linear, OnColumns
from mercer.losses import EpsilonInsensitive, Hinge
from mercer.probabilistic import (
    Deviance,
    GaussianLikelihood,
    LaplaceLikelihood,
    LogisticLikelihood,
    posterior,
)
from mercer.probabilistic._bound_widths import DeterminantModel


@pytest.mark.parametrize("value", [0.0, np.nan])
@pytest.mark.parametrize("likelihood", [GaussianLikelihood, LaplaceLikelihood])
def test_invalid_noise_is_rejected(likelihood: Any, value: float) -> None:
    with pytest.raises(ValueError, match=r"(noise|rate) must be"):
        likelihood(value)


every_likelihood = pytest.mark.parametrize("name", LIKELIHOODS)
every_objective = pytest.mark.parametrize("kind", OBJECTIVES)


# --- reference values --------------------------------------------------------------------------


IONOSPHERE: dict[str, Any] = {
    "data": "ionosphere",
    "n": 150,
    "scales": [2.0, 4.0, 8.0],
    "weights": [1.0, 2.0, 4.0],
}
KIN8NM: dict[str, Any] = {
    "data": "kin8nm",
    "n": 200,
    "scales": [1.0, 2.0, 4.0],
    "weights": [0.3, 0.6, 0.5],
}
LOGISTIC = LogisticLikelihood()
CASES = {
    "ionosphere, vb": Bunch(
        **IONOSPHERE,
        settings={"likelihood": LOGISTIC, "objective": "vb"},
        phi=149.4349144,
        gradient=[2.329796653, 0.3361781223, 0.1952132309],
        latent=[2.052386991, -2.20808202, 2.69507789],
        dual=[0.1308472198, -0.1387610955, 0.07573254193],
        mean=[-1.687873043, 2.132588371, -1.192204105, 0.3618609965, -1.3456248],
        variance=[2.100220459, 0.5331768663, 0.7310722025, 2.560948176, 0.7880724803],
        gamma=[5.559722425, 6.112525513, 6.352308758],
        probability=[0.2253430323, 0.8747511023, 0.2617479793, 0.561700302, 0.2382860747],
    ),
    "kin8nm, marginal": Bunch(
        **KIN8NM,
        settings={"likelihood": GaussianLikelihood(0.1), "objective": "marginal_likelihood"},
        phi=411.8969298,
        gradient=[127.2425738, 20.52138098, 3.268611836],
        latent=[-0.6549086854, -1.353144641, -0.6388922983],
        dual=[-0.008777338205, -1.037006325, -0.7867773786],
        mean=[-0.6782585338, 2.186954471, 0.9425859536, -0.4588210172, 0.6103812549],
        variance=[0.6717751974, 0.4428627965, 0.405786926, 0.5570867527, 0.5855854805],
        gamma=[0.1, 0.1, 0.1],
    ),
    "kin8nm, vb of laplace": Bunch(
        **KIN8NM,
        settings={"likelihood": LaplaceLikelihood(4.0), "objective": "vb"},
        phi=512.057792,
        gradient=[138.1897192, 20.66610033, 3.149881562],
        latent=[-0.6597872301, -1.393677163, -0.6671291851],
        dual=[0.07587095394, -1.082504343, -0.8420630421],
        mean=[-0.6890707655, 2.216870901, 0.9583554381, -0.4604671773, 0.598503329],
        variance=[0.6631702999, 0.4267687335, 0.3916792047, 0.5476986022, 0.5755598976],
        gamma=[0.05273178558, 0.05835367878, 0.05990151388],
    ),
}
"""Values for given weights, on n training rows and the next five rows.

They agree with an independent implementation by one of the authors of the paper."""


def widths(scales: list[float]) -> list[Gaussian]:
    return [Gaussian(float(np.sqrt(2.0) * scale)) for scale in scales]


@pytest.mark.parametrize("name", CASES)
def test_values_for_given_weights(name: str, data: Callable[[str], Bunch]) -> None:
    case = CASES[name]
    X, y, new = standardized(data(case.data), case.n)
    found = posterior(X, y, widths(case.scales), case.weights, **case.settings)
    assert_allclose(found.objective, case.phi, rtol=5.1e-10)
    assert_allclose(found.gradient, case.gradient, rtol=0.0, atol=1e-6)
    assert_allclose(found.latent[:3], case.latent, rtol=0.0, atol=1e-6)
    assert_allclose(found.dual[:3], case.dual, rtol=0.0, atol=1e-6)
    mean, variance = found.predict(new)
    assert_allclose(mean, case.mean, rtol=0.0, atol=1e-6)
    assert_allclose(variance, case.variance, rtol=0.0, atol=1e-6)
    assert found.gamma is not None
    assert_allclose(found.gamma[:3], case.gamma, rtol=0.0, atol=1e-6)
    if "probability" in case:
        probability = LOGISTIC.probability(mean, variance)
        assert_allclose(probability, case.probability, rtol=0.0, atol=1e-6)


def test_the_optimum_of_multiple_kernel_learning(data: Callable[[str], Bunch]) -> None:
    X, y, new = standardized(data("ionosphere"), 150)
    kernels = widths([1.0, 2.0, 4.0, 8.0, 16.0])
    model = BayesianMKLClassifier(kernels, objective="mkl", weight_penalty=3.0, tol=1e-10).fit(X, y)
    assert_allclose(model.objective_, 93.32871806, rtol=0.0, atol=1e-7)
    assert 0.0 <= model.dual_gap_ <= 1e-10
    weights = [0.0, 8.485915, 0.146206, 0.0, 1.042479]
    assert_allclose(model.weights_, weights, rtol=0.0, atol=2e-5)
    assert (model.weights_[[0, 3]] == 0.0).all()
    mean = [-1.2417124, 3.0856129, -0.3791566, -0.5231998, -0.6432001]
    assert_allclose(model.predict_latent(new)[0], mean, rtol=0.0, atol=1e-6)


# --- extreme data ------------------------------------------------------------------------------


@every_likelihood
@every_objective
def test_all_weights_may_be_zero(name: str, kind: str) -> None:
    X, y, grams = problem(name)
    likelihood, naive_likelihood = LIKELIHOODS[name]
    found = posterior(X, y, KERNELS, np.zeros(3), likelihood=likelihood, **OBJECTIVES[kind])
    expected = naive_likelihood.losses(y, np.zeros(len(y)))[0].sum()
    if kind == "map":
        expected = joint_map(np.zeros_like(grams[0]), y, naive_likelihood, 0.3)
    assert_allclose(found.objective, expected, rtol=1e-8)
    mean, variance = found.predict(X)
    assert_array_equal(mean, 0.0)
    if "laplace" not in name or kind == "vb":
        assert_array_equal(variance, 0.0)
    assert np.isfinite(found.gradient).all()


@every_likelihood
@every_objective
@pytest.mark.parametrize("size", [1e-12, 1e10])
def test_kernels_may_have_any_scale(name: str, kind: str, size: float) -> None:
    X, y, _ = problem(name)
    likelihood = LIKELIHOODS[name][0]
    found = posterior(X, y, KERNELS, size * WEIGHTS, likelihood=likelihood, **OBJECTIVES[kind])
    assert np.isfinite([found.objective, *found.gradient, *found.latent]).all()
    if size < 1.0:
        assert_allclose(found.predict(X)[0], 0.0, atol=1e-9)
        if "mkl" not in kind and not (name == "laplace" and kind == "map"):
            assert_allclose(found.predict(X)[1], size * 3.5, rtol=1e-6)


@every_likelihood
@every_objective
def test_gram_matrices_may_be_singular(name: str, kind: str) -> None:
    X, y, _ = problem(name, 6)
    X, y = np.repeat(np.column_stack([X, np.zeros(6)]), 3, axis=0), np.repeat(y, 3)
    y[0] = -y[0]
    kernels = [Gaussian(1.0), OnColumns(Linear(), [2]), Linear()]
    grams = np.stack([gaussian(X, 1.0), np.zeros((18, 18)), X @ X.T])
    found = posterior(X, y, kernels, WEIGHTS, likelihood=LIKELIHOODS[name][0], **OBJECTIVES[kind])
    if kind == "vb":
        # The reference inverts K, which is singular here.
        K = np.tensordot(WEIGHTS, grams, axes=1) + 1e-9 * np.eye(18)
        expected = variational(K, y, LIKELIHOODS[name][1])[0]
    else:
        expected = naive(name, kind, y, grams, WEIGHTS)
    assert_allclose(found.objective, expected, rtol=1e-6)


# --- inputs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"objective": "marginal_likelihood"}, "is in closed form for Gaussian noise only"),
        ({"objective": "ml2"}, "objective must be one of"),
        ({"objective": "laplace", "likelihood": LaplaceLikelihood()}, "needs one without kinks"),
        ({"weights": [1.0]}, "weights must hold 3|3 kernels"),
        ({"weights": [1.0, -1.0, 0.0]}, "weights must .*(at least zero|not negative)"),
        ({"weights": [1.0, np.nan, 0.0]}, "weights .*NaN"),
        ({"kernels": []}, "empty"),
        ({"objective": "map"}, "jitter must be positive"),
        ({"objective": "mkl", "weight_penalty": -1.0}, "weight_penalty must be"),
        ({"objective": "mkl", "norm": 0.5}, "norm must be at least 1"),
        ({"y": [1.0, -1.0]}, "inconsistent numbers of samples"),
        ({"y": np.arange(14.0)}, "labels .*-1 and 1"),
        ({"y": np.full(14, np.nan)}, "y contains NaN"),
        ({"X": np.full((14, 2), np.nan)}, "X contains NaN"),
    ],
)
def test_invalid_arguments_are_rejected(changes: dict[str, Any], message: str) -> None:
    X, y, _ = problem("logistic")
    usual = {"X": X, "y": y, "kernels": KERNELS, "weights": WEIGHTS, "likelihood": LOGISTIC}
    with pytest.raises(ValueError, match=message):
        posterior(**usual | changes)


# --- values and gradients ----------------------------------------------------------------------


@every_likelihood
@every_objective
@pytest.mark.parametrize("scale", [1e-3, 30.0])
def test_objectives_are_their_definitions(name: str, kind: str, scale: float) -> None:
    X, y, grams = problem(name)
    likelihood, weights = LIKELIHOODS[name][0], scale * WEIGHTS
    found = posterior(X, y, KERNELS, weights, likelihood=likelihood, **OBJECTIVES[kind])
    assert_allclose(found.objective, naive(name, kind, y, grams, weights), rtol=1e-8)
    K = np.tensordot(weights, grams, axes=1) + OBJECTIVES[kind].get("jitter", 0.0) * np.eye(len(y))
    assert_allclose(found.latent, K @ found.dual, rtol=1e-9, atol=1e-12)


@every_likelihood
@every_objective
def test_gradients_are_those_of_the_objective(name: str, kind: str) -> None:
    X, y, _ = problem(name)
    likelihood, options = LIKELIHOODS[name][0], OBJECTIVES[kind]

    def phi(weights: np.ndarray) -> float:
        return posterior(X, y, KERNELS, weights, likelihood=likelihood, **options).objective

    found = posterior(X, y, KERNELS, WEIGHTS, likelihood=likelihood, **options)
    expected = central_difference(phi, WEIGHTS, 1e-4)
    assert_allclose(found.gradient, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["logistic", "laplace"])
def test_variational_posteriors_are_their_definitions(name: str) -> None:
    X, y, grams = problem(name)
    K = np.tensordot(WEIGHTS, grams, axes=1)
    found = posterior(X, y, KERNELS, WEIGHTS, likelihood=LIKELIHOODS[name][0])
    _, u, gamma, covariance = variational(K, y, LIKELIHOODS[name][1])
    assert_allclose(found.latent, u, atol=1e-6)
    assert_allclose(found.gamma, gamma, rtol=1e-6)
    mean, variance = found.predict(X)
    assert_allclose(mean, u, atol=1e-6)
    assert_allclose(variance, np.diag(covariance), atol=1e-6)
    if name == "laplace":
        # The loss has no curvature at the mode.
        likelihood = LaplaceLikelihood(3.0)
        mode = posterior(X, y, KERNELS, WEIGHTS, likelihood=likelihood, **OBJECTIVES["mkl"])
        assert np.isnan(mode.predict(X)[1]).all()


@pytest.mark.parametrize("name", ["logistic", "gaussian"])
@pytest.mark.parametrize("kind", ["map", "mkl"])
def test_variances_of_modes_are_laplaces_approximation(name: str, kind: str) -> None:
    X, y, grams = problem(name)
    jitter = OBJECTIVES[kind].get("jitter", 0.0)
    K = np.tensordot(WEIGHTS, grams, axes=1)
    likelihood, naive_likelihood = LIKELIHOODS[name]
    found = posterior(X, y, KERNELS, WEIGHTS, likelihood=likelihood, **OBJECTIVES[kind])
    _, u = mode(K + jitter * np.eye(len(y)), y, naive_likelihood)
    step = 1e-5
    ahead, behind = (naive_likelihood.losses(y, u + s)[1] for s in (step, -step))
    curvature = (ahead - behind) / (2.0 * step)
    new = np.random.default_rng(3).normal(size=(5, 2))
    across = np.tensordot(WEIGHTS, [gaussian(new, s, X) for s in SCALES], axes=1)
    noisy = K + (jitter * np.eye(len(y)) + np.diag(2.0 / curvature))
    variance = WEIGHTS.sum() - np.sum(across * np.linalg.solve(noisy, across.T).T, axis=1)
    assert_allclose(found.predict(new)[1], variance, rtol=1e-5)


@pytest.mark.parametrize("name", ["logistic", "laplace"])
def test_support_vector_machines_are_penalized_risks(name: str) -> None:
    """MKL of the hinge and epsilon-insensitive losses is the machine's objective, times two."""
    loss = Deviance(Hinge(0.8) if name == "logistic" else EpsilonInsensitive(0.8, 0.1))
    X, y, grams = problem(name)
    options = {"objective": "mkl", "weight_penalty": 0.7}
    found = posterior(X, y, KERNELS, WEIGHTS, likelihood=loss, **options)
    u = np.tensordot(WEIGHTS, grams, axes=1) @ found.dual
    beyond = 1.0 - y * u if name == "logistic" else np.abs(y - u) - 0.1
    value = found.dual @ u + 2.0 * 0.8 * np.maximum(0.0, beyond).sum() + 0.7 * WEIGHTS.sum()
    assert_allclose(found.objective, value, rtol=1e-10)
    dual = loss.dual(y, found.dual) - found.dual @ u + 0.7 * WEIGHTS.sum()
    assert_allclose(found.objective, dual, rtol=1e-8)
    with pytest.raises(ValueError, match='not a likelihood needs objective="mkl"'):
        posterior(X, y, KERNELS, WEIGHTS, likelihood=loss, objective="vb")


# --- Laplace's approximation -------------------------------------------------------------------


@pytest.mark.parametrize("size", [0.01, 1.0, 100.0])
def test_value_gradient_and_mode_of_given_weights(size: float) -> None:
    X, y, grams = problem("logistic")
    weights = size * WEIGHTS

    def value(weights: np.ndarray) -> float:
        return laplace_approximation(np.tensordot(weights, grams, axes=1), y)[0]

    found = posterior(X, y, KERNELS, weights, likelihood=LogisticLikelihood(), objective="laplace")
    expected, mode = laplace_approximation(np.tensordot(weights, grams, axes=1), y)
    assert_allclose(found.objective, expected, rtol=1e-9)
    assert_allclose(found.latent, mode, rtol=1e-6, atol=1e-8)
    slopes = central_difference(value, weights, 1e-5 * size)
    assert_allclose(found.gradient, slopes, rtol=1e-4, atol=1e-6 / size)


def test_several_classes_sum_over_their_latent_functions() -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[::5], y[::5]
    model = BayesianMKLClassifier([Gaussian(2.0), Gaussian(6.0)], objective="laplace").fit(X, y)
    K = model.kernel_(X)
    expected = sum(laplace_approximation(K, np.where(y == c, 1.0, -1.0))[0] for c in range(3))
    assert_allclose(model.objective_, expected, rtol=1e-6)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.score(X, y) > 0.9


def one(value: float) -> np.ndarray:
    return np.array([float(value)])


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


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_learned_laplace_noise_has_a_least_variance_relative_to_the_responses(size: float) -> None:
    """Errors of 1e-9 of the responses are beyond the limit, those of 1e-2 are not."""
    Y = size * np.random.default_rng(0).normal(size=(30, 1))
    counts = np.arange(30.0) % 3 + 1.0
    likelihood = LaplaceLikelihood(1.0 / size).with_weights(counts)
    model = [DeterminantModel(np.full(30, size**2), 1.0)]
    limit = np.sqrt(np.finfo(float).eps) * np.average(Y[:, 0] ** 2, weights=counts)
    exact, rough = (likelihood.fit_noise(Y, Y * (1.0 + e), model).variance for e in (1e-9, 1e-2))
    assert_allclose(exact, limit, rtol=1e-9)
    assert rough > 10.0 * limit


def test_the_marginal_likelihood_is_in_closed_form() -> None:
    X, y, grams = problem("gaussian")
    K = np.tensordot(WEIGHTS, grams, axes=1)
    found = {
        name: posterior(X, y, KERNELS, WEIGHTS, likelihood=GaussianLikelihood(0.2), objective=name)
        for name in ("marginal_likelihood", "vb", "laplace")
    }
    for each in found.values():
        assert_allclose(each.objective, gaussian_evidence(K, y, 0.2), rtol=1e-9)
        assert_allclose(each.dual, np.linalg.solve(K + 0.2 * np.eye(len(y)), y), rtol=1e-9)
        assert_allclose(each.gradient, found["vb"].gradient, rtol=1e-7)


values = st.floats(-60.0, 60.0)


log_widths = st.floats(np.log(1e-6), np.log(1e6))


def label(name: str, y: float) -> np.ndarray:
    """A response, or its sign where labels are meant."""
    return one(1.0 if y >= 0.0 else -1.0) if name == "logistic" else one(y)


@every_likelihood
@given(y=values, u=values)
def test_bounds_are_tight_at_their_widths(name: str, y: float, u: float) -> None:
    likelihood, naive = LIKELIHOODS[name]
    target = label(name, y)
    width = likelihood.tight_width(target, one(u))
    bound = likelihood.bound(target, one(u), width)
    # At the kink of a Laplace likelihood, the width that would be tight is zero.
    kink = 4e-8 * getattr(likelihood, "rate", 0.0)
    assert_allclose(bound, naive.losses(target, one(u))[0], rtol=1e-10, atol=max(1e-10, kink))


@every_likelihood
@pytest.mark.parametrize(
    "determinant", [DeterminantModel(one(c), m) for c, m in ((0.1, 10.0), (7.0, 1.7), (1e8, 1e4))]
)
def test_slopes_and_curvatures_of_the_best_bound(name: str, determinant: DeterminantModel) -> None:
    likelihood, _ = LIKELIHOODS[name]
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
