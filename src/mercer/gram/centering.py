"""Centred tiles and matrices: K_c = H K H with H = I - 11'/n."""

from __future__ import annotations

from mercer._typing import Array
from mercer.gram.tiles import Tile


def centre_tiles(blocks: Array, row_means: Array, tile: Tile) -> None:
    """Centre tiles in place, given the means of the rows of the whole matrices.

    Parameters
    ----------
    blocks : ndarray of shape (n_kernels, n_rows, n_columns)
        Overwritten by the tile of the centred matrix, K_ij - m_i - m_j + m.
    row_means : ndarray of shape (n_kernels, n_samples)
    tile : Tile
    """
    blocks -= row_means[:, tile.rows, None]
    blocks -= row_means[:, None, tile.columns]
    blocks += row_means.mean(axis=1)[:, None, None]


def centred(K: Array) -> Array:
    """A centred copy of a square matrix.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
    """
    columns = K.mean(axis=0)
    result = K - columns
    result -= result.mean(axis=1)[:, None]
    return result
