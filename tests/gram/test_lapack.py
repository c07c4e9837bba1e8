"""Factors by LAPACK's own functions, which let other threads run."""

import threading
import time

import numpy as np
import pytest
import scipy.linalg

from mercer._gram.lapack import lower_triangle, potrf, potri, trtri

RNG = np.random.default_rng(0)


def system(n, dtype=float):
    A = RNG.normal(size=(n, n))
    return np.asfortranarray(A @ A.T + np.eye(n), dtype=dtype)


@pytest.mark.parametrize("n", [0, 1, 5, 127, 128, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_factors_and_inverses_are_those_of_scipy(n, dtype):
    matrix = system(n, dtype)
    rounding = {"rtol": 1e-2, "atol": 1e-2} if dtype == np.float32 else {"atol": 1e-8}
    factor = matrix.copy(order="F")
    assert potrf(factor) == 0
    np.testing.assert_array_equal(np.triu(factor, 1), np.triu(matrix, 1))
    lower_triangle(factor)
    if n:
        expected = scipy.linalg.cholesky(matrix, lower=True)
        np.testing.assert_allclose(factor, expected, **rounding)
    inverse = factor.copy(order="F")
    assert potri(inverse) == 0
    symmetric = np.tril(inverse) + np.tril(inverse, -1).T
    np.testing.assert_allclose(symmetric @ matrix, np.eye(n), **rounding)
    assert trtri(factor) == 0
    np.testing.assert_allclose(factor.T @ factor, symmetric, **rounding)


def test_the_first_row_that_is_not_positive_is_reported():
    matrix = system(10)
    matrix[6, 6] = -1.0
    assert potrf(matrix) == 7
    assert trtri(np.asfortranarray(np.diag([1.0, 0.0]))) == 2


def test_matrices_in_another_order_are_not_taken():
    with pytest.raises(AssertionError):
        potrf(np.ascontiguousarray(np.arange(4.0).reshape(2, 2)))
    matrix = system(3)
    matrix.flags.writeable = False
    with pytest.raises(AssertionError):
        potrf(matrix)


def test_other_threads_run_while_a_matrix_is_factorized():
    """SciPy's own functions hold the lock; the counts of another thread then stand still."""
    matrix, counts, stop = system(1200), [], threading.Event()

    def count():
        while not stop.is_set():
            counts.append(time.perf_counter())
            time.sleep(0.0)

    thread = threading.Thread(target=count)
    thread.start()
    start = time.perf_counter()
    for _ in range(3):
        potrf(matrix.copy(order="F"))
    end = time.perf_counter()
    stop.set()
    thread.join()
    inside = np.array([at for at in counts if start < at < end])
    gaps = np.diff(np.concatenate([[start], inside, [end]]))
    # A factorization that holds the lock is a gap of a third of the time.
    assert gaps.max() < 0.25 * (end - start)
