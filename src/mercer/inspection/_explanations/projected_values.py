r"""Shapley values of Gaussian kernels on linear combinations of columns.

Let P be the projection A'x of a row in which only the columns of a set S of players are kept and
the others are zero, and Q that of a background row in which they are zero. The kernel with a center
of projection C is then

.. math:: e^{-|P + Q - C|^2} = e^{2 P'C - |P|^2 - \kappa} \cdot e^{2 Q'C - |Q|^2 - |C|^2 + \kappa}
          \cdot e^{-2 P'Q},

for any number :math:`\kappa` of the center. The sum over centers is a product of matrices, so that
all sets take O(2^d n) multiplications for each pair of a row and a background row, but exponentials
of single rows only. With :math:`\kappa = C_S'C`, where C_S keeps the columns of S, no exponential
is large unless a projection mixes columns strongly.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.utils import gen_batches

from mercer._data.types import Array
from mercer._gram.tiles import map_tiles
from mercer.inspection._explanations.parts import OtherFunction, OtherProduct
from mercer.inspection._explanations.product_values import player_weights
from mercer.kernels import Gaussian, OnProjection
from mercer.kernels._kernel import BLOCK_ROWS

_MOST_PLAYERS = 11
"""Maximum number of players: the subsets of more take longer than permutations."""

_MOST_GROWTH = 12.0
"""Maximum logarithm of the factor by which exponentials increase rounding errors. At this value,
values of relative precision 1e-16 keep eleven digits."""


def projected_values(
    part: OtherProduct | OtherFunction, player_of: Array, X: Array, Z: Array
) -> tuple[Array, Array] | None:
    """Compute the Shapley values of a Gaussian kernel on linear combinations of columns.

    Parameters
    ----------
    part : OtherProduct or OtherFunction
    player_of : ndarray of int of shape (n_features,)
    X : ndarray of shape (n_rows, n_features)
        Rows to explain, in the part's view.
    Z : ndarray of shape (n_background, n_features)

    Returns
    -------
    (ndarray of int of shape (n_active,), ndarray of shape (n_rows, n_active, n_outputs)) or None
        Players and their values. None if the kernel has another form, if it depends on too many
        players, or if the values would lose precision.
    """
    columns = part.columns
    players = np.unique(player_of[columns])
    kernel = _ProjectedGaussian.of(part) if isinstance(part, OtherProduct) else None
    if kernel is None or len(players) > _MOST_PLAYERS:
        return None
    owned = player_of[columns] == players[:, None]
    X, Z = X[:, columns], Z[:, columns]
    found = np.zeros((len(X), len(players), kernel.coefficients.shape[1]))
    subsets = (np.arange(2 ** len(players))[:, None] >> np.arange(len(players))) & 1 == 1
    for rows in gen_batches(len(X), BLOCK_ROWS):

        def of_subset(members: Array, rows: slice = rows) -> Array | None:
            return kernel.value(members @ owned, X[rows], Z)

        for members, value in zip(subsets, map_tiles(of_subset, list(subsets)), strict=True):
            if value is None:
                return None
            found[rows] += player_weights(members)[:, None] * value[:, None]
    return players, found


@dataclass(frozen=True)
class _ProjectedGaussian:
    """A function sum_i c_i exp(-|A'(x - z_i)|^2).

    Attributes
    ----------
    matrix : ndarray of shape (n_columns, n_components)
        A.
    middle : ndarray of shape (n_columns,)
        A point near the centers, relative to which rows are projected.
    centers : ndarray of shape (n_centers, n_columns)
        Centers relative to the point.
    coefficients : ndarray of shape (n_centers, n_outputs)
    """

    matrix: Array
    middle: Array
    centers: Array
    coefficients: Array

    @classmethod
    def of(cls, part: OtherProduct) -> Self | None:
        """Return the function on the columns of a part, or None if it has another form."""
        columns, found = part.columns, []
        for factor in part.product.factors:
            kernel, matrix = factor.kernel, np.eye(len(factor.columns))
            if type(kernel) is OnProjection:
                kernel, matrix = kernel.kernel, kernel._matrix(len(factor.columns))
            if type(kernel) is not Gaussian:
                return None
            block = np.zeros((len(columns), matrix.shape[1]))
            block[np.searchsorted(columns, factor.columns)] = matrix / kernel._scale()
            found.append(block)
        middle = part.centers[:, columns].mean(axis=0)
        centers = part.centers[:, columns] - middle
        return cls(np.hstack(found), middle, centers, part.product.weight * part.coefficients)

    def value(self, kept: Array, X: Array, Z: Array) -> Array | None:
        """Return means over background rows Z whose kept columns are those of each row of X.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs), or None if rounding errors would be too large
        """
        X, Z = X - self.middle, Z - self.middle
        C, P, Q = (table @ self.matrix for table in (self.centers, X * kept, Z * ~kept))
        constants = np.einsum("ip,ip->i", (self.centers * kept) @ self.matrix, C)
        rest = np.einsum("ip,ip->i", C, C) - constants
        of_rows, largest = _exponentials(2.0 * P, C, constants)
        of_others, largest_of_others = _exponentials(2.0 * Q, C, rest)
        largest = largest - np.square(P).sum(axis=1)
        largest_of_others = largest_of_others - np.square(Q).sum(axis=1)
        logarithms = largest[:, None] + largest_of_others - 2.0 * P @ Q.T
        if logarithms.max() > _MOST_GROWTH:
            return None
        between = np.exp(logarithms)
        sums = [
            np.einsum("rb,rb->r", of_rows @ (of_others * c).T, between) for c in self.coefficients.T
        ]
        return np.stack(sums, axis=1) / len(Z)


def _exponentials(T: Array, C: Array, constants: Array) -> tuple[Array, Array]:
    """Return exponentials of T C' less constants of the columns, divided by the largest of a row.

    Returns
    -------
    (ndarray of shape (n_rows, n_centers), ndarray of shape (n_rows,))
        The exponentials, and the logarithms of their divisors.
    """
    found = np.column_stack([T, np.full(len(T), -1.0)]) @ np.column_stack([C, constants]).T
    largest = found.max(axis=1)
    found -= largest[:, None]
    return np.exp(found, out=found), largest
