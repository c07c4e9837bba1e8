"""Factors and inverses by products of blocks, against those of NumPy and LAPACK."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer._data.types import Array
from mercer._gram import factors
from mercer._gram.block_factors import inverse_from, upper_factor, upper_inverse
from mercer._gram.tiles import map_tiles


def definite(n: int, kind: type) -> Array:
    rows = np.random.default_rng(n).normal(size=(n, n))
    return np.asarray(rows @ rows.T / n + np.eye(n), dtype=kind)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 200, 257])
def test_factors_and_inverses_agree_with_numpy(n: int, kind: type) -> None:
    matrix = definite(n, kind)
    factor, n_done = upper_factor(matrix.copy())
    root, inverse = upper_inverse(factor), inverse_from(factor)
    close = {"rtol": 0.0, "atol": 100.0 * float(np.finfo(kind).eps)}
    assert n_done == 0
    assert {factor.dtype, root.dtype, inverse.dtype} == {np.dtype(kind)}
    assert_allclose(factor, np.linalg.cholesky(matrix.astype(float)).T, **close)
    assert_allclose(root @ factor, np.eye(n), **close)
    assert_allclose(inverse @ matrix, np.eye(n), **close)
    assert_array_equal(inverse, inverse.T)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("n", [300, 301, 640, 700])
def test_inverses_by_halves_are_inverses(n: int, kind: type) -> None:
    factor, _ = upper_factor(definite(n, kind))
    root = upper_inverse(factor)
    atol = 100.0 * float(np.finfo(kind).eps)
    assert_allclose(root @ factor, np.eye(n), rtol=0.0, atol=atol)
    assert_array_equal(root, np.triu(root))


@pytest.mark.parametrize("row", [3, 64, 150])
def test_the_first_row_that_is_not_definite_is_reported(row: int) -> None:
    matrix = definite(200, np.float64)
    matrix[row, row] = -1.0
    _, n_done = upper_factor(matrix.copy())
    assert n_done == row + 1
    with pytest.raises(ValueError, match="positive"):
        factors.definite_factor(matrix)


def test_tasks_side_by_side_have_the_factors_of_one_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer._gram.tiles.n_threads", lambda: 2)
    monkeypatch.setattr(factors, "_BLOCKED_ROWS", 50)
    matrix = definite(120, np.float64)

    def solved(scale: float) -> list[Array]:
        factor = factors.definite_factor(scale * matrix)
        both = factors.inverse_factor(factor.copy(order="F")), factors.inverted(factor)
        return [factor, *both]

    for scale, found in zip((1.0, 2.0, 3.0), map_tiles(solved, (1.0, 2.0, 3.0)), strict=True):
        for one, other in zip(found, solved(scale), strict=True):
            assert_allclose(one, other, rtol=0.0, atol=1e-13)
