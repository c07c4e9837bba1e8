"""Weights over a finite dictionary: every solver on every problem of a registry."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import alignf, center, gaussian
from reference import moments as dense_moments

from mercer._gram.moments import Moments
from mercer._weights.alignment_weights import (
    _block_pivoting,
    best_nonnegative,
    free_weights,
    independent_weights,
    nonnegative_weights,
    normalized,
)

Problem = tuple[list[np.ndarray], np.ndarray]


def samples(n: int = 30) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = np.sign(X[:, 0] + 0.4 * rng.normal(size=n))
    return X, np.outer(y, y)


def features() -> Problem:
    X, L = samples()
    return [gaussian(X[:, [z]], 1.0) for z in range(4)], L


def nested_widths() -> Problem:
    """Twenty widths from far too narrow to far too wide: M is singular to rounding."""
    X, L = samples()
    return [gaussian(X, s) for s in np.geomspace(1e-2, 1e3, 20)], L


def duplicates() -> Problem:
    grams, L = features()
    return [grams[0], grams[1], grams[0], grams[2], grams[1], grams[0]], L


def rank_one() -> Problem:
    X, L = samples()
    return [np.outer(X[:, z], X[:, z]) for z in range(4)], L


def more_kernels_than_entries() -> Problem:
    X, L = samples(5)
    return [gaussian(X[:, [z % 4]], 1.0 + z / 20) for z in range(40)], L


def hundreds_of_features() -> Problem:
    """So many kernels that block pivoting is tried, few of them informative."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(24, 150))
    y = np.sign(X[:, :5].sum(axis=1))
    return [np.outer(X[:, z], X[:, z]) for z in range(150)], np.outer(y, y)


def hundreds_of_duplicates() -> Problem:
    grams, L = features()
    return grams * 26, L


def many_nested_widths() -> Problem:
    """So many widths that block pivoting is tried."""
    X, L = samples()
    return [gaussian(X, s) for s in np.geomspace(1e-2, 1e3, 130)], L


def wild_scales() -> Problem:
    grams, L = features()
    return [K * c for K, c in zip(grams, [1e-12, 1.0, 1e12, 1e5], strict=True)], L


def a_constant_kernel() -> Problem:
    grams, L = features()
    return [grams[0], np.ones_like(L), grams[1], np.zeros_like(L)], L


def noise() -> Problem:
    """The target is independent of the features: weights come from chance."""
    X, _ = samples()
    y = np.random.default_rng(9).normal(size=len(X))
    return [gaussian(X[:, [z]], 0.5) for z in range(4)], np.outer(y, y)


def the_target_itself() -> Problem:
    grams, L = features()
    return [*grams, L], L


def one_kernel() -> Problem:
    grams, L = features()
    return grams[:1], L


def several_outputs() -> Problem:
    X, _ = samples()
    Y = np.column_stack([X[:, 0] ** 2, X[:, 1], np.sin(3 * X[:, 2])])
    return [gaussian(X[:, [z]], s) for z in range(4) for s in (0.3, 1.0, 3.0)], Y @ Y.T


PROBLEMS: dict[str, Callable[[], Problem]] = {
    function.__name__: function
    for function in (
        features,
        nested_widths,
        duplicates,
        rank_one,
        hundreds_of_features,
        hundreds_of_duplicates,
        many_nested_widths,
        more_kernels_than_entries,
        wild_scales,
        a_constant_kernel,
        noise,
        the_target_itself,
        one_kernel,
        several_outputs,
    )
}
SOLVERS = {
    "independent": independent_weights,
    "nonnegative": nonnegative_weights,
    "free": free_weights,
}
every_problem = pytest.mark.parametrize("problem", PROBLEMS)
every_solver = pytest.mark.parametrize("solver", SOLVERS)


def moments_of(grams: list[np.ndarray], L: np.ndarray) -> Moments:
    """Moments of K minus one of its entries, so that a constant kernel is exactly zero."""
    a, M = dense_moments([K - K[0, -1] for K in grams], L)
    traces = np.array([np.trace(center(K)) for K in grams])
    Lc = center(L)
    return Moments(a, M, traces, None, float(np.linalg.norm(Lc)), float(np.trace(Lc)), len(L))


def columns(grams: list[np.ndarray]) -> np.ndarray:
    """The centered matrices as columns."""
    return np.stack([center(K - K[0, -1]).ravel() for K in grams], axis=1)


def reached(grams: list[np.ndarray], L: np.ndarray, weights: np.ndarray) -> float:
    """Centered alignment of the combination, from the centered matrices themselves."""
    K = (columns(grams) @ weights).reshape(L.shape)
    Lc = center(L)
    norms = np.linalg.norm(K) * np.linalg.norm(Lc)
    return float(np.sum(K * Lc) / norms) if norms else 0.0


@every_problem
@every_solver
def test_weights_are_normalized(problem: str, solver: str) -> None:
    grams, L = PROBLEMS[problem]()
    weights = SOLVERS[solver](moments_of(grams, L))
    assert weights.shape == (len(grams),)
    assert_allclose(np.abs(weights).sum(), 1.0, rtol=1e-12)
    if solver != "free":
        assert (weights >= 0.0).all()


@every_problem
def test_nonnegative_weights_satisfy_the_kkt_conditions(problem: str) -> None:
    """For min v'Mv - 2 v'a: r = Mv - a >= 0 and v_k r_k = 0, each on its kernel's own scale."""
    grams, L = PROBLEMS[problem]()
    A = columns(grams)
    target = center(L).ravel()
    weights = nonnegative_weights(moments_of(grams, L))
    combined = A @ weights
    v = weights * (combined @ target) / (combined @ combined)
    residual = A.T @ (A @ v - target)
    scale = np.linalg.norm(A, axis=0) * np.linalg.norm(target)
    active = v > 0.0
    assert active.any()
    assert (residual >= -1e-9 * scale).all()
    assert (np.abs(residual[active]) <= 1e-9 * scale[active]).all()
    assert (scale[active] > 0.0).all()


@pytest.mark.parametrize("problem", ["features", "rank_one", "noise", "several_outputs"])
def test_nonnegative_weights_agree_with_the_reference_where_unique(problem: str) -> None:
    grams, L = PROBLEMS[problem]()
    assert_allclose(nonnegative_weights(moments_of(grams, L)), alignf(grams, L), atol=1e-9)


@every_problem
def test_free_weights_agree_with_least_squares(problem: str) -> None:
    """The projection of L_c onto the span of the K_kc, M^+ a in closed form."""
    grams, L = PROBLEMS[problem]()
    A = columns(grams)
    scale = np.linalg.norm(A, axis=0)
    scale[scale == 0.0] = np.inf
    target = center(L).ravel()
    solution = np.linalg.lstsq(A / scale, target, rcond=1e-6)[0] / scale
    weights = free_weights(moments_of(grams, L))
    found, best = reached(grams, L, weights), reached(grams, L, solution)
    assert found >= best - 1e-6
    assert found >= reached(grams, L, nonnegative_weights(moments_of(grams, L))) - 1e-6
    if problem in ("features", "rank_one", "noise", "several_outputs", "one_kernel"):
        assert_allclose(weights, normalized(solution), atol=1e-9)


@every_problem
def test_independent_weights_are_the_alignments(problem: str) -> None:
    grams, L = PROBLEMS[problem]()
    one_by_one = [reached([K], L, np.ones(1)) for K in grams]
    expected = np.array(one_by_one) / np.sum(one_by_one)
    assert_allclose(independent_weights(moments_of(grams, L)), expected, atol=1e-9)


@every_problem
@every_solver
def test_the_order_of_the_kernels_does_not_matter(problem: str, solver: str) -> None:
    grams, L = PROBLEMS[problem]()
    order = np.random.default_rng(1).permutation(len(grams))
    weights = SOLVERS[solver](moments_of(grams, L))
    permuted = SOLVERS[solver](moments_of([grams[k] for k in order], L))
    first, second = reached(grams, L, weights), reached([grams[k] for k in order], L, permuted)
    assert_allclose(first, second, atol=1e-9)
    if problem in ("features", "rank_one", "noise", "several_outputs", "wild_scales"):
        assert_allclose(permuted, weights[order], rtol=1e-7, atol=1e-12)


@every_problem
@pytest.mark.parametrize("solver", ["nonnegative", "free"])
def test_the_scale_of_a_kernel_does_not_matter(problem: str, solver: str) -> None:
    grams, L = PROBLEMS[problem]()
    factors = 10.0 ** np.random.default_rng(2).uniform(-9, 9, size=len(grams))
    scaled = [K * c for K, c in zip(grams, factors, strict=True)]
    weights = SOLVERS[solver](moments_of(grams, L))
    found = SOLVERS[solver](moments_of(scaled, L))
    assert_allclose(reached(scaled, L, found), reached(grams, L, weights), atol=1e-9)
    if problem in ("features", "rank_one", "noise", "several_outputs"):
        assert_allclose(normalized(found * factors), weights, atol=1e-9)


@every_solver
@pytest.mark.parametrize("factor", [1e-100, 1e100])
def test_the_scale_of_the_target_does_not_matter(solver: str, factor: float) -> None:
    grams, L = features()
    weights = SOLVERS[solver](moments_of(grams, L))
    assert_allclose(SOLVERS[solver](moments_of(grams, factor * L)), weights, rtol=1e-9)


@every_solver
def test_without_any_variance_weights_are_uniform(solver: str) -> None:
    grams, L = [np.ones((4, 4)), np.zeros((4, 4))], np.outer([1, -1, 1, 1], [1, -1, 1, 1])
    assert_allclose(SOLVERS[solver](moments_of(grams, L)), [0.5, 0.5])


def test_normalized() -> None:
    assert_allclose(normalized(np.array([1.0, -3.0])), [0.25, -0.75])
    assert_allclose(normalized(np.zeros(4)), np.full(4, 0.25))
    assert_allclose(normalized(np.array([np.nan, 1.0])), [0.5, 0.5])


def test_block_pivoting_frees_kernels_of_little_gain() -> None:
    """Uncorrelated kernels have the weights a, however small some of them are."""
    a = np.geomspace(1e-9, 1.0, 150)
    assert_allclose(_block_pivoting(np.eye(150), a), a, rtol=1e-12)
    assert_allclose(best_nonnegative(a, np.eye(150)), a, rtol=1e-12)
