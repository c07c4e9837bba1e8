"""Products with large symmetric matrices, of which blocks of the upper triangle are stored."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer._gram import symmetric
from mercer._gram.symmetric import UpperTriangle, WholeMatrix
from mercer._gram.tiles import serial_algebra

RNG = np.random.default_rng(0)


def matrix(n: int) -> np.ndarray:
    A = RNG.normal(size=(n, n))
    return (A + A.T).astype(np.float32)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 300])
@pytest.mark.parametrize("n_vectors", [1, 5])
def test_results_are_those_of_the_whole_matrix(
    n: int, n_vectors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(symmetric, "_COLUMNS", 100)
    A = matrix(n)
    found, whole = UpperTriangle(n, lambda rows, columns: A[rows, columns]), WholeMatrix(A)
    assert len(found) == len(whole) == n
    vectors = RNG.normal(size=(n_vectors, n)).astype(np.float32)
    products = vectors.astype(float) @ A.astype(float)
    for one in (found, whole):
        assert one.product(vectors).dtype == np.float32
        assert_allclose(one.product(vectors), products, atol=1e-4)
        assert_array_equal(one.diagonal(), A.diagonal())
        chosen = RNG.permutation(n)[: n // 2 + 1]
        assert_array_equal(one.rows(chosen), A[chosen])
        held = np.zeros((n, n))
        for rows, columns, block in one.blocks():
            held[rows, columns] = block
        assert_array_equal(np.triu(held), np.triu(A))


def test_products_do_not_depend_on_the_number_of_threads() -> None:
    A = matrix(500)
    found = UpperTriangle(500, lambda rows, columns: A[rows, columns])
    vectors = RNG.normal(size=(3, 500)).astype(np.float32)
    first = found.product(vectors)
    with serial_algebra():
        assert_array_equal(found.product(vectors), first)
