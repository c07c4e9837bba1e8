"""Features and sums in single precision, for fits whose predictions rounding hardly changes."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer._data.types import Array, Features
from mercer._data.weights import SampleWeights
from mercer._nystroem.feature_ridge import RidgeChoice
from mercer._nystroem.features import (
    CenterSpectrum,
    NystroemFeatures,
    multiply_triangular,
    triangular,
)

FEWEST_ROWS = 40_000
"""Sums over fewer rows take at most seconds in double precision."""

_MOST_ROUNDING = 1e-4
"""Rounding may change predictions by this fraction of the targets' standard deviation."""

_LEAST_LOSS = 1e-3
"""Smaller out-of-fold errors, relative to those of the mean, are differences of sums that have lost
the digits of single precision."""

_REST = 0.03
"""Largest size, relative to all kernel values, of the values without the directions that are
computed in double precision. It determines the number of these directions."""

_MOST_LEADING = 50
"""At most this many directions are computed in double precision, and at most half of them."""

_EPS = float(np.finfo(np.float32).eps)
"""Distance from one to the next number of single precision."""


@dataclass(frozen=True)
class SingleFeatures(NystroemFeatures):
    """Features that are computed in single precision, except for those of leading directions.

    Attributes
    ----------
    leading : ndarray of shape (n_centers, n_leading + 1)
        Eigenvectors of the largest eigenvalues of the centers' Gram matrix, and constants, in
        single precision. Their products with values are subtracted in double precision.
    factors : ndarray of shape (n_leading,)
        Factors between products with the eigenvectors and features.
    rest : ndarray of shape (n_centers, rank - n_leading)
        Lower triangular matrix in single precision, for the features of other directions.
    """

    leading: Array
    factors: Array
    rest: Array

    def transform(self, X: Features) -> Array:
        """Compute the features of rows, shape (n_rows, rank).

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
        """
        features = np.empty((X.shape[0], self.whitening.shape[1]), np.float32)
        n_leading, means = len(self.factors), self.columns.means
        leading = self.leading.astype(np.float64)
        parts = np.vstack([leading.T, means])
        for rows in self.columns.tiles(X.shape[0]):
            values = self.columns.uncentered(X[rows])
            products = values.astype(np.float32) @ self.leading - means @ leading
            features[rows, :n_leading] = products[:, :n_leading] * self.factors
            values -= np.column_stack([products, np.ones(len(products))]) @ parts
            multiply_triangular(values.astype(np.float32), self.rest, features[rows, n_leading:])
        return features


@dataclass(frozen=True)
class SinglePrecision:
    """A fit with sums in single precision, and the size of its rounding errors.

    Attributes
    ----------
    spectrum : CenterSpectrum
    weights : SampleWeights
        Weights of all rows.

    Notes
    -----
    A feature in the direction of an eigenvector is a sum over m centers that is smaller than its
    terms, by the square root of the eigenvalue. Its rounding error is in proportion to the terms,
    which are far smaller without their projections on the leading eigenvectors. If eigenvalues l
    sum to one, and r^2 is the sum of squares of those that are not leading, the values at centers
    without their projections are about r, and are rounded by about 2 eps r when they are
    multiplied. The feature of an eigenvalue l then has the variance l, and an error of variance
    (2 eps r)^2 / (m l), which is independent in each of n rows. Its products with the residuals
    change the variance of predictions by (2 eps r)^2 (n / m) / (n l + alpha)^2 times the variance
    of the residuals.
    """

    spectrum: CenterSpectrum
    weights: SampleWeights

    @cached_property
    def features(self) -> SingleFeatures:
        """Features whose inner products approximate the kernel at unit scale.

        Coefficients refer to the rounded matrix, so that its rounding does not matter.
        """
        spectrum, n_rest = self.spectrum, self.spectrum.values.size - self._n_leading
        m, factors = len(spectrum.vectors), 1.0 / (np.sqrt(spectrum.values) * spectrum.scale)
        leading = np.column_stack([spectrum.vectors[:, n_rest:], np.full(m, m**-0.5)])
        leading = leading.astype(np.float32)
        rest = triangular(spectrum.vectors[:, :n_rest] * factors[:n_rest]).astype(np.float32)
        # The products with leading vectors that are subtracted from values.
        projected = leading.astype(np.float64) @ (leading.T.astype(np.float64) @ rest)
        whitening = np.hstack([leading[:, :-1] * factors[n_rest:], rest - projected])
        return SingleFeatures(spectrum.columns, whitening, True, leading, factors[n_rest:], rest)

    def suits(self, alphas: Array | None) -> bool:
        """Return whether a fit can begin with sums in single precision.

        If rows need not be whitened one by one, double precision takes no longer.

        Parameters
        ----------
        alphas : ndarray of shape (n_alphas,), or None
            Penalties to compare. None stands for the default penalties. One of these is tried
            first.
        """
        many = len(self.weights) >= FEWEST_ROWS
        if not (many and self.spectrum.whitens_rows and self._keeps_digits):
            return False
        least = self.weights.average if alphas is None else float(np.min(alphas))
        return self.rounding(least) <= _MOST_ROUNDING

    def is_precise(self, choice: RidgeChoice) -> bool:
        """Return whether rounding hardly matters in a fit.

        Parameters
        ----------
        choice : RidgeChoice
            The fit to sums in single precision.
        """
        loss = float(choice.losses.min())
        error = self.rounding(choice.alpha) * np.sqrt(loss)
        return loss >= _LEAST_LOSS and bool(error <= _MOST_ROUNDING)

    def rounding(self, alpha: float) -> float:
        """Estimate the error of predictions that is due to sums in single precision.

        Parameters
        ----------
        alpha : float
            Penalty.

        Returns
        -------
        float
            Root mean square, relative to the standard deviation of the residuals.
        """
        n_rows = float(len(self.weights))
        if not self.weights.is_unit:
            n_rows = self.weights.total**2 / self.weights.sum(self.weights.values)
        penalized = n_rows * self._shares + alpha / self.weights.average
        factor = np.sqrt(n_rows / len(self.spectrum.vectors))
        return self._error * float(factor * np.linalg.norm(1.0 / penalized))

    @cached_property
    def _shares(self) -> Array:
        """Ascending eigenvalues that sum to one."""
        return np.asarray(self.spectrum.values / self.spectrum.values.sum())

    @cached_property
    def _tails(self) -> Array:
        """Root sums of squares of the eigenvalues that are not larger than each."""
        return np.sqrt(np.cumsum(self._shares**2))

    @property
    def _n_leading(self) -> int:
        """Number of directions whose features are computed in double precision."""
        largest = min(_REST * self._tails[-1], self._shares[0] / self._least_share)
        needed = int(np.sum(self._tails > largest))
        return min(needed, _MOST_LEADING, len(self._shares) // 2)

    @property
    def _least_share(self) -> float:
        """Eigenvalue whose feature has an error of a tenth of its deviation, if values are one."""
        return 20.0 * _EPS / float(np.sqrt(len(self.spectrum.vectors)))

    @property
    def _error(self) -> float:
        """Rounding error of the kernel's values, without leading directions, at unit scale."""
        return 2.0 * _EPS * float(self._tails[-1 - self._n_leading])

    @property
    def _keeps_digits(self) -> bool:
        """Whether features and weights are larger than rounding errors, and do not overflow."""
        rest = self._tails[-1 - self._n_leading]
        if (
            self._shares[0] < self._least_share * rest
            or not _EPS**2 < self.spectrum.scale < _EPS**-2
        ):
            return False
        if self.weights.is_unit:
            return True
        low, high = float(self.weights.values.min()), float(self.weights.values.max())
        return max(high, 1.0) * _EPS <= min(low, 1.0)
