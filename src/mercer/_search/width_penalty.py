"""What holds the widths of an ellipsoid together."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np

from mercer._typing import Array
from mercer._validation import check_choice, check_number

PenaltyForm = Literal["widths", "log_widths", "inverse_widths"]

STRENGTHS = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
"""Relative penalties on the way from the sphere to the ellipsoid without one."""

_POWERS = {"log_widths": 0.0, "inverse_widths": -1.0}


@dataclass(frozen=True)
class WidthPenalty:
    """A cost of the differences between the widths s_z of a kernel.

    Attributes
    ----------
    strength : float
        lambda; infinite for one width for all.
    form : {"widths", "log_widths", "inverse_widths"}
        `"widths"`: lambda sum_z (s_z - mean s)^2, in the unit of the features and of the objective.
        The others are relative to the best single width s_0 and the objective J_0 there, so that
        neither unit matters: lambda J_0 mean_z u_z^2 with u_z = log(s_z / s_0), or s_0 / s_z - 1,
        which lets a width grow at little cost (it stops reading a feature) and resists narrow ones.

    References
    ----------
    Afkanpour, Szepesvari, Bowling (2013), eq. (4), for the first form.
    """

    strength: float
    form: PenaltyForm = "widths"

    def __post_init__(self) -> None:
        check_choice("form", self.form, ("widths", *_POWERS))

    @property
    def is_relative(self) -> bool:
        """Whether it needs to know the best single width."""
        return self.form != "widths"

    def about(self, log_width: float, value: float, n_widths: int) -> BoundPenalty:
        """The penalty for one kernel.

        Parameters
        ----------
        log_width : float
            Logarithm of the best single width.
        value : float
            The objective there.
        n_widths : int
            The first parameters are widths: as many as this.
        """
        if self.is_relative:
            strength = self.strength * abs(value) / max(n_widths, 1)
            return BoundPenalty(strength, n_widths, log_width, _POWERS[self.form])
        return BoundPenalty(self.strength, n_widths)


@dataclass(frozen=True)
class BoundPenalty:
    """A penalty as a function of log-parameters.

    Attributes
    ----------
    strength : float
    n_widths : int
    log_width : float or None
        Width that others are measured from; their own mean where None.
    power : float
        What is squared is ((s / s_0)^power - 1) / power, log(s / s_0) where it is zero.
    """

    strength: float
    n_widths: int
    log_width: float | None = None
    power: float = 1.0

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Cost and its gradient.

        Parameters
        ----------
        theta : ndarray of shape (n_theta,)
        """
        gradient = np.zeros(theta.size)
        if self.strength == 0.0 or self.n_widths == 0:
            return 0.0, gradient
        widths = theta[: self.n_widths]
        if self.log_width is None:
            s = np.exp(widths)
            deviation, slope = s - s.mean(), s
        elif self.power == 0.0:
            deviation, slope = widths - self.log_width, np.ones(widths.size)
        else:
            slope = np.exp(self.power * (widths - self.log_width))
            deviation = (slope - 1.0) / self.power
        gradient[: self.n_widths] = 2.0 * self.strength * deviation * slope
        return self.strength * float(deviation @ deviation), gradient


def check_strength(name: str, value: Any) -> None:
    """Refuse a strength that is neither "auto" nor a number from zero to infinity.

    Parameters
    ----------
    name : str
    value : object
    """
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f'{name} must be a number or "auto"; got {value!r}.')
    elif not (isinstance(value, Real) and value == np.inf):
        check_number(name, value)


UNPENALIZED = WidthPenalty(0.0)
NO_PENALTY = BoundPenalty(0.0, 0)
