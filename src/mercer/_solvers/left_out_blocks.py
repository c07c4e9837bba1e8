"""Blocks of V diag(d) V' among samples that are left out together, for several d at once."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from sklearn.utils import gen_batches

from mercer._data.resampling import Indices
from mercer._data.types import Array
from mercer._gram.tiles import CACHED_VALUES


def left_out_blocks(vectors: Array, factors: Array, batches: Sequence[Indices]) -> Iterator[Array]:
    """Yield blocks of V diag(d) V' for the rows of each part.

    Parameters
    ----------
    vectors : ndarray of shape (n_rows, n_vectors)
        V.
    factors : ndarray of shape (n_factors, n_vectors)
        The vectors d as rows, not negative.
    batches : sequence of ndarray of int of shape (n_parts, size)
        Indices of rows of V, with one part in each row of an array.

    Yields
    ------
    ndarray of shape (n_factors, n_parts, size, size)
        Blocks of the parts of one batch.

    Notes
    -----
    For parts with fewer than twice as many samples as there are factors, products of pairs of rows
    are formed once for all factors. For larger parts, rows are multiplied by the square roots of
    each d. Both ways take half the operations of V diag(d) V', because it is symmetric, and the
    choice minimizes the multiplications outside of matrix products. In total, each row takes
    O(n_factors size n_vectors).

    Examples
    --------
    >>> blocks = left_out_blocks(np.eye(3), np.array([[1.0, 2.0, 3.0]]), [np.array([[0, 2]])])
    >>> next(blocks)[0, 0]
    array([[1., 0.],
           [0., 3.]])
    """
    most = 2 * len(factors)
    pairs = [
        batch[:, _triangle(batch.shape[1])[0]].transpose(1, 0, 2).reshape(2, -1)
        for batch in batches
        if batch.shape[1] < most
    ]
    sums = np.empty((len(factors), 0))
    if pairs:
        sums = _pair_sums(np.ascontiguousarray(vectors), factors, *np.concatenate(pairs, axis=1))
    for batch in batches:
        n_parts, size = batch.shape
        if size >= most:
            yield np.array([[_outer(vectors[p] * d) for p in batch] for d in np.sqrt(factors)])
            continue
        above, position = _triangle(size)
        here, sums = np.split(sums, [n_parts * above.shape[1]], axis=1)
        yield here.reshape(len(factors), n_parts, -1)[:, :, position]


@lru_cache(maxsize=64)
def _triangle(size: int) -> tuple[Indices, Indices]:
    """Return indices on and above a diagonal, and the position of each entry among them."""
    above = np.array(np.triu_indices(size))
    position = np.empty((size, size), dtype=np.intp)
    position[*above] = position[*above[::-1]] = np.arange(above.shape[1])
    return above, position


def _outer(rows: Array) -> Array:
    """Return the products of all rows with each other."""
    return np.asarray(rows @ rows.T)


def _pair_sums(vectors: Array, factors: Array, first: Indices, second: Indices) -> Array:
    """Return sums of products of two rows and each d, shape (n_factors, n_pairs)."""
    sums = np.empty((len(first), len(factors)))
    for tile in gen_batches(len(first), max(CACHED_VALUES // vectors.shape[1], 1)):
        products = vectors[first[tile]]
        products *= vectors[second[tile]]
        np.matmul(products, factors.T, out=sums[tile])
    return sums.T
