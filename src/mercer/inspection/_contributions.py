"""Contributions of columns to one prediction: the largest of them, and what they are in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from math import exp, floor, isfinite, log10
from numbers import Integral, Real
from typing import Any

from mercer._expansion import Scale


@dataclass(frozen=True)
class Contribution:
    """What a column contributes to a prediction.

    Attributes
    ----------
    name : str
        Of the column, or of a group of columns.
    value : object
        Of the row that is explained; text of a group.
    amount : float
        Signed, in the unit of the prediction.
    standard_error : float
        Zero where the amount is exact.

    Examples
    --------
    >>> from mercer.inspection import Contribution
    >>> Contribution("age", 61.0, 2.314, 0.0).in_words("response", unit="kg")
    'age 61: 2.31 kg above the average row'
    """

    name: str
    value: Any
    amount: float
    standard_error: float

    @property
    def cell(self) -> str:
        """Name and value, such as "age 61"."""
        return f"{self.name} {cell_text(self.value)}".rstrip()

    def in_words(self, scale: Scale, output: str = "", unit: str = "", decimals: int = 2) -> str:
        """The contribution as a phrase, such as "age 61: 2.3 kg above the average row".

        Parameters
        ----------
        scale : {"response", "log-odds", "logit", "decision value", "latent mean", "log rate"}
        output : str, default=""
            Name of the class.
        unit : str, default=""
            Of the response.
        decimals : int, default=2
        """
        if scale in ("log-odds", "logit"):
            factor = exp(min(self.amount, 700.0))
            return f"{self.cell}: multiplies the odds of {output} by {_significant(factor)}"
        if scale == "log rate":
            factor = exp(min(self.amount, 700.0))
            return f"{self.cell}: multiplies the expected count by {_significant(factor)}"
        amount = f"{abs(self.amount):,.{decimals}f}"  # A word says on which side it is.
        if not float(amount.replace(",", "")):
            return f"{self.cell}: as the average row"
        side = "above" if self.amount > 0.0 else "below"
        what = f" {unit}" * (scale == "response" and bool(unit))
        of_class = f" in the {scale} of {output}" if output else ""
        return f"{self.cell}: {amount}{what} {side} the average row{of_class}"


def cell_text(value: Any, longest: int = 40) -> str:
    """A cell of a table as short text.

    Parameters
    ----------
    value : object
    longest : int, default=40
        Longer texts are cut, so that sentences can be read.

    Examples
    --------
    >>> cell_text(61.0), cell_text(0.123456), cell_text(float("nan")), cell_text("Bern")
    ('61', '0.1235', 'missing', 'Bern')
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return "missing"
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time.min else f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Integral) or not isinstance(value, Real):
        text = str(value)
        return text if len(text) <= longest else f"{text[: longest - 1]}…"
    number = float(value)
    if not isfinite(number):
        return "missing"
    return f"{number:.0f}" if 1e4 <= abs(number) < 1e15 else f"{number:.4g}"


def signed(amount: float, decimals: int) -> str:
    """A signed number with commas between thousands, such as "+1,234.5".

    Parameters
    ----------
    amount : float
    decimals : int
        Numbers of less than half of the last decimal have no sign.
    """
    text = f"{amount:+,.{decimals}f}"
    return text if float(text.replace(",", "")) else text[1:]


def decimals_of(amounts: Sequence[float]) -> int:
    """Number of decimals by which the largest of some numbers has three significant digits.

    Parameters
    ----------
    amounts : sequence of float

    Examples
    --------
    >>> decimals_of([2.345, -0.1]), decimals_of([31234.5]), decimals_of([0.0])
    (2, 0, 2)
    """
    largest = max((abs(amount) for amount in amounts), default=0.0)
    if not (largest and isfinite(largest)):
        return 2
    return min(max(2 - floor(log10(largest)), 0), 12)


def _significant(factor: float) -> str:
    """A positive number with at most three significant digits, without exponents where short."""
    if factor == 0.0:
        return "0"
    decimals = min(max(1 - floor(log10(factor)), 0), 6)
    return f"{factor:,.{decimals}f}" if factor < 1e6 else f"{factor:.0e}"
