"""Kernels from names, callables, scikit-learn's Gaussian-process kernels and stacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics.pairwise import chi2_kernel, rbf_kernel
from sklearn.svm import SVC

from mercer.kernels import (
    CallableKernel,
    Gaussian,
    Kernel,
    Linear,
    OnColumns,
    Precomputed,
    SklearnKernel,
    as_dictionary,
    as_kernel,
)
from mercer.kernels._conversion import NAMES


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(0).uniform(size=(15, 2))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_stands_for_a_kernel(name: str, X: np.ndarray) -> None:
    kernel = as_kernel(name)
    assert isinstance(kernel, Kernel)
    assert kernel(X[:, :1]).shape == (15, 15)


def test_kernels_are_returned_as_they_are() -> None:
    kernel = Gaussian(3.0)
    assert as_kernel(kernel) is kernel
    assert as_kernel("rbf") is not as_kernel("rbf")


def test_callables_become_kernels(X: np.ndarray) -> None:
    kernel = as_kernel(chi2_kernel)
    assert isinstance(kernel, CallableKernel)
    assert kernel.theta.shape == (0,)
    assert kernel.describe() == "chi2_kernel"
    assert_allclose(kernel(X), chi2_kernel(X))
    assert_allclose(kernel(X, X[:4]), chi2_kernel(X, X[:4]))
    assert_allclose(kernel.diag(X), np.ones(15))


def test_array_of_a_callable_is_not_overwritten(X: np.ndarray) -> None:
    gram = rbf_kernel(X)
    before = gram.copy()
    K = as_kernel(lambda X, Z: gram)(X)
    K += 1.0
    assert_array_equal(gram, before)


def test_error_on_an_array_of_another_shape_names_the_callable(X: np.ndarray) -> None:
    def misshapen(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        return np.ones((len(X), 1))

    with pytest.raises(ValueError, match=r"misshapen returned .* \(15, 1\) where \(15, 15\)"):
        as_kernel(misshapen)(X)


def test_gaussian_process_kernels_keep_their_parameters(X: np.ndarray) -> None:
    source = gp.ConstantKernel(2.0, (1e-2, 1e2)) * gp.RBF([0.5, 1.5], (1e-3, 1e3))
    kernel = as_kernel(source)
    assert isinstance(kernel, SklearnKernel)
    assert_allclose(kernel.theta, source.theta)
    assert_allclose(kernel.log_bounds(X), source.bounds)
    assert_allclose(kernel(X), source(X))
    assert_allclose(kernel.diag(X), source.diag(X))


def test_gradient_of_a_gaussian_process_kernel_agrees_with_scikit_learn(X: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    wide = rng.uniform(size=(150, 2))
    P = rng.normal(size=(150, 150))
    source = gp.RBF([0.5, 1.5]) + gp.WhiteKernel(0.1) + 0.5 * gp.DotProduct(1.0)
    gram, tensor = source(wide, eval_gradient=True)
    value, gradient = SklearnKernel(source).vjp(wide, P)
    assert value == pytest.approx(np.sum(P * gram))
    assert_allclose(gradient, np.einsum("ij,ijk->k", P, tensor), atol=1e-9)


def test_a_bound_kernel_does_not_change_with_the_given_object(X: np.ndarray) -> None:
    source = gp.RBF(0.5)
    bound = as_kernel(source).bind(X)
    before = bound(X)
    source.length_scale = 5.0
    assert_array_equal(bound(X), before)


def test_precomputed_kernels_are_slices_of_a_stack() -> None:
    stack = np.random.default_rng(2).normal(size=(6, 4, 3))
    kernel = Precomputed(1)
    K = kernel(stack)
    assert_array_equal(K, stack[:, :, 1])
    assert not np.shares_memory(K, stack)
    assert_array_equal(kernel.diag(stack[:4]), np.diag(stack[:4, :, 1]))


def test_dictionary_from_a_mixture_of_sources(X: np.ndarray) -> None:
    sources = ["rbf", Gaussian(2.0, ard=True), gp.RBF(), rbf_kernel, Linear(per_feature=True)]
    kernels = as_dictionary(sources, X)
    assert len(kernels) == 6
    assert kernels[1].theta.shape == (2,)
    assert all(isinstance(kernel, OnColumns) for kernel in kernels[4:])
    assert_allclose(sum(kernel(X) for kernel in kernels[4:]), Linear()(X))
    with pytest.raises(ValueError, match="empty"):
        as_dictionary([], X)


def test_kernels_are_callable_kernels_of_support_vector_machines(X: np.ndarray) -> None:
    y = (X[:, 0] > X[:, 1]).astype(int)
    ours = SVC(kernel=Gaussian(0.5)).fit(X, y)
    theirs = SVC(kernel="rbf", gamma=4.0).fit(X, y)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-6)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("gausian", r"Unknown kernel 'gausian'.*gaussian"),
        (None, "must be a mercer kernel, a name, a callable"),
        (Gaussian, r"got the class Gaussian: write Gaussian\(\)"),
        (np.eye(3), r"an array of shape \(3, 3\). .* kernels=\"precomputed\""),
        (1.0, r"got 1\.0"),
    ],
)
def test_what_is_no_kernel_is_refused_with_what_to_write(source: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        as_kernel(source)
