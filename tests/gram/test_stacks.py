"""Layouts of stacks of Gram matrices, and errors on invalid ones."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from learner_cases import problem
from numpy.testing import assert_array_equal
from reference import gaussian
from sklearn.base import clone

from mercer import (
    AlignmentMaximization,
    BayesianMKLClassifier,
    MKLClassifier,
    TwoStageClassifier,
)
from mercer._gram.dense import as_stack, check_stack

N = 40
X, Y = problem("binary", N)


def grams() -> list[np.ndarray]:
    return [gaussian(X, 1.0), X @ X.T]


def stack() -> np.ndarray:
    return np.stack(grams(), axis=-1)


LEARNER = AlignmentMaximization("precomputed")
MODELS = [TwoStageClassifier(LEARNER), MKLClassifier("precomputed")]
MODELS += [BayesianMKLClassifier("precomputed")]


def assert_raises(matrices: Any, message: str) -> None:
    for estimator in (LEARNER, *MODELS):
        with pytest.raises((ValueError, TypeError), match=message):
            clone(estimator).fit(matrices, Y)


@pytest.mark.parametrize("n_new", [1, N])
def test_every_layout_becomes_kernels_last(n_new: int) -> None:
    last = np.random.default_rng(0).normal(size=(n_new, N, 3))
    for layout in (last, [last[..., k] for k in range(3)], tuple(last[..., k] for k in range(3))):
        assert_array_equal(as_stack(layout, (N, 3)), last)
    assert_array_equal(as_stack(np.moveaxis(last, -1, 0), (N, 3)), last)
    assert_array_equal(as_stack(last[..., 0], (N, 1)), last[..., :1])
    assert as_stack(stack().astype(np.float32)).dtype == np.float32


AMBIGUOUS = np.stack([np.eye(N)] * N)


@pytest.mark.parametrize(
    ("matrices", "message"),
    [
        (sp.csr_array(np.eye(N)), "Sparse data was passed"),
        (np.ones(N), "A precomputed stack must have shape .*; got 1 dimension"),
        (stack()[:, :30], r"must be square, .* got a stack of shape \(40, 30, 2\)"),
        (AMBIGUOUS, r"shape \(40, 40, 40\) is ambiguous.*Pass a list of matrices"),
        ([np.eye(N), np.eye(N - 1)], r"differ in shape: \[\(39, 39\), \(40, 40\)\]"),
        (stack()[:-1, :-1], r"inconsistent numbers of samples: \[39, 40\]"),
    ],
)
def test_stacks_of_other_shapes_raise_an_error(matrices: Any, message: str) -> None:
    assert_raises(matrices, message)


def test_a_list_of_as_many_matrices_as_samples_is_not_ambiguous() -> None:
    learner = AlignmentMaximization("precomputed").fit(list(AMBIGUOUS), Y)
    assert learner.weights_.shape == (N,)


def test_another_number_of_training_samples_raises_an_error() -> None:
    learner = AlignmentMaximization("precomputed").fit(stack(), Y)
    for rows in (stack()[:5, :30], stack()[:5, :30, 0], X[:5]):
        with pytest.raises(ValueError, match=r"one column a fitted sample.* got a stack of shape"):
            learner.transform(rows)


def test_values_that_are_not_finite_raise_an_error() -> None:
    matrices = stack()
    matrices[0, 39, 1] = np.nan
    assert_raises(matrices, "Input X contains NaN")
    learner = AlignmentMaximization("precomputed").fit(stack(), Y)
    with pytest.raises(ValueError, match="contains NaN"):
        learner.transform(matrices)


def test_asymmetric_matrices_raise_an_error() -> None:
    matrices = stack()
    matrices[..., 1] *= 1e-6
    matrices[3, 7, 1] += 1e-9
    assert_raises(matrices, "Precomputed kernel 1 is not symmetric: entries differ by up to")


def test_indefinite_matrices_raise_an_error() -> None:
    matrices = stack()
    matrices[..., 1] -= 0.5 * np.eye(N) * matrices[..., 1].max()
    assert_raises(
        matrices, "Precomputed kernel 1 is not positive semi-definite, so it is not a kernel"
    )


@pytest.mark.parametrize("n", [256, 300])
def test_a_large_negative_eigenvalue_is_found_for_any_number_of_samples(n: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    with pytest.raises(ValueError, match="kernel 0 is not positive semi-definite"):
        check_stack((np.eye(n) - np.outer(x, x) / 10)[:, :, None])


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_singular_matrices_of_any_scale_are_valid(scale: float) -> None:
    """Eigenvalues of singular matrices are negative by rounding, which is not an error."""
    x = np.random.default_rng(0).normal(size=(300, 1))
    wide = gaussian(np.repeat(X, 3, axis=0), 100.0)
    for gram in (x @ x.T, np.ones((300, 300)), np.zeros((300, 300)), wide):
        check_stack(scale * gram[:, :, None])
        check_stack((scale * gram[:, :, None]).astype(np.float32))


@pytest.mark.parametrize(("negative", "is_kernel"), [(1e-10, True), (1e-5, False)])
def test_negative_eigenvalues_are_rounding_up_to_a_part_of_the_trace(
    negative: float, is_kernel: bool
) -> None:
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    values = np.array([0.4, 0.3, 0.2, 0.1, 0.0, -negative])
    K = (rotation * values) @ rotation.T
    refusal = pytest.raises(ValueError, match="kernel 0 is not positive semi-definite")
    with nullcontext() if is_kernel else refusal:
        check_stack(((K + K.T) / 2.0)[:, :, None])
