"""Exponential power kernels, exp(-(|(x - x') / s|_p)^q), and the Laplacian among them."""

import math
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from scipy.special import xlogy

from mercer._data.arrays import decay_less_one, ratio
from mercer._data.types import Array, Features
from mercer.kernels._distances import Bandwidth, Bounds, inner, log_interval
from mercer.kernels._minkowski import log_weighted_powers
from mercer.kernels._radial import Stationary

ExponentBounds: TypeAlias = Literal["fixed"] | tuple[float, float]
"""Interval in which a power or a norm is searched, or "fixed"."""

_SMALLEST = float(np.finfo(float).tiny)
"""A power that is valid for every norm."""


@dataclass(eq=False, repr=False)
class ExponentialPower(Stationary):
    """Exponential power kernel, exp(-(|(x - x') / s|_p)^q), by default a product Laplacian.

    The distance is |x - x'|_p = (sum_z |x_z - x'_z|^p)^(1/p), and 0 < q <= p <= 2. For p = q = 1,
    the default, the kernel is the product of one-dimensional Laplacian kernels. It suits tables
    because the sum of absolute differences, unlike the Euclidean distance, treats the features as
    separate directions.

    Parameters
    ----------
    bandwidth : float, array-like of shape (n_features,) or "median", default=1.0
        Width s, in the unit of the features. With `"median"`, the width is the median distance, in
        the kernel's norm, between the training samples when an estimator is fitted.
    ard : bool, default=False
        One width per feature: the distance is (sum_z |(x_z - x'_z) / s_z|^p)^(1/p).
    bounds : "data" or (float, float), default="data"
        Interval in which widths are searched, in the unit of the features. `"data"` derives it from
        the distances between the training samples, in the kernel's norm.
    power : float, default=1.0
        Exponent q of the distance, in (0, norm]. Smaller powers give rougher functions.
    norm : float, default=1.0
        Exponent p of the distance, in (0, 2].
    power_bounds, norm_bounds : "fixed" or (float, float), default="fixed"
        Intervals in which power and norm are searched by gradients, together with the widths;
        `"fixed"` keeps their values. No power in its interval may exceed a norm in its interval.
        Alternatively, learners can choose among a list of kernels with several powers and norms.

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
    The kernel is positive definite for every number of features if and only if 0 < q <= p <= 2.
    Evaluation takes O(n^2 d) time: for p = 2, by matrix products, and for other norms, by one pass
    over |x_z - x'_z| for each feature z.

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

    _: KW_ONLY
    power: float = 1.0
    norm: float = 1.0
    power_bounds: ExponentBounds = "fixed"
    norm_bounds: ExponentBounds = "fixed"

    def with_theta(self, theta: Array) -> Self:
        """Return the kernel with other widths, and another power and norm if these are searched."""
        changed = super().with_theta(theta)
        # Rounding must not carry a norm above two, or a power above the norm.
        if math.isclose(changed.norm, 2.0, rel_tol=1e-12):
            changed.norm = 2.0
        if math.isclose(changed.power, changed.norm, rel_tol=1e-12):
            changed.power = changed.norm
        return changed

    @property
    def accepts_array_api(self) -> bool:  # type: ignore[override]
        """Whether power and norm are both fixed, because their derivatives need SciPy."""
        return not self._shapes()

    def describe(self) -> str:
        """Return the name, power, norm and width."""
        name, width = super().describe().split(",", 1)
        return f"{name}, power {self.power:.3g}, norm {self.norm:.3g},{width}"

    def _scale(self) -> float | Array:
        check_exponents(self.power, self.norm)
        self._shapes()
        return super()._scale()

    def _shapes(self) -> dict[str, Array]:
        """Return the intervals of the logarithms of searched parameters, by name."""
        given = {"power": self.power_bounds, "norm": self.norm_bounds}
        ends = {name: _ends(f"{name}_bounds", bounds) for name, bounds in given.items()}
        powers, norms = ends["power"], ends["norm"]
        if powers is not None or norms is not None:
            check_exponents(
                self.power if powers is None else powers[1],
                self.norm if norms is None else norms[0],
            )
            check_exponents(_SMALLEST, self.norm if norms is None else norms[1])
        return {name: np.log(pair) for name, pair in ends.items() if pair is not None}

    def _spread_exponent(self) -> float:
        return min(max(1.0 / self._largest_power(), 1.0), 10.0)

    def _wide_exponent(self, n_widths: int) -> float:
        if n_widths == 1:
            return self._spread_exponent()
        # At the largest width, exp(-t) = 1 - t + t^2 / 2 - ... is at most 1% away from linear.
        return min(max(2.0 / self._largest_power(), 1.0), 10.0)

    def _largest_power(self) -> float:
        searched = self._shapes()
        return float(np.exp(searched["power"][1])) if "power" in searched else self.power

    def _shape_gradient(self, P: Array, u: Array, X: Features, Z: Features) -> tuple[float, ...]:
        searched = self._shapes()
        if not searched:
            return ()
        powers = u ** (0.5 * self.power)
        values = np.exp(-powers)
        slopes = {}
        if "power" in searched:
            slopes["power"] = -inner(P, values * xlogy(powers, powers))
        if "norm" in searched:
            # With s = |x - z|_p^p, d log |x - z|_p / d log p is `difference / s`.
            s = u ** (0.5 * self.norm)
            difference = log_weighted_powers(X, Z, self.norm) - 0.5 * xlogy(s, u)
            ratio = np.divide(difference, s, out=np.zeros_like(s), where=s > 0.0)
            slopes["norm"] = -self.power * inner(P, values * powers * ratio)
        return tuple(slopes.values())

    def _from_scaled(self, u: Array) -> Array:
        u **= 0.5 * self.power
        return decay_less_one(u)

    def _slope(self, u: Array, shifted: Array) -> Array:
        if self.power == 2.0:
            return -1.0 - shifted
        slope = u ** (0.5 * self.power)
        slope *= shifted + 1.0
        slope *= -0.5 * self.power
        return ratio(slope, u)


class Laplacian(ExponentialPower):
    """Laplacian kernel, exp(-|x - x'|_p / s), for functions that are not smooth.

    Parameters
    ----------
    bandwidth : float, array-like of shape (n_features,) or "median", default=1.0
        Width s, in the unit of the features; `"median"` as for :class:`ExponentialPower`.
    norm : float, default=2.0
        Exponent p of the distance |x - x'|_p, in [1, 2]. The distance is Euclidean for p = 2, and
        the sum of absolute differences for p = 1.
    ard : bool, default=False
        One width per feature.
    bounds : "data" or (float, float), default="data"
        Interval in which widths are searched, in the unit of the features. `"data"` derives it from
        the distances between the training samples, in the kernel's norm.

    Notes
    -----
    With `norm=2`, this is the Matern kernel of smoothness 1/2. With `norm=1`, it is the product of
    one-dimensional Laplacian kernels, as in :func:`sklearn.metrics.pairwise.laplacian_kernel`.

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
    """Exponent q of the corresponding exponential power kernel."""

    power_bounds: ExponentBounds = "fixed"
    norm_bounds: ExponentBounds = "fixed"
    """Power and norm are never searched."""

    def describe(self) -> str:
        """Return the name, the norm unless it is Euclidean, and the width."""
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


def _ends(name: str, bounds: tuple[float, float] | str) -> tuple[float, float] | None:
    """Return both ends of an interval, or None if it is "fixed"."""
    if isinstance(bounds, str):
        if bounds == "fixed":
            return None
        raise ValueError(f'{name} must be "fixed" or a pair (low, high); got {bounds!r}.')
    log_interval(bounds)
    low, high = bounds
    return float(low), float(high)
