"""Centers of Nyström features: rows of a sample, drawn at random or by a pivoted decomposition."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from sklearn.utils import check_random_state

from mercer._gram.tiles import serial_algebra
from mercer._model_selection.kernel_prices import RandomState
from mercer._typing import Array, Features
from mercer._validation import check_choice
from mercer.kernels import Kernel

Method: TypeAlias = Literal["sample", "cholesky"]

_PIVOTS = 64
"""A randomly pivoted decomposition draws so many pivots at once."""

_LEFT = 1e-12
"""A residual diagonal below this fraction of the diagonal is rounding."""


def choose_centers(
    kernel: Kernel,
    X: Features,
    n_components: int,
    method: Method = "sample",
    random_state: RandomState = 0,
) -> Features:
    """Rows of a sample that a kernel's functions are expanded in.

    Parameters
    ----------
    kernel : Kernel
        Bound to the table.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        A sample of the rows.
    n_components : int
        Number of centers, positive; all distinct rows if there are fewer.
    method : {"sample", "cholesky"}, default="sample"
        Rows drawn uniformly, or the pivots of a randomly pivoted Cholesky decomposition, which
        draws rows in proportion to what the rows drawn before leave unexplained of the kernel.
    random_state : int, RandomState instance or None, default=0

    Returns
    -------
    ndarray or sparse matrix of shape (n_centers, n_features)

    Raises
    ------
    ValueError
        If the number of centers is not positive, the sample is empty, or the method is unknown.

    Notes
    -----
    For m centers of n sampled rows, `"cholesky"` takes O(n m^2) time and memory for an n x m
    matrix.

    References
    ----------
    Chen, Epperly, Tropp, Webber (2025), Randomly pivoted Cholesky, Communications on Pure and
    Applied Mathematics 78, algorithm 3 (block pivots).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> choose_centers(Gaussian(), np.array([[0.0], [0.0], [1.0]]), 2).shape
    (2, 1)
    """
    check_choice("method", method, ("sample", "cholesky"))
    if n_components < 1:
        raise ValueError(f"n_components must be positive; got {n_components!r}.")
    if X.shape[0] == 0:
        raise ValueError("Centers need at least one row to be drawn from.")
    rng = check_random_state(random_state)
    order = rng.permutation(X.shape[0])
    if method == "cholesky":
        return X[np.sort(_pivots(kernel, X, n_components, rng))]
    first = _distinct(X[order[: 2 * n_components]])
    if len(first) < min(n_components, X.shape[0]):
        first = _distinct(X[order])
    return X[np.sort(order[first[:n_components]])]


def _distinct(X: Features) -> Array:
    """Indices of the rows that differ from all rows before them, ascending."""
    if sp.issparse(X):
        table = X.tocsr().copy()
        table.sum_duplicates()
        ends = zip(table.indptr[:-1], table.indptr[1:], strict=True)
        keys = [table.indices[a:b].tobytes() + b"|" + table.data[a:b].tobytes() for a, b in ends]
        return np.sort(np.unique(np.array(keys, dtype=object), return_index=True)[1])
    return np.sort(np.unique(X, axis=0, return_index=True)[1])


@serial_algebra()
def _pivots(kernel: Kernel, X: Features, n_components: int, rng: np.random.RandomState) -> Array:
    """Indices of the pivots of a randomly pivoted Cholesky decomposition."""
    diagonal = np.asarray(kernel.diag(X), dtype=float)
    left, smallest = diagonal.copy(), _LEFT * float(diagonal.max())
    rows = np.zeros((min(n_components, len(left)), len(left)))
    chosen: list[int] = []
    while len(chosen) < len(rows) and np.any(left > smallest):
        count, rank = min(_PIVOTS, len(rows) - len(chosen)), len(chosen)
        probabilities = np.where(left > smallest, left, 0.0)
        drawn = rng.choice(len(left), count, p=probabilities / probabilities.sum())
        drawn = np.unique(drawn)
        block = kernel._shifted(X[drawn], X) + kernel.offset
        block -= rows[:rank, drawn].T @ rows[:rank]
        accepted, factor = _independent(block[:, drawn], smallest)
        pivots = drawn[accepted]
        added = solve_triangular(factor, block[accepted], lower=True, check_finite=False)
        rows[rank : rank + len(pivots)] = added
        chosen.extend(pivots.tolist())
        left -= np.einsum("ij,ij->j", added, added)
        left[pivots] = 0.0
    return np.asarray(chosen)


def _independent(gram: Array, smallest: float) -> tuple[Array, Array]:
    """Pivots that leave something after those before them, and their Cholesky factor.

    A pivot is accepted while the residual of its diagonal is above a half of what it was drawn
    with, so that near duplicates within a block are drawn again only if they still matter.
    """
    first = np.diag(gram).copy()
    accepted: list[int] = []
    factor = np.zeros_like(gram)
    for i in range(len(gram)):
        k = len(accepted)
        row = (
            solve_triangular(factor[:k, :k], gram[accepted, i], lower=True, check_finite=False)
            if k
            else np.empty(0)
        )
        left = gram[i, i] - row @ row
        if k == 0 or left > max(0.5 * first[i], smallest):
            factor[k, :k], factor[k, k] = row, np.sqrt(max(left, smallest))
            accepted.append(i)
    k = len(accepted)
    return np.asarray(accepted), factor[:k, :k]
