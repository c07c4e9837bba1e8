"""Properties of every kernel, also of two single rows, as scikit-learn's estimators need."""

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from kernel_cases import FOREST, KERNELS, N_FEATURES, NATIVE, STRUCTURES, WIDTHS, suited
from model_file_cases import saved_and_loaded
from numpy.testing import assert_allclose, assert_array_equal
from reference import central_difference
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import SpectralClustering
from sklearn.decomposition import KernelPCA
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import pairwise_kernels

from mercer import UniformCombination
from mercer.kernels import (
    Categorical,
    Dirichlet,
    Gaussian,
    Kernel,
    Laplacian,
    Matern,
    Missing,
    OnColumns,
    Ordinal,
    Periodic,
    Polynomial,
    Product,
    RationalQuadratic,
    Spectrum,
    Tanimoto,
    WeightedSum,
)

EVERY = {**KERNELS, **STRUCTURES}
SPARSE = {**NATIVE, **{name: k for name, k in STRUCTURES.items() if k.accepts_sparse}}
DENSE = {name: k for name, k in EVERY.items() if not (name in SPARSE or name in FOREST)}

every_kernel = pytest.mark.parametrize("kernel", EVERY.values(), ids=EVERY)
with_parameters = pytest.mark.parametrize(
    "kernel", [pytest.param(k, id=name) for name, k in EVERY.items() if k.theta.size]
)


def tables() -> st.SearchStrategy[np.ndarray]:
    """Tables of three features that often have equal rows and equal entries."""
    entries = st.sampled_from([0.0, 1.0, -2.0]) | st.floats(-3, 3, allow_subnormal=False)
    shapes = st.tuples(st.integers(1, 9), st.just(N_FEATURES))
    return arrays(np.float64, shapes, elements=entries)


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(20, N_FEATURES))


def scale_of(kernel: Kernel, X: np.ndarray) -> float:
    return float(np.abs(kernel.diag(X)).max(initial=1.0))


@every_kernel
@given(X=tables(), Z=tables())
@settings(max_examples=15)
def test_gram_is_positive_semidefinite_and_that_of_two_tables(
    kernel: Kernel, X: np.ndarray, Z: np.ndarray
) -> None:
    X, Z = suited(kernel, X), suited(kernel, Z)
    both = np.vstack([X, Z])
    K, scale = kernel(both), scale_of(kernel, both)
    assert_allclose(K, K.T, atol=1e-12 * scale)
    assert np.linalg.eigvalsh((K + K.T) / 2).min() >= -1e-6 * scale
    assert_allclose(kernel.diag(both), np.diag(K), rtol=1e-10, atol=1e-12)
    if kernel is not KERNELS["gp"]:
        assert_allclose(kernel(X, Z), K[: len(X), len(X) :], atol=1e-6 * scale)


@every_kernel
@given(seed=st.integers(0, 2**32 - 1), other=st.booleans())
@settings(max_examples=10)
def test_vjp_agrees_with_central_differences(kernel: Kernel, seed: int, other: bool) -> None:
    rng = np.random.default_rng(seed)
    X = suited(kernel, rng.normal(size=(7, N_FEATURES)))
    Z = suited(kernel, rng.normal(size=(5, N_FEATURES))) if other else None
    P = rng.normal(size=(7, 5 if other else 7))
    value, gradient = kernel.vjp(X, P, Z)
    size = np.abs(P * kernel(X, Z)).sum()
    assert value == pytest.approx(np.sum(P * kernel(X, Z)), abs=1e-10 * size)
    numeric = central_difference(
        lambda theta: float(np.sum(P * kernel.with_theta(theta)(X, Z))), kernel.theta, step=1e-5
    )
    assert gradient.shape == kernel.theta.shape
    assert_allclose(gradient, numeric, atol=1e-7 * size)


@every_kernel
def test_vjp_is_summed_over_blocks_of_rows(kernel: Kernel) -> None:
    rng = np.random.default_rng(2)
    X, P = suited(kernel, rng.normal(size=(300, N_FEATURES))), rng.normal(size=(300, 300))
    value, gradient = kernel.vjp(X, P)
    assert value == pytest.approx(np.sum(P * kernel(X)), abs=1e-8)
    half = [kernel.vjp(X[rows], P[rows], X) for rows in (slice(150), slice(150, 300))]
    if kernel is not KERNELS["gp"]:
        # A row's distance to itself is exactly zero only where it is known to be the same row.
        assert_allclose(half[0][1] + half[1][1], gradient, atol=1e-5)


@with_parameters
def test_with_theta_sets_theta(kernel: Kernel, X: np.ndarray) -> None:
    assert_allclose(kernel.with_theta(kernel.theta)(X), kernel(X), rtol=1e-12, atol=1e-14)
    theta = kernel.theta + np.linspace(-0.5, 0.5, kernel.theta.size)
    moved = kernel.with_theta(theta)
    assert type(moved) is type(kernel)
    assert_allclose(moved.theta, theta, atol=1e-12)
    assert not np.allclose(moved(X), kernel(X))


@every_kernel
def test_log_bounds_are_intervals(kernel: Kernel, X: np.ndarray) -> None:
    X = suited(kernel, X)
    bounds = kernel.log_bounds(X)
    assert bounds.shape == (kernel.theta.size, 2)
    assert np.isfinite(bounds).all()
    assert (bounds[:, 0] <= bounds[:, 1]).all()
    assert_allclose(kernel.log_bounds(X[::-1]), bounds)


@every_kernel
def test_constant_columns_give_finite_values(kernel: Kernel) -> None:
    X = suited(kernel, np.full((5, N_FEATURES), 2.0))
    value, gradient = kernel.vjp(X, np.ones((5, 5)))
    assert_allclose(value, np.sum(kernel(X)), rtol=1e-12)
    bound = kernel.bind(X)
    assert np.isfinite([*gradient, *bound.starts(X).ravel(), *bound.log_bounds(X).ravel()]).all()


@every_kernel
def test_no_method_changes_a_kernel(kernel: Kernel, X: np.ndarray) -> None:
    X = suited(kernel, X)
    before, table = copy.deepcopy(kernel), X.copy()
    kernel(X)
    kernel(X, X[:3])
    kernel.diag(X)
    kernel.vjp(X, np.ones((20, 20)))
    kernel.with_theta(kernel.theta + 1.0)
    kernel.log_bounds(X)
    kernel.bind(X)
    assert_array_equal(X, table)
    assert_array_equal(kernel.theta, before.theta)
    assert_array_equal(kernel(X), before(X))


@every_kernel
def test_clones_rebuilt_and_saved_kernels_are_equal(kernel: Kernel, X: np.ndarray) -> None:
    X = suited(kernel, X)
    rebuilt = type(kernel)(**kernel.get_params(deep=False))
    copies = [clone(kernel), rebuilt]
    if kernel == KERNELS["callable"]:
        # No functions are read from files.
        with pytest.raises(ValueError, match="a kind that models lack, 'FunctionNode'"):
            saved_and_loaded(kernel)
    else:
        copies.append(saved_and_loaded(kernel))
    for copied in copies:
        assert copied is not kernel
        assert_array_equal(copied(X), kernel(X))
    assert rebuilt == kernel
    assert hash(rebuilt) == hash(kernel)


@every_kernel
def test_single_precision_is_preserved(kernel: Kernel, X: np.ndarray) -> None:
    narrow = suited(kernel, X).astype(np.float32)
    assert kernel(narrow).dtype == np.float32
    assert kernel(narrow, narrow[:3]).dtype == np.float32
    assert kernel(narrow, suited(kernel, X)).dtype == np.float64
    assert kernel.diag(narrow).dtype == np.float32
    assert_allclose(kernel(narrow), kernel(suited(kernel, X)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.coo_array])
@pytest.mark.parametrize("kernel", SPARSE.values(), ids=SPARSE)
def test_sparse_features_agree_with_dense_ones(
    kernel: Kernel, container: Any, X: np.ndarray
) -> None:
    X[X < 0.3] = 0.0
    X = suited(kernel, X)
    P = np.random.default_rng(4).normal(size=(20, 20))
    assert kernel.accepts_sparse
    # Distances of coinciding rows are zero to the square root of the machine precision.
    assert_allclose(kernel(container(X)), kernel(X), atol=1e-7)
    assert_allclose(kernel(container(X), container(X[:4])), kernel(X, X[:4]), atol=1e-7)
    assert_allclose(kernel.diag(container(X)), kernel.diag(X))
    dense, sparse = kernel.vjp(X, P), kernel.vjp(container(X), P)
    assert sparse[0] == pytest.approx(dense[0])
    assert_allclose(sparse[1], dense[1], atol=1e-5)


@pytest.mark.parametrize("kernel", DENSE.values(), ids=DENSE)
def test_unsupported_sparse_features_raise_an_error(kernel: Kernel, X: np.ndarray) -> None:
    assert not kernel.accepts_sparse
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        kernel(sp.csr_array(X))


@every_kernel
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_features_of_any_scale_give_finite_values(
    kernel: Kernel, scale: float, X: np.ndarray
) -> None:
    X = suited(kernel, X * scale)
    K = kernel(X)
    value, gradient = kernel.vjp(X, np.ones((20, 20)))
    assert np.isfinite([*K.ravel(), value, *gradient]).all()
    assert_allclose(kernel.diag(X), np.diag(K), rtol=1e-10)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(0.0),
        Gaussian([1.0, np.nan, 1.0]),
        Matern(nu=1.0),
        RationalQuadratic(alpha=0.0),
        Dirichlet(frequency=-2.0),
        Polynomial(degree=1.5),
        Polynomial(gamma=0.0),
        Polynomial(coef0=-1.0),
        WeightedSum([Gaussian()], [0.5, 0.5]),
        Product([]),
        Categorical(rarity=0.0),
        Categorical("median"),
        Ordinal(-1.0),
        Periodic(period=0.0),
        Periodic(period=[1.0, 2.0]),
        Missing(Gaussian(), 0.0),
        Tanimoto("cosine"),
        Spectrum(0),
        Spectrum(2, mismatches=2),
    ],
    ids=str,
)
def test_parameters_outside_their_range_raise_an_error(kernel: Kernel, X: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"must|needs"):
        kernel(X)


@pytest.mark.parametrize("kernel", [k for name, k in EVERY.items() if name not in FOREST])
def test_invalid_tables_raise_an_error(kernel: Kernel, X: np.ndarray) -> None:
    X = suited(kernel, X)
    for table, message in (
        *([(np.full((2, N_FEATURES), np.nan), "NaN")] * (not kernel.accepts_missing)),
        (np.full((2, N_FEATURES), np.inf), "infinity"),
        (np.ones(N_FEATURES), "2D array"),
        (np.ones((0, N_FEATURES)), "0 sample"),
    ):
        with pytest.raises(ValueError, match=message):
            kernel(table)
    with pytest.raises(ValueError, match=r"(?i)incompatible dimension|features|absent"):
        kernel(X[:, 1:], X[:, :0] if kernel is KERNELS["dirichlet"] else X[:, :1])
    with pytest.raises(ValueError, match=r"P must have shape \(20, 20\)"):
        kernel.vjp(X, np.ones((20, 19)))


def test_kernels_are_equal_if_all_their_parameters_are() -> None:
    assert Gaussian(1.0) == Gaussian(1.0)
    assert Gaussian(1.0) != Gaussian(1.0 + 1e-12)
    assert Gaussian(1.0) != Laplacian(1.0)
    parts = [Gaussian(WIDTHS, ard=True), Gaussian(WIDTHS * (1 + 1e-12), ard=True)]
    assert Product([parts[0]]) != Product([parts[1]])
    many = [Gaussian(1.0 + k) for k in range(60)]
    few = [*many[:30], Gaussian(0.5), *many[31:]]
    assert Product([Product(many)]) != Product([Product(few)])


RNG = np.random.default_rng(0)
ROWS, NEW_ROWS = RNG.normal(size=(25, N_FEATURES)), RNG.normal(size=(6, N_FEATURES))
RESPONSE = np.sin(ROWS).sum(axis=1)

SOME = {
    "gaussian": Gaussian([1.0, 2.0, 3.0], ard=True),
    "sum": Laplacian(2.0) + 0.5 * Gaussian(1.0),
    "on-columns": OnColumns(Gaussian(1.5), [0, 2]),
    "categorical": Categorical(),
    "learned": UniformCombination([Gaussian(1.0), Gaussian(4.0)]).fit(ROWS, RESPONSE).kernel_,
}
ESTIMATORS: list[Any] = [
    KernelRidge(alpha=0.1),
    KernelPCA(3, random_state=0),
    Nystroem(n_components=8, random_state=0),
    SpectralClustering(2, random_state=0),
]


@pytest.mark.parametrize("kernel", EVERY.values(), ids=EVERY)
def test_the_kernel_of_two_rows_is_the_entry_of_the_gram_matrix(kernel: Kernel) -> None:
    rows, others = suited(kernel, ROWS), suited(kernel, NEW_ROWS)
    value = kernel(rows[3], others[1])
    assert isinstance(value, float)
    assert_allclose(value, kernel(rows[3:4], others[1:2]).item(), rtol=0.0)
    listed = kernel(rows[3].tolist(), others[1].tolist())
    assert_allclose(listed, value, rtol=0.0)


@pytest.mark.parametrize("kernel", SOME.values(), ids=SOME)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_estimators_of_scikit_learn_take_kernels(estimator: BaseEstimator, kernel: Kernel) -> None:
    name = "affinity" if isinstance(estimator, SpectralClustering) else "kernel"
    called = estimator.set_params(**{name: kernel}).fit(ROWS, RESPONSE)
    if hasattr(called, "transform"):
        assert np.isfinite(called.transform(NEW_ROWS)).all()
        return
    if hasattr(called, "predict"):
        found = called.predict(NEW_ROWS)
        model = KernelRidge(alpha=0.1, kernel="precomputed").fit(kernel(ROWS), RESPONSE)
        assert_allclose(found, model.predict(kernel(NEW_ROWS, ROWS)), rtol=1e-10)
        return
    assert_allclose(called.affinity_matrix_, kernel(ROWS), atol=1e-12)


def test_pairs_of_rows_are_all_that_is_taken() -> None:
    kernel = Gaussian(2.0)
    assert_allclose(
        pairwise_kernels(ROWS, NEW_ROWS, metric=kernel), kernel(ROWS, NEW_ROWS), atol=1e-12
    )
    frame = pd.DataFrame(ROWS, columns=list("abc"))
    assert kernel(frame.iloc[0], frame.iloc[1]) == kernel(ROWS[0], ROWS[1])
    assert kernel(ROWS[0].astype(np.float32), ROWS[1].astype(np.float32)).dtype == np.float32
    for one, other in ((ROWS[0], None), (ROWS[0], ROWS), (ROWS, ROWS[0])):
        with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
            kernel(one, other)
    with pytest.raises(ValueError, match=r"X.shape\[1\] == 3 while Z.shape\[1\] == 2"):
        kernel(ROWS[0], ROWS[1, :2])
    with pytest.raises(ValueError, match="contains NaN"):
        kernel(ROWS[0], [np.nan, 0.0, 0.0])
