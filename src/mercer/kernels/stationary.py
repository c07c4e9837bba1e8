"""Kernels that depend on the distance of two samples alone."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from mercer._typing import Array, Features
from mercer.kernels.base import N_STARTS, Kernel, inner, squared_distances
from mercer.kernels.bounds import Bounds, distance_range, feature_spread, log_interval

_WIDEST = 10.0
"""Widths up to this many times the largest distance: beyond, a centred Gram matrix no longer changes."""
_NARROWEST = 0.1
"""Widths down to this part of a small distance: below, the Gram matrix is the identity."""


class Radial(Kernel):
    """A kernel that is a function of one scaled Euclidean distance.

    A subclass gives `offset`, `_from_scaled` (the kernel less its offset at scaled squared distances) and
    `_slope` (its derivative).
    """

    band_limited: ClassVar[bool] = False
    """Whether the kernel oscillates in the distance at one frequency, rather than decays."""

    def radial(self) -> Radial | None:
        """Itself, where one scale serves all features."""
        return self if np.ndim(self._scale()) == 0 else None

    def from_squared(self, squared: Array) -> Array:
        """The kernel less its offset, from unscaled squared distances.

        Parameters
        ----------
        squared : ndarray
            Squared Euclidean distances, of any shape; left as they are.
        """
        return self._from_scaled(squared / self._scale() ** 2)

    def at_theta(self, squared: Array, theta: float) -> Array:
        """The same as :meth:`from_squared` at another width or frequency, without a new kernel.

        Parameters
        ----------
        squared : ndarray
            Squared Euclidean distances.
        theta : float
            Logarithm of the width or frequency.
        """
        return self._from_scaled(squared * np.exp(-2.0 * theta))

    def slope_at_theta(self, squared: Array, theta: float) -> tuple[Array, Array]:
        """The shifted kernel at another width, and its derivative in gamma = 1 / s^2, which is never positive.

        Parameters
        ----------
        squared : ndarray
            Squared Euclidean distances.
        theta : float
            Logarithm of the width s.

        Returns
        -------
        values, slopes : ndarray
        """
        u = squared * np.exp(-2.0 * theta)
        values = self._from_scaled(u.copy())
        return values, squared * self._slope(u, values)

    @abstractmethod
    def _scale(self) -> float | Array:
        """Length that distances are divided by: a number, or one for each feature."""

    @abstractmethod
    def _from_scaled(self, u: Array) -> Array:
        """The kernel less its offset at scaled squared distances `u`, which may be overwritten."""

    @abstractmethod
    def _slope(self, u: Array, shifted: Array) -> Array:
        """Derivative with respect to `u`, given the shifted kernel there."""

    def _shifted(self, X: Features, Z: Features | None) -> Array:
        X = self._scaled(X)
        return self._from_scaled(squared_distances(X, None if Z is None else self._scaled(Z)))

    def _shifted_diag(self, X: Features) -> Array:
        return np.zeros(X.shape[0])

    def _scaled(self, X: Features) -> Features:
        scale = self._scale()
        if np.ndim(scale) and np.size(scale) != X.shape[1]:
            raise ValueError(
                f"{type(self).__name__} has {np.size(scale)} widths, but X has {X.shape[1]} features."
            )
        return X.multiply(1.0 / scale).tocsr() if sp.issparse(X) else X / scale

    def _contract(
        self, X: Features, P: Array, Z: Features, start: int | None
    ) -> tuple[float, Array]:
        X, Z = self._scaled(X), self._scaled(Z)
        u = squared_distances(X, Z, start)
        shifted = self._from_scaled(u.copy())
        value = inner(P, shifted) + self.offset * float(P.sum())
        weighted = self._slope(u, shifted)
        weighted *= P
        if np.ndim(self._scale()) == 0:
            return value, np.array([-2.0 * inner(weighted, u), *self._shape_gradient(P, u)])
        return value, np.array([*-2.0 * _moved(X, weighted, Z), *self._shape_gradient(P, u)])

    def _shape_gradient(self, P: Array, u: Array) -> tuple[float, ...]:
        """Derivatives of <P, K> in the log-parameters beyond the widths."""
        return ()


def _moved(X: Features, W: Array, Z: Features) -> Array:
    """sum_ij W_ij (x_iz - z_jz)^2 for each feature z: one product of W with a table, no tensor."""
    if sp.issparse(X):
        cross = np.asarray(X.multiply(W @ Z).sum(axis=0)).ravel()
        return X.multiply(X).T @ W.sum(axis=1) + Z.multiply(Z).T @ W.sum(axis=0) - 2.0 * cross
    centre = Z.mean(axis=0)
    X, Z = X - centre, Z - centre
    cross = np.einsum("iz,iz->z", X, W @ Z)
    return (X * X).T @ W.sum(axis=1) + (Z * Z).T @ W.sum(axis=0) - 2.0 * cross


class Stationary(Radial):
    """Kernels of a width: one for all features, or one for each.

    Parameters
    ----------
    bandwidth : float or array-like of shape (n_features,), default=1.0
        Width s, in the unit of the features.
    ard : bool, default=False
        One width per feature ("automatic relevance determination"): a single `bandwidth` becomes
        one for each feature as soon as the kernel meets a table.
    bounds : "data" or (float, float), default="data"
        Interval in which widths are searched, in the unit of the features; `"data"` reads it off
        the distances.
    """

    def __init__(
        self,
        bandwidth: float | Array = 1.0,
        *,
        ard: bool = False,
        bounds: Bounds = "data",
    ) -> None:
        self.bandwidth = bandwidth
        self.ard = ard
        self.bounds = bounds

    @property
    def offset(self) -> float:
        """One: the value at distance zero."""
        return 1.0

    @property
    def theta(self) -> Array:
        """Logarithm of each width, shape (1,) or (n_features,)."""
        return np.atleast_1d(np.log(self._scale()))

    def with_theta(self, theta: Array) -> Self:
        """The same kernel with other widths.

        Parameters
        ----------
        theta : array-like of shape (1,) or (n_features,)
            Logarithms of the widths.
        """
        return self._replaced(bandwidth=self._bandwidth_of(np.atleast_1d(theta)))

    def log_bounds(self, X: Features) -> Array:
        """Interval of each log-width, shape (n_theta, 2)."""
        return self._width_bounds(X, self.theta.size)

    @property
    def n_widths(self) -> int:
        """One, or one for each feature."""
        return int(np.size(self._scale()))

    def starts(self, X: Features) -> Array:
        """Nine common widths within the interval of a single one, shape (9, n_theta)."""
        starts = super().starts(X)
        interval = self._width_bounds(X, 1)[0]
        starts[:, : self.n_widths] = np.linspace(*interval, N_STARTS + 2)[1:-1, None]
        return starts

    def isotropic(self) -> Kernel | None:
        """The same kernel with one width, the geometric mean of its widths; None where it has one."""
        if np.ndim(self._scale()) == 0:
            return None
        mean = float(np.exp(np.log(self._scale()).mean()))
        return self._replaced(bandwidth=mean, ard=False)

    def bind(self, X: Features) -> Self:
        """The same kernel with one width per feature where `ard` asks for it."""
        if self.ard and np.ndim(self.bandwidth) == 0:
            return self._replaced(bandwidth=np.full(X.shape[1], self._scale()))
        return self

    def relevance(self, n_features: int) -> Array:
        """1 / width^2 of each feature, shape (n_features,)."""
        return np.broadcast_to(np.asarray(self._scale()) ** -2.0, (n_features,)).copy()

    def describe(self) -> str:
        """Name and width, or the range of widths."""
        scale = np.atleast_1d(self._scale())
        name = type(self).__name__
        if scale.size == 1:
            return f"{name}, width {scale[0]:.3g}"
        return f"{name}, widths {scale.min():.3g} to {scale.max():.3g}"

    def _scale(self) -> float | Array:
        if isinstance(self.bandwidth, float) and 0.0 < self.bandwidth < np.inf:
            return self.bandwidth
        scale = np.asarray(self.bandwidth, dtype=float)
        if scale.ndim > 1 or not np.all((scale > 0) & np.isfinite(scale)):
            raise ValueError(f"bandwidth must be positive and finite; got {self.bandwidth!r}.")
        return float(scale) if scale.ndim == 0 else scale

    def _bandwidth_of(self, theta: Array) -> float | Array:
        if np.ndim(self.bandwidth) == 0 and theta.size == 1:
            return float(np.exp(theta[0]))
        return np.exp(theta)

    def _replaced(self, **changes: Any) -> Self:
        return type(self)(**{**self.get_params(deep=False), **changes})

    def _width_bounds(self, X: Features, n_widths: int) -> Array:
        if not isinstance(self.bounds, str):
            return np.tile(log_interval(self.bounds), (n_widths, 1))
        low, high = distance_range(X)
        interval = np.array([_NARROWEST * low, _WIDEST * high])
        if n_widths == 1:
            return np.log(interval)[None, :]
        spread = feature_spread(X)
        lows = np.minimum(interval[0], np.where(spread > 0, _NARROWEST * spread, interval[0]))
        highs = np.maximum(interval[1], _WIDEST**2 * spread)
        return np.log(np.column_stack([lows, highs]))


class Gaussian(Stationary):
    """Gaussian kernel, exp(-|x - x'|^2 / s^2).

    Parameters
    ----------
    bandwidth : float or array-like of shape (n_features,), default=1.0
        Width s, in the unit of the features: gamma = 1 / s^2, and a length scale (as Gaussian-process
        libraries have it) is s / sqrt(2).
    ard : bool, default=False
        One width per feature: exp(-sum_z (x_z - x'_z)^2 / s_z^2).
    bounds : "data" or (float, float), default="data"
        Interval in which widths are searched, in the unit of the features.

    Notes
    -----
    O(n^2 d) time. The contracted gradient costs one more product of that size for all widths.

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

    def _from_scaled(self, u: Array) -> Array:
        np.negative(u, out=u)
        return np.expm1(u, out=u)

    def _slope(self, u: Array, shifted: Array) -> Array:
        return -1.0 - shifted


class Laplacian(Stationary):
    """Laplacian kernel, exp(-|x - x'| / s), of the Euclidean distance.

    Parameters
    ----------
    bandwidth : float or array-like of shape (n_features,), default=1.0
        Width s, in the unit of the features.
    ard : bool, default=False
        One width per feature.
    bounds : "data" or (float, float), default="data"
        Interval in which widths are searched, in the unit of the features.

    Notes
    -----
    This is the Matern kernel of smoothness 1/2. :func:`sklearn.metrics.pairwise.laplacian_kernel`
    takes the sum of absolute differences instead; the two agree in one dimension.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> Laplacian(bandwidth=2.0)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    def _from_scaled(self, u: Array) -> Array:
        np.sqrt(u, out=u)
        np.negative(u, out=u)
        return np.expm1(u, out=u)

    def _slope(self, u: Array, shifted: Array) -> Array:
        distance = np.sqrt(u)
        return np.divide(-0.5 * (1.0 + shifted), distance, out=np.zeros_like(u), where=distance > 0)


class Matern(Stationary):
    """Matern kernel of smoothness 1/2, 3/2 or 5/2.

    With a = sqrt(2 nu) |x - x'| / s: exp(-a), (1 + a) exp(-a), (1 + a + a^2 / 3) exp(-a).

    Parameters
    ----------
    bandwidth : float or array-like of shape (n_features,), default=1.0
        Length scale s, in the unit of the features.
    nu : {0.5, 1.5, 2.5}, default=1.5
        Smoothness.
    ard : bool, default=False
        One width per feature.
    bounds : "data" or (float, float), default="data"
        Interval in which widths are searched, in the unit of the features.

    References
    ----------
    Rasmussen & Williams (2006), Gaussian Processes for Machine Learning, section 4.2.1.

    Examples
    --------
    >>> from mercer.kernels import Matern
    >>> Matern(bandwidth=2.0, nu=2.5)([[0.0], [2.0]]).round(4)
    array([[1.   , 0.524],
           [0.524, 1.   ]])
    """

    def __init__(
        self,
        bandwidth: float | Array = 1.0,
        *,
        nu: float = 1.5,
        ard: bool = False,
        bounds: Bounds = "data",
    ) -> None:
        super().__init__(bandwidth, ard=ard, bounds=bounds)
        self.nu = nu

    def describe(self) -> str:
        """Name, smoothness and width."""
        return super().describe().replace("Matern", f"Matern {self.nu:g}", 1)

    def _from_scaled(self, u: Array) -> Array:
        a = np.sqrt(2.0 * self._smoothness() * u)
        shifted = np.expm1(-a)
        if self.nu == 0.5:
            return shifted
        rest = a if self.nu == 1.5 else a * (1.0 + a / 3.0)
        far = shifted + rest * (1.0 + shifted)
        return np.where(a < _SERIES_BELOW, _near(a, self.nu), far)

    def _slope(self, u: Array, shifted: Array) -> Array:
        a = np.sqrt(2.0 * self._smoothness() * u)
        decay = np.exp(-a)
        if self.nu == 0.5:
            return np.divide(-0.5 * decay, a, out=np.zeros_like(u), where=a > 0)
        return -1.5 * decay if self.nu == 1.5 else -5.0 / 6.0 * (1.0 + a) * decay

    def _smoothness(self) -> float:
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu must be 0.5, 1.5 or 2.5; got {self.nu!r}.")
        return self.nu


_SERIES_BELOW = 0.02
"""Where the closed form of a smooth Matern kernel less one would cancel, its series is used."""


def _near(a: Array, nu: float) -> Array:
    """Series of the Matern kernel less one in a = sqrt(2 nu) |x - x'| / s, for small a."""
    a2 = a * a
    if nu == 1.5:
        tail = -1.0 / 2 + a * (
            1.0 / 3 + a * (-1.0 / 8 + a * (1.0 / 30 + a * (-1.0 / 144 + a / 840)))
        )
    else:
        tail = -1.0 / 6 + a2 * (
            1.0 / 24 + a * (-1.0 / 45 + a * (1.0 / 144 + a * (-1.0 / 630 + a / 3456)))
        )
    return a2 * tail


class RationalQuadratic(Stationary):
    """Rational quadratic kernel, (1 + |x - x'|^2 / (alpha s^2))^-alpha.

    A mixture of Gaussian kernels of many widths; it tends to :class:`Gaussian` as `alpha` grows.

    Parameters
    ----------
    bandwidth : float or array-like of shape (n_features,), default=1.0
        Width s, in the unit of the features.
    alpha : float, default=1.0
        Shape, without unit: the smaller, the more the widths of the mixture differ. Learned too,
        within 0.01 and 100.
    ard : bool, default=False
        One width per feature.
    bounds : "data" or (float, float), default="data"
        Interval in which widths are searched, in the unit of the features.

    References
    ----------
    Rasmussen & Williams (2006), section 4.2.1; their length scale is s / sqrt(2).

    Examples
    --------
    >>> from mercer.kernels import RationalQuadratic
    >>> RationalQuadratic(bandwidth=2.0)([[0.0], [2.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    def __init__(
        self,
        bandwidth: float | Array = 1.0,
        *,
        alpha: float = 1.0,
        ard: bool = False,
        bounds: Bounds = "data",
    ) -> None:
        super().__init__(bandwidth, ard=ard, bounds=bounds)
        self.alpha = alpha

    @property
    def theta(self) -> Array:
        """Logarithm of each width, then of alpha."""
        return np.append(super().theta, np.log(self._shape()))

    def with_theta(self, theta: Array) -> Self:
        """The same kernel with other widths and another alpha."""
        theta = np.asarray(theta, dtype=float)
        return self._replaced(
            bandwidth=self._bandwidth_of(theta[:-1]), alpha=float(np.exp(theta[-1]))
        )

    def log_bounds(self, X: Features) -> Array:
        """Interval of each log-width, then of log alpha."""
        widths = self._width_bounds(X, self.theta.size - 1)
        return np.vstack([widths, np.log([0.01, 100.0])])

    def describe(self) -> str:
        """Name, width and alpha."""
        return f"{super().describe()}, alpha {self.alpha:.3g}"

    def _shape(self) -> float:
        if not (np.isfinite(self.alpha) and self.alpha > 0):
            raise ValueError(f"alpha must be positive and finite; got {self.alpha!r}.")
        return float(self.alpha)

    def _from_scaled(self, u: Array) -> Array:
        alpha = self._shape()
        u /= alpha
        np.log1p(u, out=u)
        u *= -alpha
        return np.expm1(u, out=u)

    def _slope(self, u: Array, shifted: Array) -> Array:
        return -(1.0 + shifted) / (1.0 + u / self._shape())

    def _shape_gradient(self, P: Array, u: Array) -> tuple[float, ...]:
        alpha = self._shape()
        ratio = u / alpha
        log = np.log1p(ratio)
        return (alpha * inner(P, np.exp(-alpha * log) * (ratio / (1.0 + ratio) - log)),)


class Dirichlet(Radial):
    """Dirichlet kernel of degree one, 1 + 2 cos(s |x - x'|).

    Parameters
    ----------
    frequency : float, default=1.0
        Angular frequency s, in radians per unit of the features.
    bounds : "data" or (float, float), default="data"
        Interval in which frequencies are searched; `"data"` reaches from a quarter of a period
        over the largest distance to one period over a small one. The lower end may be zero.

    Notes
    -----
    Positive semi-definite for a single feature. In more dimensions the cosine of a Euclidean distance is not;
    use `OnColumns(Dirichlet(), [j])` for each feature j then.

    References
    ----------
    Afkanpour, Szepesvari, Bowling (2013), section 3.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Dirichlet
    >>> Dirichlet(frequency=np.pi)([[0.0], [1.0]])
    array([[ 3., -1.],
           [-1.,  3.]])
    """

    band_limited = True

    def __init__(self, frequency: float = 1.0, *, bounds: Bounds = "data") -> None:
        self.frequency = frequency
        self.bounds = bounds

    @property
    def offset(self) -> float:
        """Three: the value at distance zero."""
        return 3.0

    @property
    def theta(self) -> Array:
        """Logarithm of the frequency, shape (1,)."""
        return np.array([-np.log(self._scale())])

    def with_theta(self, theta: Array) -> Self:
        """The same kernel with another frequency."""
        return type(self)(float(np.exp(np.asarray(theta).item())), bounds=self.bounds)

    def log_bounds(self, X: Features) -> Array:
        """Interval of the log-frequency, shape (1, 2)."""
        if not isinstance(self.bounds, str):
            return log_interval(self.bounds, zero_allowed=True)[None, :]
        low, high = distance_range(X)
        return np.log([[0.5 * np.pi / high, 2.0 * np.pi / low]])

    def describe(self) -> str:
        """Name and frequency."""
        return f"Dirichlet, frequency {self.frequency:.4g}"

    def at_theta(self, squared: Array, theta: float) -> Array:
        """The kernel less its offset at another frequency; see :meth:`Radial.at_theta`."""
        return super().at_theta(squared, -theta)

    def _scale(self) -> float:
        if not (np.isfinite(self.frequency) and self.frequency > 0):
            raise ValueError(f"frequency must be positive and finite; got {self.frequency!r}.")
        return 1.0 / self.frequency

    def _from_scaled(self, u: Array) -> Array:
        np.sqrt(u, out=u)
        u *= 0.5
        np.sin(u, out=u)
        u *= u
        u *= -4.0
        return u

    def _slope(self, u: Array, shifted: Array) -> Array:
        return -np.sinc(np.sqrt(u) / np.pi)

    def _contract(
        self, X: Features, P: Array, Z: Features, start: int | None
    ) -> tuple[float, Array]:
        value, gradient = super()._contract(X, P, Z, start)
        return value, -gradient
