"""Tables and targets for the tests of moments, and the comparison with whole matrices."""

import numpy as np
from kernel_cases import N_FEATURES
from numpy.testing import assert_allclose
from reference import center
from reference import moments as dense_moments

from mercer._gram.moments import Moments

SEVERAL_TILES = 400
"""A Gram matrix of this many samples has several tiles, as from 384 samples on."""


def table(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, N_FEATURES))


def targets(n: int, n_targets: int = 2, seed: int = 1) -> np.ndarray:
    Y = np.random.default_rng(seed).normal(size=(n, n_targets))
    return Y - Y.mean(axis=0)


def assert_moments(found: Moments, grams: list[np.ndarray], Y: np.ndarray, rtol: float) -> None:
    """The moments agree with those of dense matrices, up to `rtol` relative to their norms."""
    a, M = dense_moments(grams, Y @ Y.T)
    norms = np.sqrt(np.diag(M))
    target_norm = np.linalg.norm(Y @ Y.T)
    assert_allclose(
        found.M / np.outer(norms, norms), M / np.outer(norms, norms), rtol=0.0, atol=rtol
    )
    assert_allclose(found.a / norms / target_norm, a / norms / target_norm, rtol=0.0, atol=rtol)
    assert_allclose(found.traces, [np.trace(center(K)) for K in grams], rtol=rtol)
    assert_allclose(found.target_norm, target_norm, rtol=1e-12)
    assert_allclose(found.target_trace, np.trace(Y @ Y.T), rtol=1e-12)
    assert found.n_samples == len(Y)
