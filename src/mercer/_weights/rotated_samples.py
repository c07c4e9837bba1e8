"""Ridge regression on few features, as the same problem of no more samples than features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr
from scipy.linalg.lapack import dormqr

from mercer._gram.tiles import Samples, centered_features, serial_algebra
from mercer._typing import Array
from mercer._weights.mkl import LearnedWeights, Problems
from mercer.kernels import Linear, OnColumns
from mercer.kernels._kernel import Kernel, inner_product_columns
from mercer.losses import Squared

_LARGEST_FRACTION = 0.8
"""Samples are rotated if their number falls to this fraction or below; a smaller saving would not
pay for the rotation."""

_BLOCK = 64
"""LAPACK's workspace has this many rows."""


@dataclass(frozen=True)
class RotatedSamples:
    """The samples of ridge regression, rotated so that few are left.

    Attributes
    ----------
    problems : Problems
        Of the rotated responses, without intercept.
    samples : Samples
        The rotated features, those alone that kernels read.
    kernels : list of Kernel
        The same kernels of the rotated features.
    reflectors, scales : ndarray of shape (n_samples, n_rotated) and (n_rotated,)
        Householder reflectors of the rotation Q, as LAPACK stores them.
    means : ndarray of shape (n_problems,)
        Means of the responses, or zeros where there is no intercept.
    """

    problems: Problems
    samples: Samples
    kernels: list[Kernel]
    reflectors: Array
    scales: Array
    means: Array

    def restored(self, found: LearnedWeights) -> LearnedWeights:
        """The machines of the samples as they were before the rotation.

        Parameters
        ----------
        found : LearnedWeights
            Of the rotated samples.

        Returns
        -------
        LearnedWeights
            Its Gram matrix alone is that of the rotated samples.
        """
        return replace(
            found,
            dual=self._rotated_back(found.dual),
            values=self._rotated_back(found.values) + self.means,
            dual_certificate=self._rotated_back(found.dual_certificate),
        )

    def _rotated_back(self, values: Array) -> Array:
        """Q times some columns, shape (n_samples, n_columns)."""
        columns = np.zeros((len(self.reflectors), values.shape[1]), order="F")
        columns[: len(values)] = values
        size = _BLOCK * values.shape[1]
        return np.asarray(dormqr("L", "N", self.reflectors, self.scales, columns, size)[0])


@serial_algebra()
def rotated_samples(
    problems: Problems, samples: Samples, kernels: Sequence[Kernel]
) -> RotatedSamples | None:
    """Rotate the samples of ridge regression on features that are fewer than samples.

    Parameters
    ----------
    problems : Problems
    samples : Samples
    kernels : sequence of Kernel
        Bound to the samples.

    Returns
    -------
    RotatedSamples or None
        None for other losses, sparse tables, kernels that are not inner products of features, and
        features that are not few.

    Notes
    -----
    The squared loss and inner products of features do not change where all samples, X and y
    together, are multiplied by an orthogonal matrix. The triangular factor R of [X, y] = Q R is
    such a product, without its rows of zeros. With d features, O(n d^2) time for the factor makes
    each step of the solver O(d^3) in place of O(n^3). All objectives and gaps stay what they are.
    """
    n = samples.n_samples
    if samples.stacked or sp.issparse(samples.X) or not isinstance(problems.loss, Squared):
        return None
    chosen = inner_product_columns(kernels, samples.X.shape[1])
    if chosen is None:
        return None
    used, positions = np.unique(np.concatenate(chosen).astype(int), return_inverse=True)
    if used.size + problems.Y.shape[1] > _LARGEST_FRACTION * n:
        return None
    features, responses = samples.X[:, used], problems.Y
    means = np.zeros(responses.shape[1])
    if problems.intercept:
        means = responses.mean(axis=0)
        features, responses = centered_features(features), responses - means
    both = np.hstack([features, responses])
    (reflectors, scales), triangle = qr(both, mode="raw", overwrite_a=True, check_finite=False)
    rotated = np.triu(triangle[: both.shape[1]])
    members = np.split(positions, np.cumsum([len(columns) for columns in chosen])[:-1])
    return RotatedSamples(
        Problems(problems.loss, rotated[:, used.size :], intercept=False),
        Samples(np.ascontiguousarray(rotated[:, : used.size]), len(kernels)),
        [OnColumns(Linear(), columns.tolist()) for columns in members],
        reflectors,
        scales,
        means,
    )
