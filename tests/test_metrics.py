"""Measures of dependence agree with their definitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference import gaussian, target_kernel

from mercer import alignment, centered_alignment, hsic

METRICS: dict[str, Callable[..., float]] = {
    "hsic": hsic,
    "alignment": alignment,
    "centered_alignment": centered_alignment,
}
every_metric = pytest.mark.parametrize("name", METRICS)


def table(n: int = 20) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, 3))


@every_metric
@given(seed=st.integers(0, 1000), n=st.integers(2, 12))
def test_two_matrices(name: str, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(n, 3)), rng.normal(size=(n, 2))
    A, B = A @ A.T, gaussian(B, 1.0)
    assert_allclose(METRICS[name](A, B), getattr(reference, name)(A, B), rtol=1e-9)
    assert_allclose(METRICS[name](A, B), METRICS[name](B, A), rtol=1e-9)


@every_metric
@pytest.mark.parametrize("n_classes", [2, 5])
def test_a_matrix_and_labels(name: str, n_classes: int) -> None:
    K = gaussian(table(), 1.5)
    y = np.array(list("abcde"))[np.arange(20) ** 2 % n_classes]
    found = METRICS[name](K, y)
    assert isinstance(found, float)
    assert_allclose(found, getattr(reference, name)(K, target_kernel(y)), rtol=1e-9)
    assert_allclose(METRICS[name](K.tolist(), y.tolist()), found, rtol=1e-12)


@every_metric
@pytest.mark.parametrize("outputs", [1, 2])
def test_a_matrix_and_responses(name: str, outputs: int) -> None:
    K = gaussian(table(), 1.5)
    y = np.random.default_rng(1).normal(loc=3.0, size=(20, outputs))
    expected = getattr(reference, name)(K, target_kernel(y, "regression"))
    assert_allclose(METRICS[name](K, y), expected, rtol=1e-9)
    if outputs == 1:
        assert_allclose(METRICS[name](K, y.ravel()), expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["alignment", "centered_alignment"])
@given(scale=st.floats(1e-100, 1e100), shift=st.floats(-10, 10))
def test_alignments_do_not_depend_on_scale(name: str, scale: float, shift: float) -> None:
    A, B = gaussian(table(), 1.0), table() @ table().T
    found = METRICS[name](A, B)
    assert_allclose(METRICS[name](scale * A, B), found, rtol=1e-9)
    assert_allclose(METRICS[name](A, scale * B), found, rtol=1e-9)
    if name == "centered_alignment":
        assert_allclose(METRICS[name](A + shift, B), found, rtol=1e-7)
    assert_allclose(METRICS[name](A, A), 1.0, rtol=1e-12)
    assert_allclose(METRICS[name](A, scale * A), 1.0, rtol=1e-9)


def test_values_in_closed_form() -> None:
    """Values of the block matrix of two clusters, and of the identity, where <H, L_c> = tr(L_c)."""
    y = np.array([-1, -1, 1, 1])
    block = (y[:, None] == y).astype(float)
    assert_allclose(centered_alignment(block, y), 1.0, rtol=1e-12)
    assert_allclose(alignment(block, y), np.sqrt(0.5), rtol=1e-12)
    assert_allclose(hsic(np.eye(4), y), 4.0 / 9.0, rtol=1e-12)
    assert_allclose(centered_alignment(np.eye(4), y), 1.0 / np.sqrt(3.0), rtol=1e-12)


def test_dependence_of_independent_variables_is_zero() -> None:
    x, y = np.repeat([0.0, 1.0], 2), np.array([0, 1, 0, 1])
    assert_allclose(centered_alignment(np.outer(x, x), y), 0.0, atol=1e-12)
    assert_allclose(hsic(np.outer(x, x), y), 0.0, atol=1e-12)


@pytest.mark.parametrize("name", ["alignment", "centered_alignment"])
def test_alignments_of_zero_matrices_are_zero(name: str) -> None:
    assert METRICS[name](np.zeros((4, 4)), [0, 1, 0, 1]) == 0.0
    assert centered_alignment(np.ones((4, 4)), [0, 1, 0, 1]) == 0.0


def test_single_precision_is_computed_in_double_precision() -> None:
    K = gaussian(table(300), 50.0).astype(np.float32)
    y = np.sign(table(300)[:, 0])
    assert_allclose(centered_alignment(K, y), centered_alignment(K.astype(float), y), rtol=1e-12)


@every_metric
@pytest.mark.parametrize(
    ("A", "B", "message"),
    [
        (np.ones((3, 2)), [0, 1, 1], r"A must be a square Gram matrix; got shape \(3, 2\)"),
        (np.triu(np.ones((3, 3))), [0, 1, 1], "A must be a symmetric Gram matrix"),
        (np.eye(3), np.triu(np.ones((3, 3))), "B must be a symmetric Gram matrix"),
        (np.eye(3), np.eye(4), r"inconsistent numbers of samples: \[3, 4\]"),
        (np.eye(3), [0, 1, 1, 0], r"inconsistent numbers of samples: \[3, 4\]"),
        (np.eye(3), [1, 1, 1], "only one class"),
        (np.eye(3), [0.5, 0.5, 0.5], "y is constant"),
        (np.full((3, 3), np.nan), [0, 1, 1], "A contains NaN"),
        (np.full((3, 3), np.inf), [0, 1, 1], "A contains infinity"),
        (np.eye(3), np.full((3, 3), np.nan), "B contains NaN"),
        (np.ones(3), [0, 1, 1], "Expected 2D array"),
        (np.eye(1), [0], "minimum of 2 is required"),
        (np.eye(3), [0.5, np.nan, 1.0], "contains NaN"),
    ],
)
def test_invalid_matrices(name: str, A: Any, B: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        METRICS[name](A, B)
