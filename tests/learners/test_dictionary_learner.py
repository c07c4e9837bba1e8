"""Learners of weights: kernels of single features, invalid kernels, invalid parameters."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from learner_cases import problem, refused
from numpy.testing import assert_allclose
from reference import gaussian
from sklearn.base import BaseEstimator, clone

from mercer import (
    AlignmentMaximization,
    ContinuousAlignment,
    HSICWeights,
    IndependentAlignment,
    KernelOptimization,
    UniformCombination,
)
from mercer.kernels import (
    CallableKernel,
    Dirichlet,
    Gaussian,
    Linear,
    Matern,
    OnColumns,
    RationalQuadratic,
)

# --- kernels ----------------------------------------------------------------------------------

MAKERS = [ContinuousAlignment, AlignmentMaximization]


@pytest.mark.parametrize("make", MAKERS)
def test_unknown_kernels(make: Any) -> None:
    X, y = problem("binary")
    refused(make(lambda A, B: np.ones(3)), X, y, r"returned an array of shape \(3,\) where")
    refused(make("gausian"), X, y, "Unknown kernel 'gausian'; known names: .*dirichlet, .*gaussian")
    refused(make(3), X, y, "must be a mercer kernel, a name, a callable", TypeError)
    refused(make(Gaussian), X, y, "must be a mercer kernel, a name, a callable", TypeError)
    refused(make([]), X, y, "dictionary of kernels is empty")
    refused(make([Gaussian(), None]), X, y, "must be a mercer kernel", TypeError)
    message = "dense data is required by the kernel"
    refused(make(lambda A, B: A @ B.T), sp.csr_array(X), y, message, TypeError)
    refused(ContinuousAlignment("precomputed"), X, y, "precomputed")


@pytest.mark.parametrize("make", [*MAKERS, KernelOptimization])
def test_kernels_that_return_nan_or_infinity(make: Any) -> None:
    X, y = problem("binary")

    def broken(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        gram = gaussian(A, 1.0, B)
        if len(A) > 1:
            gram[1, -1] = gram[-1, 1] = np.nan
        return gram

    message = "Kernel returned NaN or infinity on the training samples: broken"
    refused(make(broken), X, y, message)
    refused(make(lambda A, B: np.full((len(A), len(B)), np.inf)), X, y, "NaN or infinity")
    if make is AlignmentMaximization:
        refused(make([Gaussian(), CallableKernel(broken), "linear"]), X, y, message)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ((2.0, 1.0), "bounds are reversed: the lower end 2 is above the upper end 1"),
        ((-1.0, 1.0), "bounds must be positive and finite"),
        ((1.0, np.nan), "bounds must be positive and finite"),
        ((1.0,), "bounds must be .* a pair"),
        ("dat", "bounds"),
    ],
)
def test_bounds(bounds: Any, message: str) -> None:
    X, y = problem("binary")
    refused(ContinuousAlignment(Gaussian(ard=True, bounds=bounds)), X, y, message)
    refused(KernelOptimization(Dirichlet(bounds=bounds)), X[:, :1], y, message)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Gaussian(-1.0), "bandwidth must be positive and finite; got -1.0"),
        (Gaussian([1.0, 2.0]), "2 widths, but X has 4 features"),
        (Matern(nu=1.0), "nu must be 0.5, 1.5 or 2.5; got 1.0"),
        (RationalQuadratic(alpha=0.0), "alpha must be positive and finite; got 0.0"),
        (OnColumns(Gaussian(), ["height"]), "'height' is chosen by name, but X has no column"),
    ],
)
def test_parameters_of_kernels(kernel: Any, message: str) -> None:
    for make in MAKERS:
        refused(make(kernel), *problem("binary"), message)


# --- parameters of learners -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (AlignmentMaximization(signs="both"), 'signs must be one of "nonnegative", "free"; got'),
        (HSICWeights(norm=3), 'norm must be 1, 2 or "cka"; got 3'),
        (HSICWeights(normalize=1), 'normalize must be one of None, "trace"; got 1'),
        (KernelOptimization(criterion="hisc"), 'criterion must be one of "hsic", "cka", "ka"'),
        (
            ContinuousAlignment(Gaussian(ard=True), certificate=True),
            "certificate=True needs families of one width or frequency",
        ),
    ],
)
def test_settings(learner: BaseEstimator, message: str) -> None:
    X, y = problem("binary")
    refused(learner, X, y, message)


# --- one kernel a feature ---------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_thousands_of_rank_one_kernels(container: Any) -> None:
    """800 samples, 1000 features: one Gram matrix is 5 MB, all of them 5 GB."""
    n, p = 800, 1000
    rng = np.random.default_rng(0)
    X = sp.random_array((n, p), density=0.01, rng=rng, format="csr")
    y = np.sign(np.asarray(X[:, :50].sum(axis=1)).ravel() - 0.25)
    dense = X.toarray()
    table = container(dense)
    learner = IndependentAlignment([Linear(per_feature=True)], normalize="trace")
    tracemalloc.start()
    try:
        learner.fit(table, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.2e9
    centered = dense - dense.mean(axis=0)
    traces = (centered**2).sum(axis=0)
    a = (centered.T @ (y - y.mean())) ** 2
    expected = np.divide(a, traces**2, out=np.zeros(p), where=traces > 1e-12)
    assert_allclose(learner.weights_, expected / expected.sum(), rtol=1e-7, atol=1e-15)
    assert learner.weights_.shape == (p,)
    weights = learner.weights_ / learner.scale_
    assert_allclose(learner.transform(table[:3]), (dense[:3] * weights) @ dense.T, atol=1e-9)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_a_feature_constant_up_to_rounding_has_no_weight(container: Any) -> None:
    X, y = problem("binary")
    table = container(np.column_stack([X, np.full(len(X), 0.1)]))
    for learner in (
        UniformCombination([Linear(per_feature=True)], normalize="trace"),
        IndependentAlignment([Linear(per_feature=True)], normalize="trace"),
        IndependentAlignment([Linear(per_feature=True)]),
        AlignmentMaximization([Linear(per_feature=True)]),
    ):
        assert learner.fit(table, y).weights_[-1] < 1e-9


def test_the_unit_of_a_feature_does_not_matter_to_its_kernel() -> None:
    X, y = problem("binary")
    here = AlignmentMaximization([Linear(per_feature=True)]).fit(X, y)
    scale = np.array([1e9, 1.0, 1.0, 1e-9])
    there = clone(here).fit(X * scale, y)
    rescaled = there.weights_ * scale**2
    assert_allclose(rescaled / rescaled.sum(), here.weights_, atol=1e-9)
