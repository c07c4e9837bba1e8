"""Layouts of stacks of Gram matrices, and errors on invalid ones."""

from typing import Any

import numpy as np
import pytest
from learner_cases import problem
from numpy.testing import assert_array_equal
from reference import gaussian
from sklearn.base import clone

from mercer import AlignmentMaximization, TwoStageClassifier
from mercer._gram.dense import as_stack, check_stack

N = 40
X, Y = problem("binary", N)


def grams() -> list[np.ndarray]:
    return [gaussian(X, 1.0), X @ X.T]


def stack() -> np.ndarray:
    return np.stack(grams(), axis=-1)


LEARNER = AlignmentMaximization("precomputed")
MODEL = TwoStageClassifier(LEARNER)


def assert_raises(matrices: Any, message: str) -> None:
    for estimator in (LEARNER, MODEL):
        with pytest.raises(ValueError, match=message):
            clone(estimator).fit(matrices, Y)


# --- layouts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_new", [1, 7, N])
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
        (np.ones(N), "A precomputed stack must have shape .*; got 1 dimension"),
        (np.ones((2, N, N, 2)), "A precomputed stack must have shape .*; got 4 dimension"),
        (stack()[:, :30], r"must be square, .* got a stack of shape \(40, 30, 2\)"),
        (AMBIGUOUS, r"shape \(40, 40, 40\) is ambiguous.*Pass a list of matrices"),
        ([np.eye(N), np.eye(N - 1)], r"differ in shape: \[\(39, 39\), \(40, 40\)\]"),
        (stack()[:-1, :-1], r"inconsistent numbers of samples: \[39, 40\]"),
    ],
)
def test_stacks_of_other_shapes_raise_an_error(matrices: Any, message: str) -> None:
    assert_raises(matrices, message)


def test_of_one_sample_with_one_kernel_the_layout_is_not_ambiguous() -> None:
    for matrices in (np.eye(1), np.ones((1, 1, 1))):
        with pytest.raises(ValueError, match="minimum of 2 is required"):
            clone(LEARNER).fit(matrices, [1.0])


def test_a_list_of_as_many_matrices_as_samples_is_not_ambiguous() -> None:
    learner = AlignmentMaximization("precomputed").fit(list(AMBIGUOUS), Y)
    assert learner.weights_.shape == (N,)


def test_another_number_of_training_samples_raises_an_error() -> None:
    learner = AlignmentMaximization("precomputed").fit(stack(), Y)
    for rows in (stack()[:5, :30], stack()[:5, :30, 0], X[:5]):
        with pytest.raises(ValueError, match=r"one column a fitted sample.* got a stack of shape"):
            learner.transform(rows)


# --- values -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "place"), [(np.nan, (0, 39)), (np.inf, (39, 0))])
def test_values_that_are_not_finite_raise_an_error(value: float, place: tuple[int, int]) -> None:
    matrices = stack()
    matrices[*place, 1] = value
    assert_raises(matrices, "Input X contains (NaN|infinity)")
    learner = AlignmentMaximization("precomputed").fit(stack(), Y)
    with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
        learner.transform(matrices)


@pytest.mark.parametrize(("position", "scale"), [(0, 1e-6), (1, 1.0), (0, 1e9)])
def test_asymmetric_matrices_raise_an_error(position: int, scale: float) -> None:
    matrices = stack()
    matrices[..., position] *= scale
    matrices[3, 7, position] += 1e-3 * scale
    assert_raises(
        matrices, rf"Precomputed kernel {position} is not symmetric: entries differ by up to"
    )


def test_symmetry_is_tested_on_all_tiles() -> None:
    large = np.stack([np.eye(500), np.ones((500, 500))], axis=-1)
    check_stack(large)
    large[2, 498, 1] = 0.9
    with pytest.raises(ValueError, match=r"kernel 1 is not symmetric: entries differ by .* 0\.1"):
        check_stack(large)


@pytest.mark.parametrize("position", [0, 1])
def test_indefinite_matrices_raise_an_error(position: int) -> None:
    matrices = stack()
    matrices[..., position] -= 0.5 * np.eye(N) * matrices[..., position].max()
    message = f"Precomputed kernel {position} is not positive semi-definite, so it is no kernel"
    assert_raises(matrices, message)
    assert_raises(-stack(), "kernel 0 is not positive semi-definite")


@pytest.mark.parametrize("n", [256, 300, 1000])
def test_a_large_negative_eigenvalue_is_found_for_any_number_of_samples(n: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    with pytest.raises(ValueError, match="kernel 0 is not positive semi-definite"):
        check_stack((np.eye(n) - np.outer(x, x) / 10)[:, :, None])


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1.0, 1e8, 1e30])
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
    matrices = ((K + K.T) / 2.0)[:, :, None]
    if is_kernel:
        check_stack(matrices)
        return
    with pytest.raises(ValueError, match="kernel 0 is not positive semi-definite"):
        check_stack(matrices)
