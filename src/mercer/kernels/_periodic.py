"""A kernel of periodic columns, such as hours, weekdays and angles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from mercer._data.types import Array, Features
from mercer._data.validation import are_positive
from mercer.kernels._categorical import OfColumns
from mercer.kernels._distances import Pairs


@dataclass(eq=False, repr=False)
class Periodic(OfColumns):
    """Periodic kernel, exp(-4 sum_z sin^2(pi (x_z - x'_z) / p_z) / s_z^2), for hours or angles.

    Parameters
    ----------
    bandwidth : float or array-like of shape (n_features,), default=1.0
        Width s, in units of the radius of a circle whose circumference is one period.
    ard : bool, default=False
        One width per column.
    bounds : "data" or (float, float), default="data"
        Interval in which widths are searched; (0.1, 100) for `"data"`.
    period : float or array-like of shape (n_features,), default=1.0
        Periods p, in the unit of the features: 24 for hours, 7 for weekdays, 360 for degrees. They
        are not learned.

    Notes
    -----
    It is the Gaussian kernel of points on circles of radius one, one circle for each column. The
    squared distance of two such points is 4 sin^2 of half the angle between them. The kernel is
    therefore positive semi-definite. Evaluation takes O(n^2 d) time, in matrix products.

    The length scale is s / sqrt(2) in scikit-learn, and s / sqrt(8) in GPflow and in MacKay's
    formula.

    References
    ----------
    MacKay (1998), Introduction to Gaussian processes, eq. (47).

    Examples
    --------
    >>> from mercer.kernels import Periodic
    >>> Periodic(period=24.0)([[23.5], [0.5], [12.0]]).round(4)
    array([[1.    , 0.9341, 0.0186],
           [0.9341, 1.    , 0.0186],
           [0.0186, 0.0186, 1.    ]])
    """

    _: KW_ONLY
    period: float | Sequence[float] | Array = 1.0

    def relevance(self, n_features: int) -> Array:
        """Return the relevance of each feature for close samples, where the kernel is Gaussian.

        It is (2 pi / (p s))^2, as in the Gaussian kernel that this kernel approaches.
        """
        return super().relevance(n_features) * (2.0 * np.pi / self._periods(n_features)) ** 2

    def describe(self) -> str:
        """Return the name, period and width."""
        low, high = np.min(self.period), np.max(self.period)
        periods = f"period {low:.4g}" if low == high else f"periods {low:.4g} to {high:.4g}"
        return super().describe().replace(",", f", {periods},", 1)

    def _periods(self, n_features: int) -> Array:
        if not are_positive(self.period) or np.size(self.period) not in (1, n_features):
            raise ValueError(
                "period must be positive, one number or one for each feature; got "
                f"{self.period!r} for {n_features} features."
            )
        return np.broadcast_to(np.asarray(self.period, dtype=float), (n_features,))

    def _scaling(self, n_features: int) -> Callable[[Features], Array]:
        """Return the function from rows to points on circles, divided by the widths."""
        self._check_width(n_features)
        lengths = self._lengths()
        return lambda X: self._on_circles(X) / lengths

    def _on_circles(self, X: Features) -> Array:
        angles = 2.0 * np.pi * (np.asarray(X) / self._periods(X.shape[1]) % 1.0)
        return np.hstack([np.cos(angles), np.sin(angles)])

    def _pairs(self, X: Features) -> Pairs | None:
        return super()._pairs(X) and Pairs(self._on_circles(X))

    def _lengths(self) -> Array:
        scale = np.asarray(self._scale())
        return scale if scale.ndim == 0 else np.tile(scale, 2)

    def _by_width(self, parts: Array) -> Array:
        return np.asarray(parts.reshape(2, -1).sum(axis=0))
