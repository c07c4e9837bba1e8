"""Exponential power kernels, exp(-(|(x - x') / s|_p)^q), and the Laplacian among them."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from scipy.special import xlogy

from mercer._typing import Array, Features
from mercer.kernels._distances import Bounds, inner, log_interval
from mercer.kernels._radial import Bandwidth, Stationary

PowerBounds: TypeAlias = Literal["fixed"] | tuple[float, float]
"""Interval in which a power is searched, or "fixed"."""

_LARGEST_SPREAD = 10.0
"""Largest power to which the spread of the widths that are searched is raised."""


class ExponentialPower(Stationary):
    """Exponential power kernel, exp(-(|(x - x') / s|_p)^q), for 0 < q <= p <= 2.

    With |x - x'|_p = (sum_z |x_z - x'_z|^p)^(1/p). For p = q = 1 it is the product of
    one-dimensional Laplacian kernels, which suits tables: unlike the Euclidean distance, the sum of
    absolute differences distinguishes the features' directions.

    Parameters
    ----------
    bandwidth : float, array-like of shape (n_features,) or "median", default=1.0
        Width s, in the unit of the features; with `"median"` the median distance, in the kernel's
        norm, between the samples of the table that the kernel is bound to, as every estimator binds
        it.
    power : float, default=1.0
        Exponent q of the distance, in (0, norm]: the smaller, the rougher are the functions.
    norm : float, default=1.0
        p of the distance, in (0, 2].
    ard : bool, default=False
        One width per feature: the distance is (sum_z |(x_z - x'_z) / s_z|^p)^(1/p).
    bounds : "data" or (float, float), default="data"
        Interval in which widths are searched, in the unit of the features. With `"data"` it is
        derived from the distances between samples, in the kernel's norm.
    power_bounds : "fixed" or (float, float), default="fixed"
        Interval in which the power is searched, between zero and `norm`; with `"fixed"` it stays.
        For a choice among norms, pass a list of kernels to a learner.

    Raises
    ------
    ValueError
        When used, if not 0 < power <= norm <= 2.

    See Also
    --------
    Gaussian : The case p = q = 2.
    Laplacian : The case q = 1.

    Notes
    -----
    The kernel is positive definite on tables of every number of features if and only if
    0 < q <= p <= 2. O(n^2 d) time: for p = 2 in matrix products, for other norms in one pass over
    |x_z - x'_z| for each feature z.

    References
    ----------
    Schoenberg (1938), Metric spaces and positive definite functions, Transactions of the American
    Mathematical Society 44.

    Examples
    --------
    >>> from mercer.kernels import ExponentialPower
    >>> ExponentialPower(2.0)([[0.0, 0.0], [1.0, 1.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    def __init__(
        self,
        bandwidth: Bandwidth = 1.0,
        *,
        power: float = 1.0,
        norm: float = 1.0,
        ard: bool = False,
        bounds: Bounds = "data",
        power_bounds: PowerBounds = "fixed",
    ) -> None:
        super().__init__(bandwidth, ard=ard, bounds=bounds)
        self.power = power
        self.norm = norm
        self.power_bounds = power_bounds

    @property
    def theta(self) -> Array:
        """Logarithm of each width, then of the power if it is searched."""
        widths = super().theta
        return widths if self._log_powers() is None else np.append(widths, np.log(self.power))

    def with_theta(self, theta: Array) -> Self:
        """The same kernel with other widths, and another power if it is searched."""
        if self._log_powers() is None:
            return super().with_theta(theta)
        theta = np.asarray(theta, dtype=float)
        power = float(np.exp(theta[-1]))
        if np.isclose(power, self.norm, rtol=1e-12, atol=0.0):
            power = float(self.norm)
        return self._replaced(bandwidth=self._bandwidth_of(theta[:-1]), power=power)

    def log_bounds(self, X: Features) -> Array:
        """Interval of each log-width, then of the power's logarithm if it is searched."""
        powers = self._log_powers()
        if powers is None:
            return super().log_bounds(X)
        return np.vstack([self._width_bounds(X, self.theta.size - 1), powers])

    def describe(self) -> str:
        """Name, power, norm and width."""
        name, width = super().describe().split(",", 1)
        return f"{name}, power {self.power:.3g}, norm {self.norm:.3g},{width}"

    def _scale(self) -> float | Array:
        check_exponents(self.power, self.norm)
        return super()._scale()

    def _log_powers(self) -> Array | None:
        """Logarithms of the smallest and the largest power; None if it is not searched."""
        if isinstance(self.power_bounds, str) and self.power_bounds == "fixed":
            return None
        if isinstance(self.power_bounds, str):
            raise ValueError(
                f'power_bounds must be "fixed" or a pair (low, high); got {self.power_bounds!r}.'
            )
        powers = log_interval(self.power_bounds)
        assert powers is not None
        check_exponents(float(self.power_bounds[1]), self.norm)
        return powers

    def _spread_exponent(self) -> float:
        powers = self._log_powers()
        largest = self.power if powers is None else float(np.exp(powers[1]))
        return min(max(1.0 / largest, 1.0), _LARGEST_SPREAD)

    def _shape_gradient(self, P: Array, u: Array) -> tuple[float, ...]:
        if self._log_powers() is None:
            return ()
        powers = _half_power(u, self.power)
        slope = np.exp(-powers)
        slope *= xlogy(powers, powers)
        return (-inner(P, slope),)

    def _from_scaled(self, u: Array) -> Array:
        u = _half_power(u, self.power, out=u)
        np.negative(u, out=u)
        return np.expm1(u, out=u)

    def _slope(self, u: Array, shifted: Array) -> Array:
        if self.power == 2.0:
            return -1.0 - shifted
        slope = _half_power(u, self.power)
        slope *= shifted + 1.0
        slope *= -0.5 * self.power
        return np.divide(slope, u, out=np.zeros_like(u), where=u > 0)


class Laplacian(ExponentialPower):
    """Laplacian kernel, exp(-|x - x'|_p / s), of the Euclidean distance or of another.

    Parameters
    ----------
    bandwidth : float, array-like of shape (n_features,) or "median", default=1.0
        Width s, in the unit of the features; `"median"` as for :class:`ExponentialPower`.
    norm : float, default=2.0
        p of the distance |x - x'|_p, in [1, 2]: the Euclidean distance for two, the sum of absolute
        differences for one.
    ard : bool, default=False
        One width per feature.
    bounds : "data" or (float, float), default="data"
        Interval in which widths are searched, in the unit of the features.

    Notes
    -----
    With `norm=2` this is the Matern kernel of smoothness 1/2; with `norm=1` it is the product of
    one-dimensional Laplacian kernels, :func:`sklearn.metrics.pairwise.laplacian_kernel`.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> Laplacian(bandwidth=2.0)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    >>> Laplacian(bandwidth=2.0, norm=1)([[0.0, 0.0], [1.0, 1.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    def __init__(
        self,
        bandwidth: Bandwidth = 1.0,
        *,
        norm: float = 2.0,
        ard: bool = False,
        bounds: Bounds = "data",
    ) -> None:
        Stationary.__init__(self, bandwidth, ard=ard, bounds=bounds)
        self.norm = norm

    power: float = 1.0
    """q of the exponential power kernel that it is."""

    power_bounds: PowerBounds = "fixed"
    """The power is never searched."""

    def describe(self) -> str:
        """Name, norm unless it is Euclidean, and width."""
        text = Stationary.describe(self)
        return text if self.norm == 2.0 else text.replace(",", f", norm {self.norm:.3g},", 1)


def check_exponents(power: Any, norm: Any) -> None:
    """Raise a ValueError unless 0 < power <= norm <= 2.

    Parameters
    ----------
    power, norm : float
    """
    for name, value in (("power", power), ("norm", norm)):
        if isinstance(value, bool) or not isinstance(value, Real):
            raise ValueError(f"{name} must be a number; got {value!r}.")
    if not 0.0 < norm <= 2.0:
        raise ValueError(
            f"norm must be in (0, 2]; got {norm!r}. The kernel is not positive definite for larger "
            "ones (Schoenberg 1938)."
        )
    if not (np.isfinite(power) and power > 0.0):
        raise ValueError(f"power must be positive and finite; got {power!r}.")
    if power > norm:
        raise ValueError(
            f"power={power:g} is larger than norm={norm:g}: the kernel is not positive definite "
            "then (Schoenberg 1938). Choose 0 < power <= norm <= 2."
        )


def _half_power(u: Array, power: float, out: Array | None = None) -> Array:
    """u^(power / 2), the power of a distance from its square."""
    if power == 2.0:
        return np.copy(u) if out is None else out
    if power == 1.0:
        return np.sqrt(u, out=out)
    return np.power(u, 0.5 * power, out=out)
