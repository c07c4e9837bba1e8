"""Costs of the differences between the widths of one kernel."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np

from mercer._typing import Array
from mercer._validation import check_choice, check_number

PenaltyForm = Literal["widths", "log_widths", "inverse_widths"]

STRENGTHS = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
"""Relative strengths that are tried, or passed through, between a common width and free widths."""

_POWERS = {"log_widths": 0.0, "inverse_widths": -1.0}
"""The power p by which each relative form measures widths: ((s / s_0)^p - 1) / p is squared."""


@dataclass(frozen=True)
class WidthPenalty:
    """A cost of the differences between the widths s_z of a kernel.

    Attributes
    ----------
    strength : float
        lambda; infinity forces one common width.
    form : {"widths", "log_widths", "inverse_widths"}
        `"widths"` costs lambda sum_z (s_z - mean s)^2, in the unit of the features and of the
        gradient of the alignment. The other forms are relative to the best common width s_0 and the
        objective J_0 there, so that neither unit matters: they cost lambda J_0 mean_z u_z^2, where
        u_z is log(s_z / s_0) for `"log_widths"` and s_0 / s_z - 1 for `"inverse_widths"`. The
        latter lets a width grow at little cost, so that its feature is ignored, and makes narrow
        widths costly.

    References
    ----------
    Afkanpour, Szepesvari, Bowling (2013), eq. (4), for the first form.
    """

    strength: float
    form: PenaltyForm = "widths"

    def __post_init__(self) -> None:
        check_choice("penalty_on", self.form, ("widths", *_POWERS))

    @property
    def is_relative(self) -> bool:
        """Whether the cost depends on the best common width."""
        return self.form != "widths"

    def bind(
        self, log_width: float, value: float, n_widths: int, unit: float = 1.0
    ) -> BoundPenalty:
        """Return the cost as a function of one kernel's log-parameters.

        Parameters
        ----------
        log_width : float
            Logarithm of the best common width.
        value : float
            The objective there.
        n_widths : int
            Number of widths; they are the kernel's first parameters.
        unit : float, default=1.0
            What the objective is a multiple of; a cost that is not relative is multiplied by it.
        """
        if self.is_relative:
            strength = self.strength * abs(value) / max(n_widths, 1)
            return BoundPenalty(strength, n_widths, log_width, _POWERS[self.form])
        return BoundPenalty(self.strength * unit, n_widths)


@dataclass(frozen=True)
class BoundPenalty:
    """A width penalty as a function of log-parameters.

    Attributes
    ----------
    strength : float
    n_widths : int
    log_width : float or None
        Logarithm of the width s_0 that the others are compared with; their own mean where None.
    power : float
        p: the cost sums the squares of ((s / s_0)^p - 1) / p, or of log(s / s_0) where p is zero.
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


UNPENALIZED = WidthPenalty(0.0)
"""Widths may differ at no cost."""

NO_PENALTY = BoundPenalty(0.0, 0)
"""Every vector of log-parameters costs nothing."""


def check_strength(name: str, value: Any) -> None:
    """Raise unless the strength is "auto" or a number from zero to infinity.

    Parameters
    ----------
    name : str
        The parameter's name, for the message.
    value : object
    """
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f'{name} must be a number or "auto"; got {value!r}.')
    elif not (isinstance(value, Real) and value == np.inf):
        check_number(name, value)
