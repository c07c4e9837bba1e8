"""Kernels of the Euclidean distance other than the Gaussian and the exponential power kernels."""

from dataclasses import KW_ONLY, dataclass
from typing import Self

import numpy as np

from mercer._data.arrays import (
    at_most,
    copied,
    decay_less_one,
    namespace,
    overwritten,
    ratio,
)
from mercer._data.types import Array, Features
from mercer.kernels._distances import Bounds, distance_range, inner, log_interval
from mercer.kernels._radial import Radial, Stationary


@dataclass(eq=False, repr=False)
class Matern(Stationary):
    """Matern kernel of smoothness 1/2, 3/2 or 5/2, between the Laplacian and the Gaussian kernel.

    With a = sqrt(2 nu) |x - x'| / s, it is exp(-a) for nu = 1/2, (1 + a) exp(-a) for nu = 3/2, and
    (1 + a + a^2 / 3) exp(-a) for nu = 5/2.

    Parameters
    ----------
    bandwidth : float, array-like of shape (n_features,) or "median", default=1.0
        Length scale s, in the unit of the features.
    ard : bool, default=False
        One width per feature.
    bounds : "data" or (float, float), default="data"
        Interval in which widths are searched, in the unit of the features. `"data"` derives it from
        the distances between the training samples, up to a hundred times the largest distance.
    nu : {0.5, 1.5, 2.5}, default=1.5
        Smoothness.

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

    accepts_array_api = True

    _: KW_ONLY
    nu: float = 1.5

    def describe(self) -> str:
        """Return the name, smoothness and width."""
        return super().describe().replace("Matern", f"Matern {self.nu:g}", 1)

    def _from_scaled(self, u: Array) -> Array:
        a = at_most((2.0 * self._smoothness() * u) ** 0.5, NOTHING_BEYOND)
        shifted = decay_less_one(copied(a))
        if self.nu == 0.5:
            return shifted
        polynomial = a if self.nu == 1.5 else a * (1.0 + a / 3.0)
        closed = shifted + polynomial * (1.0 + shifted)
        # The closed form suffers from cancellation for small arguments.
        return namespace(u).where(a < 0.02, _matern_series(a, self.nu), closed)

    def _slope(self, u: Array, shifted: Array) -> Array:
        a = at_most((2.0 * self._smoothness() * u) ** 0.5, NOTHING_BEYOND)
        decay = namespace(u).exp(-a)
        if self.nu == 0.5:
            return ratio(-0.5 * decay, a)
        return -1.5 * decay if self.nu == 1.5 else -5.0 / 6.0 * (1.0 + a) * decay

    def _wide_exponent(self, n_widths: int) -> float:
        return 2.0

    def _smoothness(self) -> float:
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu must be 0.5, 1.5 or 2.5; got {self.nu!r}.")
        return self.nu


NOTHING_BEYOND = 1e3
"""Largest argument a: beyond it, exp(-a) is zero, and its product with infinity is undefined."""


def _matern_series(a: Array, nu: float) -> Array:
    """Sum the series of the Matern kernel less one in a = sqrt(2 nu) |x - x'| / s, for small a."""
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


@dataclass(eq=False, repr=False)
class RationalQuadratic(Stationary):
    """Rational quadratic kernel, (1 + |x - x'|^2 / (alpha s^2))^-alpha, a mixture of widths.

    It is a mixture of Gaussian kernels of many widths, and approaches :class:`Gaussian` as `alpha`
    grows.

    Parameters
    ----------
    bandwidth : float, array-like of shape (n_features,) or "median", default=1.0
        Width s, in the unit of the features; `"median"` as for :class:`Gaussian`.
    ard : bool, default=False
        One width per feature.
    bounds : "data" or (float, float), default="data"
        Interval in which widths are searched, in the unit of the features. `"data"` derives it from
        the distances between the training samples.
    alpha : float, default=1.0
        Dimensionless shape parameter. The smaller it is, the more the widths of the mixture differ.
        It is learned as well, in the interval from 0.01 to 100.

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

    accepts_array_api = True

    _: KW_ONLY
    alpha: float = 1.0

    def describe(self) -> str:
        """Return the name, width and alpha."""
        return f"{super().describe()}, alpha {self.alpha:.3g}"

    def _shapes(self) -> dict[str, Array]:
        self._checked_alpha()
        return {"alpha": np.log([0.01, 100.0])}

    def _checked_alpha(self) -> float:
        if not (np.isfinite(self.alpha) and self.alpha > 0):
            raise ValueError(f"alpha must be positive and finite; got {self.alpha!r}.")
        return float(self.alpha)

    def _from_scaled(self, u: Array) -> Array:
        alpha = self._checked_alpha()
        u /= alpha
        u = overwritten("log1p", u)
        u *= alpha
        return decay_less_one(u)

    def _slope(self, u: Array, shifted: Array) -> Array:
        return -(1.0 + shifted) / (1.0 + u / self._checked_alpha())

    def _shape_gradient(self, P: Array, u: Array, X: Features, Z: Features) -> tuple[float, ...]:
        alpha = self._checked_alpha()
        part, xp = u / alpha, namespace(u)
        log = xp.log1p(part)
        return (alpha * inner(P, xp.exp(-alpha * log) * (part / (1.0 + part) - log)),)


@dataclass(eq=False, repr=False)
class Dirichlet(Radial):
    """Dirichlet kernel of degree one, 1 + 2 cos(s |x - x'|), for sine waves of one feature.

    Parameters
    ----------
    frequency : float, default=1.0
        Angular frequency s, in radians per unit of the features. At zero, the kernel is the
        constant 3: `theta` is minus infinity, and the centered Gram matrix and the alignment are
        zero.
    bounds : "data" or (float, float), default="data"
        Interval in which frequencies are searched. With `"data"`, it starts at a quarter of a
        period over the largest distance. It ends at one period over a small distance, or at a
        thousand periods over the largest distance if this is less. A given lower end may be zero.

    Notes
    -----
    The kernel is positive semi-definite for a single feature only. For several features, use
    `OnColumns(Dirichlet(), [j])` for each feature j.

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

    frequency: float = 1.0
    _: KW_ONLY
    bounds: Bounds = "data"

    @property
    def offset(self) -> float:
        """Value of the kernel at distance zero, which is three."""
        return 3.0

    @property
    def theta(self) -> Array:
        """Logarithm of the frequency, shape (1,)."""
        return np.array([-np.log(self._scale())])

    def with_theta(self, theta: Array) -> Self:
        """Return the same kernel with another frequency."""
        return type(self)(float(np.exp(np.asarray(theta).item())), bounds=self.bounds)

    def log_bounds(self, X: Features) -> Array:
        """Return the interval of the log-frequency, shape (1, 2)."""
        given = log_interval(self.bounds, zero_allowed=True)
        if given is not None:
            return given[None, :]
        low, high = distance_range(X)
        return np.log(2.0 * np.pi * np.array([[0.25 / high, min(1.0 / low, 1000.0 / high)]]))

    def relevance(self, n_features: int) -> Array:
        """Return the squared frequency as the relevance of each feature.

        The frequency is an inverse width.
        """
        return np.full(n_features, self._scale() ** -2.0)

    def describe(self) -> str:
        """Return the name and the frequency."""
        return f"Dirichlet, frequency {self.frequency:.4g}"

    def at_theta(self, squared: Array, theta: float) -> Array:
        """Return the kernel minus its offset, for another frequency."""
        return super().at_theta(squared, -theta)

    def _scale(self) -> float:
        if not (np.isfinite(self.frequency) and self.frequency >= 0):
            raise ValueError(f"frequency must be finite and not negative; got {self.frequency!r}.")
        return 1.0 / self.frequency if self.frequency else np.inf

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
