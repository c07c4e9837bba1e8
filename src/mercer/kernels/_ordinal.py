"""A kernel of ordered categories, for functions that change in steps, like Brownian motion."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from mercer._data.types import Array, Features
from mercer.kernels._distances import Pairs, distance_range, inner, log_interval
from mercer.kernels._kernel import Kernel
from mercer.kernels._radial import Stationary
from mercer.kernels._structure import Structure


@dataclass(eq=False, repr=False)
class Ordinal(Stationary):
    """Kernel of ordered categories, prod_z max(0, 1 - |x_z - x'_z| / s_z), where x are ranks.

    The kernel decreases with the number of steps between two ranks, regardless of their position,
    and does not change if the order is reversed. Each rank has a window of the s steps that follow
    it, and the kernel is the share of steps that the windows of two ranks have in common. Columns
    with large widths have little effect.

    Parameters
    ----------
    bandwidth : float or array-like of shape (n_features,), default=1.0
        Width s, in ranks, or in the unit of the features.
    ard : bool, default=False
        One width per column.
    bounds : "data" or (float, float), default="data"
        Interval in which widths are searched. With `"data"`, it ranges from a small distance, such
        as the distance of neighboring ranks, to a hundred times the largest distance.

    Raises
    ------
    ValueError
        When fitted to a data frame, if a column has categories that are declared to have no order.

    See Also
    --------
    Categorical : Kernel of categories without an order.
    mercer.preprocessing.column_encoder : Replaces ordered categories by their ranks.

    Notes
    -----
    Each factor is the integral of [x <= t < x + s] [x' <= t < x' + s] / s over t. This is an inner
    product, so that the factors and their product are positive semi-definite.

    On ranks from 0 to R with s >= R, the kernel of one column is (min(x, x') + min(R - x, R - x') +
    s - R) / s. The minima are the numbers of steps below both ranks and above both ranks. After
    centering, it equals -|x - x'| / s, and therefore the kernel min(x, x') of Brownian motion times
    2 / s. With a constant, it is the kernel of functions with independent steps.

    Evaluation takes O(n^2 d) time, in one pass over all pairs of rows for each column.

    References
    ----------
    Rasmussen & Williams (2006), appendix B.2.1 (the Wiener process), and section 4.2.1 (functions
    of compact support).

    Examples
    --------
    >>> from mercer.kernels import Ordinal
    >>> Ordinal(4.0)([[0.0], [1.0], [3.0]])
    array([[1.  , 0.75, 0.25],
           [0.75, 1.  , 0.5 ],
           [0.25, 0.5 , 1.  ]])
    """

    accepts_sparse = False

    @property
    def structure(self) -> Structure:
        """Unknown structure: the kernel is not a function of one distance on all columns."""
        return Structure()

    def bind(self, X: Features) -> Self:
        """Return the kernel with a number for `"median"`, and one width per feature if `ard`."""
        for name, kind in zip(X.columns, X.dtypes, strict=True) if hasattr(X, "iloc") else ():
            if getattr(kind, "ordered", None) is False:
                raise ValueError(
                    f"Column {name!r} contains categories without an order, and Ordinal is for "
                    "ordered ones: use Categorical, or declare their order."
                )
        return super().bind(X)

    def _width_bounds(self, X: Features, n_widths: int) -> Array:
        given = log_interval(self.bounds)
        if given is not None:
            return np.tile(given, (n_widths, 1))
        ranges = np.array([distance_range(X[:, [z]]) for z in range(X.shape[1])])
        lows, highs = ranges.T
        if n_widths == 1:
            lows, highs = lows.min(keepdims=True), highs.max(keepdims=True)
        return np.log(np.column_stack([lows, 100.0 * highs]))

    def _shifted(self, X: Features, Z: Features | None) -> Array:
        gram = np.ones((len(X), len(X) if Z is None else len(Z)))
        for apart in self._apart(X, X if Z is None else Z):
            gram *= np.subtract(1.0, apart, out=apart)
        gram -= 1.0
        return gram

    _shifted_at = Kernel._shifted_at
    _value_tiles = Kernel._value_tiles

    def _contract(
        self, X: Features, P: Array, Z: Features, start: int | None
    ) -> tuple[float, Array]:
        gram = self._shifted(X, Z)
        gram += 1.0
        gram *= P
        # Where windows have nothing in common, the kernel is zero, and so is its derivative.
        ratios = (apart / np.where(apart < 1.0, 1.0 - apart, 1.0) for apart in self._apart(X, Z))
        slopes = np.array([inner(gram, ratio) for ratio in ratios])
        return float(gram.sum()), slopes if np.ndim(self._scale()) else slopes.sum(keepdims=True)

    def _apart(self, X: Features, Z: Features) -> Iterator[Array]:
        """Yield the share of steps that two windows do not have in common, for each column."""
        self._check_width(X.shape[1])
        X, Z = np.asarray(X) / self._scale(), np.asarray(Z) / self._scale()
        for x, z in zip(X.T, Z.T, strict=True):
            apart = np.abs(x[:, None] - z)
            yield np.minimum(apart, 1.0, out=apart)

    def _pairs(self, X: Features) -> Pairs | None:
        return None
