"""Kernels of one distance: their base classes, and the Gaussian kernel."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from mercer._data.arrays import copied, decay_less_one, to_numpy
from mercer._data.types import Array, Features
from mercer.kernels._distances import (
    Bandwidth,
    Bounds,
    Pairs,
    centered_distances,
    distance_range,
    distances_to,
    feature_deviations,
    inner,
    log_interval,
    median_distance,
    scaled_features,
    squared_distances,
    subtract_center,
)
from mercer.kernels._kernel import N_STARTS, GramTiles, Kernel, ValueTiles
from mercer.kernels._minkowski import weighted_squares
from mercer.kernels._structure import Columns, Distance, Structure


class Radial(Kernel):
    """A kernel that is a function of one scaled distance.

    A subclass implements `offset`, `_from_scaled` (the kernel less its offset at scaled squared
    distances) and `_slope` (its derivative).
    """

    band_limited: ClassVar[bool] = False
    """Whether the kernel oscillates with the distance at one frequency, rather than decaying."""

    norm: float = 2.0
    """Exponent p of the distance |x - x'|_p: two (Euclidean), unless it is a parameter."""

    @property
    def structure(self) -> Structure:
        """Structure of the formula: a function of the distance on all columns."""
        return RadialFunction(self, norm=self.norm)

    def from_squared(self, squared: Array) -> Array:
        """Return the kernel minus its offset, for given unscaled squared distances.

        Parameters
        ----------
        squared : ndarray
            Squared distances in the kernel's norm, of any shape; they are not overwritten.
        """
        return self._from_scaled(squared * np.asarray(self._scale()) ** -2.0)

    def at_theta(self, squared: Array, theta: float) -> Array:
        """Return the kernel minus its offset, for another width or frequency.

        Parameters
        ----------
        squared : ndarray
            Squared distances in the kernel's norm.
        theta : float
            Logarithm of the width or frequency.
        """
        return self._from_scaled(squared * np.exp(-2.0 * theta))

    def slope_at_theta(self, squared: Array, theta: float) -> tuple[Array, Array]:
        """Return the kernel minus its offset for another width s, and its slope in gamma = 1 / s^2.

        It takes the same arguments as `at_theta`.
        """
        u = squared * np.exp(-2.0 * theta)
        values = self._from_scaled(u.copy())
        return values, squared * self._slope(u, values)

    @abstractmethod
    def _scale(self) -> float | Array:
        """Return the length by which distances are divided, or one length for each feature."""

    @abstractmethod
    def _from_scaled(self, u: Array) -> Array:
        """Return the kernel less its offset at scaled squared distances, which it may overwrite."""

    @abstractmethod
    def _slope(self, u: Array, shifted: Array) -> Array:
        """Return the derivative with respect to `u`, given the values of `_from_scaled` at `u`."""

    def _shifted(self, X: Features, Z: Features | None) -> Array:
        Z = None if Z is None else self._scaled(Z)
        return self._from_scaled(squared_distances(self._scaled(X), Z, norm=self.norm))

    def _shifted_at(self, Z: Features) -> Callable[[Features], Array]:
        scaled = self._scaling(Z.shape[1])
        squared = distances_to(scaled(Z), self.norm)
        return lambda X: self._from_scaled(squared(scaled(X)))

    def _shifted_diag(self, X: Features) -> Array:
        return np.zeros(X.shape[0])

    def _check_width(self, n_features: int) -> float | Array:
        """Return the widths, whose number must suit the features."""
        scale = self._scale()
        n_widths = np.size(scale)
        if np.ndim(scale) and n_widths != n_features:
            raise ValueError(
                f"{type(self).__name__} has {n_widths} widths, but X has {n_features} features."
            )
        return scale

    def _scaled(self, X: Features) -> Features:
        return self._scaling(X.shape[1])(X)

    def _scaling(self, n_features: int) -> Callable[[Features], Features]:
        """Return the function that divides features by the widths, which are checked once."""
        lengths = self._check_width(n_features)
        return lambda X: scaled_features(X, lengths)

    def _contract(
        self, X: Features, P: Array, Z: Features, start: int | None
    ) -> tuple[float, Array]:
        same = X is Z
        Z = self._scaled(Z)
        X, Z = subtract_center(Z if same else self._scaled(X), Z)
        u = centered_distances(X, Z, start, self.norm)
        shifted = self._from_scaled(u.copy())
        value = inner(P, shifted) + self.offset * float(P.sum())
        weighted = self._slope(u, shifted)
        weighted *= P
        if np.ndim(self._scale()) == 0:
            squares = np.array([inner(weighted, u)])
        else:
            squares = self._by_width(weighted_squares(X, weighted, Z, u, self.norm))
        return value, np.append(-2.0 * squares, self._shape_gradient(P, u, X, Z))

    def _value_tiles(self, X: Features, precision: npt.DTypeLike = np.float32) -> ValueTiles:
        if sp.issparse(X):
            return super()._value_tiles(X, precision)
        X = self._scaled(X)
        distances = Pairs(X).scaled(np.ones(X.shape[1]), self.norm)

        def tile(rows: slice, columns: slice) -> Array:
            u = distances.squared(rows, columns)
            return self._from_scaled(u.astype(precision, copy=False))

        return tile

    def _pairs(self, X: Features) -> Pairs | None:
        if sp.issparse(X) or np.ndim(self._check_width(X.shape[1])) == 0:
            return None
        return Pairs(X)

    def _lengths(self) -> Array:
        """Return the length by which each feature of the pairs is divided."""
        return np.asarray(self._scale())

    def _gram_tiles(self, pairs: Pairs) -> GramTiles:
        distances = pairs.scaled(self._lengths(), self.norm)

        def tile(
            rows: slice, columns: slice, out: Array | None
        ) -> tuple[Array, Callable[[Array], Array]]:
            u = distances.squared(rows, columns, None if out is None else out[0])
            if out is None:
                shifted = self._from_scaled(copied(u))
            else:
                np.copyto(out[1], u)
                shifted = self._from_scaled(out[1])

            def gradient(P: Array) -> Array:
                W = self._slope(u, shifted)
                W *= P
                parts = self._by_width(to_numpy(distances.parts(W, u, rows, columns)))
                here, there = distances.table[rows, :], distances.table[columns, :]
                return np.append(-2.0 * parts, self._shape_gradient(P, u, here, there))

            return shifted, gradient

        return tile

    def _by_width(self, parts: Array) -> Array:
        """Return the part of each width in a sum, given the parts of the scaled features."""
        return parts

    def _shape_gradient(self, P: Array, u: Array, X: Features, Z: Features) -> tuple[float, ...]:
        """Return derivatives of <P, K> in log-parameters other than widths, for scaled features."""
        return ()


@dataclass(frozen=True)
class RadialFunction(Structure):
    """Structure of a kernel that is a function of one distance.

    Attributes
    ----------
    function : Radial
    columns : tuple of int, or None
        Columns that the distance is measured on, None for all.
    norm : float, default=2.0
        Exponent p of the distance |x - z|_p.
    """

    function: Radial
    columns: Columns = None
    norm: float = 2.0

    @property
    def distance(self) -> Distance:
        """The distance that the kernel is a function of."""
        return Distance(self.columns, self.norm)


@dataclass(eq=False, repr=False)
class Stationary(Radial):
    """Base class of kernels with a width: one for all features, or one for each.

    Parameters
    ----------
    bandwidth : float, array-like of shape (n_features,) or "median", default=1.0
        Width s, in the unit of the features; with `"median"`, the median distance between the
        samples of the table that the kernel is bound to, as when an estimator is fitted.
    ard : bool, default=False
        One width per feature ("automatic relevance determination"): a single `bandwidth` becomes
        one for each feature when the kernel is bound to a table.
    bounds : "data" or (float, float), default="data"
        Interval in which widths are searched, in the unit of the features; with `"data"` it is
        derived from the distances between samples.
    """

    bandwidth: Bandwidth = 1.0
    _: KW_ONLY
    ard: bool = False
    bounds: Bounds = "data"

    def __call__(self, X: Features, Z: Features | None = None) -> Array:
        """Return the Gram matrix of the rows of `X` and `Z`; see :meth:`Kernel.__call__`."""
        self._scale()
        return super().__call__(X, Z)

    @property
    def offset(self) -> float:
        """Value of the kernel at distance zero, which is one."""
        return 1.0

    @property
    def theta(self) -> Array:
        """Logarithm of each width, then of the other parameters that are learned."""
        log_widths = np.log(self._scale())
        return np.append(log_widths, [np.log(getattr(self, name)) for name in self._shapes()])

    def with_theta(self, theta: Array) -> Self:
        """Return the same kernel with other widths and other learned parameters.

        Parameters
        ----------
        theta : array-like of shape (n_theta,)
            Logarithms of the widths, then of the other parameters.
        """
        theta, names = np.atleast_1d(np.asarray(theta, dtype=float)), self._shapes()
        n_widths = theta.size - len(names)
        shapes = dict(zip(names, np.exp(theta[n_widths:]).tolist(), strict=True))
        single = np.ndim(self.bandwidth) == 0 and n_widths == 1
        bandwidth = float(np.exp(theta[0])) if single else np.exp(theta[:n_widths])
        return self._replaced(bandwidth=bandwidth, **shapes)

    def log_bounds(self, X: Features) -> Array:
        """Return the intervals of log-widths, then of other log-parameters, shape (n_theta, 2)."""
        shapes = self._shapes()
        return np.vstack([self._width_bounds(X, self.theta.size - len(shapes)), *shapes.values()])

    def starts(self, X: Features) -> Array:
        """Return nine starts of a search, each with equal widths, shape (9, n_theta)."""
        low, high = self._width_bounds(X, 1)[0]
        if log_interval(self.bounds) is None:
            # Searches start near the distances, whatever the largest width.
            high -= np.log(10.0) * (self._wide_exponent(1) - self._spread_exponent())
        inside = np.linspace(0.0, 1.0, N_STARTS + 2)[1:-1, None]
        widths = np.repeat(low + inside * (high - low), np.size(self._scale()), axis=1)
        shapes = [low + inside * (high - low) for low, high in self._shapes().values()]
        return np.hstack([widths, *shapes])

    @property
    def structure(self) -> Structure:
        """Structure of the formula: a function of the distance of features, or of scaled ones."""
        if np.ndim(self.bandwidth) == 0:
            return RadialFunction(self, norm=self.norm, n_widths=1)
        return Structure(n_widths=np.size(self.bandwidth), isotropic=self._isotropic)

    def _isotropic(self) -> Kernel:
        """Return the same kernel with one width, the geometric mean of its widths."""
        mean = float(np.exp(np.log(self._scale()).mean()))
        return self._replaced(bandwidth=mean, ard=False)

    def bind(self, X: Features) -> Self:
        """Return the kernel with a number for `"median"`, and one width per feature if `ard`."""
        if self._is_median():
            table = X if sp.issparse(X) else np.asarray(X)
            width = median_distance(table.astype(np.float64, copy=False), self.norm)
            return self._replaced(bandwidth=width).bind(table)
        self._check_width(X.shape[1])
        if self.ard and np.ndim(self.bandwidth) == 0:
            return self._replaced(bandwidth=np.full(X.shape[1], self._scale()))
        return self

    def relevance(self, n_features: int) -> Array:
        """Return the relevance of each feature, 1 / width^2, shape (n_features,)."""
        self._check_width(n_features)
        return np.broadcast_to(np.asarray(self._scale()) ** -2.0, (n_features,)).copy()

    def describe(self) -> str:
        """Return the name and the width, or the range of the widths."""
        if self._is_median():
            return f"{type(self).__name__}, width the median distance"
        low, high = np.min(self._scale()), np.max(self._scale())
        if np.size(self.bandwidth) == 1:
            return f"{type(self).__name__}, width {low:.3g}"
        return f"{type(self).__name__}, widths {low:.3g} to {high:.3g}"

    def _is_median(self) -> bool:
        return isinstance(self.bandwidth, str) and self.bandwidth == "median"

    def _scale(self) -> float | Array:
        if self._is_median():
            raise ValueError(
                'bandwidth="median" is read off the data: bind the kernel to a table first, '
                "as in kernel.bind(X)."
            )
        if isinstance(self.bandwidth, str):
            raise ValueError(f'bandwidth must be positive or "median"; got {self.bandwidth!r}.')
        scale = np.asarray(self.bandwidth, dtype=float)
        if scale.ndim > 1 or not np.all((scale > 0) & np.isfinite(scale)):
            raise ValueError(f"bandwidth must be positive and finite; got {self.bandwidth!r}.")
        return float(scale) if scale.ndim == 0 else scale

    def _shapes(self) -> dict[str, Array]:
        """Return log-intervals of learned parameters other than widths, by name."""
        return {}

    def _replaced(self, **changes: object) -> Self:
        changed = object.__new__(type(self))
        changed.__dict__.update(self.__dict__, **changes)
        return changed

    def _spread_exponent(self) -> float:
        """Return the number of decades by which the search of widths exceeds the distances.

        It is larger for slowly changing kernels. Beyond the interval, wide kernels are proportional
        to each other, up to a constant, and the Gram matrix of narrow kernels is the identity.
        """
        return 1.0

    def _wide_exponent(self, n_widths: int) -> float:
        """Return the number of decades between the largest distance and the largest width.

        Wide kernels that are not smooth at zero still describe rough functions, with large weights.
        """
        return self._spread_exponent()

    def _width_bounds(self, X: Features, n_widths: int) -> Array:
        if (given := log_interval(self.bounds)) is not None:
            return np.tile(given, (n_widths, 1))
        low, high = distance_range(X, self.norm)
        spread, wide = 10.0 ** self._spread_exponent(), 10.0 ** self._wide_exponent(n_widths)
        interval = np.array([low / spread, high * wide])
        if n_widths == 1:
            return np.log(interval)[None, :]
        deviations = feature_deviations(X)
        narrowest = np.where(deviations > 0, deviations / spread, interval[0])
        widest = np.maximum(interval[1], 10.0 * wide * deviations)
        return np.log(np.column_stack([np.minimum(interval[0], narrowest), widest]))


class Gaussian(Stationary):
    """Gaussian (RBF) kernel, exp(-|x - x'|^2 / s^2), for smooth functions.

    Parameters
    ----------
    bandwidth : float, array-like of shape (n_features,) or "median", default=1.0
        Width s, in the unit of the features. scikit-learn's gamma is 1 / s^2, and the length scale
        of Gaussian-process libraries is s / sqrt(2). With `"median"`, the width is the median
        distance between the training samples when an estimator is fitted.
    ard : bool, default=False
        One width per feature: exp(-sum_z (x_z - x'_z)^2 / s_z^2).
    bounds : "data" or (float, float), default="data"
        Interval in which widths are searched, in the unit of the features. `"data"` derives it from
        the distances between the training samples.

    Notes
    -----
    The Gram matrix takes O(n^2 d) time. The gradient of <P, K> in all widths takes as much again.

    References
    ----------
    Afkanpour, Szepesvari, Bowling (2013), section 2.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> Gaussian(bandwidth=2.0)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    accepts_array_api = True

    def from_squared(self, squared: Array) -> Array:
        """Return the kernel minus one, for given unscaled squared distances."""
        return decay_less_one(squared * np.asarray(self._scale()) ** -2.0)

    def _from_scaled(self, u: Array) -> Array:
        return decay_less_one(u)

    def _slope(self, u: Array, shifted: Array) -> Array:
        return -1.0 - shifted
