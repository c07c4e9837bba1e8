"""Weights over a finite dictionary: every solver on every problem of a registry."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import center, gaussian
from reference import moments as dense_moments

from mercer._data.types import Array
from mercer._gram.moments import Moments
from mercer._search.weights.alignment_weights import (
    _block_pivoting,
    best_nonnegative,
    free_weights,
    independent_weights,
    nonnegative_weights,
    normalized,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))
TARGET = np.sign(X[:, 0] + 0.4 * RNG.normal(size=30))
WIDE = np.random.default_rng(3).normal(size=(24, 150))
OUTPUTS = np.column_stack([X[:, 0] ** 2, X[:, 1], np.sin(3 * X[:, 2])])
FEATURES = [gaussian(X[:, [z]], 1.0) for z in range(4)]
ONES = np.ones((30, 30))


def widths(n: int) -> list[Array]:
    """Kernels from far too narrow to far too wide: M is singular to rounding."""
    return [gaussian(X, s) for s in np.geomspace(1e-2, 1e3, n)]


PROBLEMS: dict[str, tuple[list[Array], Array]] = {
    "features": (FEATURES, TARGET),
    "nested widths": (widths(20), TARGET),
    "duplicates": ([FEATURES[k] for k in (0, 1, 0, 2, 1, 0)], TARGET),
    "rank one": ([np.outer(x, x) for x in X.T], TARGET),
    # With so many kernels, block pivoting is tried; few of them are informative.
    "hundreds of features": ([np.outer(x, x) for x in WIDE.T], np.sign(WIDE[:, :5].sum(axis=1))),
    "many nested widths": (widths(130), TARGET),
    "more kernels than entries": (
        [gaussian(X[:5, [z % 4]], 1.0 + z / 20) for z in range(40)],
        TARGET[:5],
    ),
    "wild scales": (
        [K * c for K, c in zip(FEATURES, [1e-12, 1.0, 1e12, 1e5], strict=True)],
        TARGET,
    ),
    "constant kernels": ([FEATURES[0], ONES, FEATURES[1], 0.0 * ONES], TARGET),
    # The target is independent of the features: weights come from chance.
    "noise": (
        [gaussian(X[:, [z]], 0.5) for z in range(4)],
        np.random.default_rng(9).normal(size=30),
    ),
    "one kernel": (FEATURES[:1], TARGET),
    "the target itself": ([*FEATURES, np.outer(TARGET, TARGET)], TARGET),
    "several outputs": (
        [gaussian(X[:, [z]], s) for z in range(4) for s in (0.3, 1.0, 3.0)],
        OUTPUTS,
    ),
}
UNIQUE = ("features", "rank one", "noise", "several outputs", "one kernel")
SOLVERS = {
    "independent": independent_weights,
    "nonnegative": nonnegative_weights,
    "free": free_weights,
}
every_problem = pytest.mark.parametrize("problem", PROBLEMS)
every_solver = pytest.mark.parametrize("solver", SOLVERS)


def moments_of(grams: list[Array], y: Array) -> Moments:
    """Moments of K minus one of its entries, so that a constant kernel is exactly zero."""
    Y = y.reshape(len(y), -1)
    Lc = center(Y @ Y.T)
    a, M = dense_moments([K - K[0, -1] for K in grams], Y @ Y.T)
    traces = np.array([np.trace(center(K)) for K in grams])
    return Moments(a, M, traces, None, float(np.linalg.norm(Lc)), float(np.trace(Lc)), len(y))


def solved(problem: str, solver: str) -> tuple[Array, Array, Array]:
    """The centered matrices and the centered target as columns, and normalized weights."""
    grams, y = PROBLEMS[problem]
    weights = SOLVERS[solver](moments_of(grams, y))
    assert_allclose(np.abs(weights).sum(), 1.0, rtol=1e-12)
    Y = y.reshape(len(y), -1)
    A = np.stack([center(K - K[0, -1]).ravel() for K in grams], axis=1)
    return A, center(Y @ Y.T).ravel(), weights


def cosine(a: Array, b: Array) -> float:
    norms = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / norms) if norms else 0.0


@every_problem
def test_nonnegative_weights_satisfy_the_kkt_conditions(problem: str) -> None:
    """For min v'Mv - 2 v'a: r = Mv - a >= 0 and v_k r_k = 0, each on its kernel's own scale."""
    A, target, weights = solved(problem, "nonnegative")
    combined = A @ weights
    v = weights * (combined @ target) / (combined @ combined)
    residual = A.T @ (A @ v - target)
    scale = np.linalg.norm(A, axis=0) * np.linalg.norm(target)
    active = v > 0.0
    assert active.any()
    assert (weights >= 0.0).all()
    assert (residual >= -1e-9 * scale).all()
    assert (np.abs(residual[active]) <= 1e-9 * scale[active]).all()
    assert (scale[active] > 0.0).all()


@every_problem
def test_free_weights_agree_with_least_squares(problem: str) -> None:
    """The projection of L_c onto the span of the K_kc, M^+ a in closed form."""
    A, target, weights = solved(problem, "free")
    scale = np.linalg.norm(A, axis=0)
    scale[scale == 0.0] = np.inf
    solution = np.linalg.lstsq(A / scale, target, rcond=1e-6)[0] / scale
    assert cosine(A @ weights, target) >= cosine(A @ solution, target) - 1e-6
    if problem in UNIQUE:
        assert_allclose(weights, normalized(solution), atol=1e-9)


@every_problem
def test_independent_weights_are_the_alignments(problem: str) -> None:
    A, target, weights = solved(problem, "independent")
    assert_allclose(weights, normalized(np.array([cosine(a, target) for a in A.T])), atol=1e-9)


@every_solver
@pytest.mark.parametrize("factor", [1e-50, 1e50])
def test_the_scale_of_the_target_does_not_matter(solver: str, factor: float) -> None:
    weights = SOLVERS[solver](moments_of(FEATURES, TARGET))
    assert_allclose(SOLVERS[solver](moments_of(FEATURES, factor * TARGET)), weights, rtol=1e-9)


@every_solver
def test_without_any_variance_weights_are_uniform(solver: str) -> None:
    grams = [np.ones((4, 4)), np.zeros((4, 4))]
    assert_allclose(SOLVERS[solver](moments_of(grams, np.array([1, -1, 1, 1]))), [0.5, 0.5])


def test_kernels_of_little_gain_have_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uncorrelated kernels have the weights a, however small some of them are."""
    a = np.geomspace(1e-9, 1.0, 150)
    assert_allclose(_block_pivoting(np.eye(150), a), a, rtol=1e-12)
    name = "mercer._search.weights.alignment_weights._block_pivoting"
    monkeypatch.setattr(name, lambda *_: None)
    assert_allclose(best_nonnegative(a, np.eye(150)), a, rtol=1e-12)


@every_solver
@pytest.mark.parametrize("factor", [1e-162, 1e-158, 1e-152, 1e150])
def test_kernels_of_any_scale_have_finite_weights(solver: str, factor: float) -> None:
    """Below 1e-154 their squares are too small to be divided by, and they count as constant."""
    grams = [*FEATURES, *(factor * K for K in (FEATURES[0] @ FEATURES[1], FEATURES[2] ** 2))]
    found = moments_of(grams, TARGET)
    weights = SOLVERS[solver](found)
    assert np.isfinite(weights).all()
    if factor < 1e-155:
        expected = SOLVERS[solver](moments_of(FEATURES, TARGET))
        assert_allclose(weights, [*expected, 0.0, 0.0], atol=1e-12)
