"""Contributions of columns in words, and the names of outputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from math import exp, floor, isfinite, log10
from numbers import Integral, Real

import numpy as np

from mercer._data.notebook import NotebookResult
from mercer._data.types import Array
from mercer._data.validation import LARGEST_LOGARITHM
from mercer._gram.expansion import Scale

_MULTIPLIED = {
    "log-odds": "odds of {}",
    "logit": "odds of {}",
    "log rate": "expected count",
    "log response": "prediction",
}
"""Names of what the exponentials of contributions multiply, by scale."""


_FIRST_DAY = date(1970, 1, 1)
"""The day on which times of day are times."""


@dataclass(frozen=True, repr=False)
class Contribution(NotebookResult):
    """Contribution of a column to a prediction.

    Attributes
    ----------
    name : str
        Name of the column or of the group of columns.
    value : object
        Value of the column in the explained row, or a text for a group.
    amount : float
        Signed contribution, in the unit of the prediction.
    standard_error : float
        Standard error of the amount; zero if the amount is exact.

    Examples
    --------
    >>> from mercer.inspection import Contribution
    >>> Contribution("age", 61.0, 2.314, 0.0).in_words("response", unit="kg")
    'age 61: 2.31 kg above the average row'
    """

    name: str
    value: object
    amount: float
    standard_error: float

    @property
    def cell(self) -> str:
        """The name and the value, such as "age 61"."""
        return f"{self.name} {cell_text(self.value)}".rstrip()

    def in_words(self, scale: Scale, output: str = "", unit: str = "", decimals: int = 2) -> str:
        """Return the contribution as a phrase, such as "age 61: 2.3 kg above the average row".

        Parameters
        ----------
        scale : str
            "response", "log response", "log-odds", "logit", "decision value", "latent mean" or
            "log rate".
        output : str, default=""
            Name of the class.
        unit : str, default=""
            Unit of the response.
        decimals : int, default=2
        """
        if scale in _MULTIPLIED:
            factor = _significant(exp(min(self.amount, LARGEST_LOGARITHM)))
            return f"{self.cell}: multiplies the {_MULTIPLIED[scale].format(output)} by {factor}"
        amount = f"{abs(self.amount):,.{decimals}f}"  # A word states the sign.
        if not float(amount.replace(",", "")):
            return f"{self.cell}: as the average row"
        side = "above" if self.amount > 0.0 else "below"
        what = f" {unit}" * (scale == "response" and bool(unit))
        of_class = f" in the {scale} of {output}" if output else ""
        return f"{self.cell}: {amount}{what} {side} the average row{of_class}"


def cell_text(value: object, longest: int = 40) -> str:
    """Return a cell of a table as a short text.

    Parameters
    ----------
    value : object
    longest : int, default=40
        Maximum number of characters; longer texts are truncated.

    Examples
    --------
    >>> cell_text(61.0), cell_text(0.123456), cell_text(float("nan")), cell_text("Bern")
    ('61', '0.1235', 'missing', 'Bern')
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return "missing"
    if isinstance(value, datetime) and value.time() != time.min and value.date() == _FIRST_DAY:
        return f"{value:%H:%M}"
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


def decimals_of(amounts: Sequence[float]) -> int:
    """Return the number of decimals that gives the largest number three significant digits.

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


def output_position(output: str | int | None, output_names: list[str], n_outputs: int) -> int:
    """Return the position of an output with a given name.

    Parameters
    ----------
    output : str, int or None
        Class, or position of a response; None if there is only one output.
    output_names : list of str
        Classes; empty for responses.
    n_outputs : int

    Raises
    ------
    ValueError
        If the output does not exist, or if there are several outputs and none is named.
    """
    if n_outputs == 1 and output is None:
        return 0
    names = output_names or [str(position) for position in range(n_outputs)]
    if str(output) not in names:
        raise ValueError(f"output must be one of {', '.join(names)}; got {output!r}.")
    return names.index(str(output))


def output_weights(
    output: str | int | None, output_names: list[str], n_outputs: int, scale: Scale
) -> tuple[Array, list[str], Scale]:
    """Return the weights of outputs whose weighted sum is one output, with its name and scale.

    For scores of several classes, the weighted sum is the log-odds of the class against the other
    classes, that is, against the geometric mean of their probabilities.

    Parameters
    ----------
    output : str, int or None
    output_names : list of str
    n_outputs : int
    scale : str
        "response", "log response", "log-odds", "logit", "decision value", "latent mean" or
        "log rate".

    Raises
    ------
    ValueError
        See :func:`output_position`.
    """
    k = output_position(output, output_names, n_outputs)
    weights = np.zeros(n_outputs)
    if scale == "logit":
        weights -= 1.0 / (n_outputs - 1)
        scale = "log-odds"
    weights[k] = 1.0
    return weights, output_names[k : k + 1], scale


def quantity_label(scale: str, output_names: Sequence[str] = (), unit: str = "") -> str:
    """Return the label of an axis of predictions.

    Parameters
    ----------
    scale : {"response", "probability", "log-odds", "logit", "decision value", "latent mean"}
    output_names : sequence of str, default=()
        The class if there are several.
    unit : str, default=""
        Unit of the response.
    """
    if scale == "response":
        return "Prediction" + f", {unit}" * bool(unit)
    name = {"logit": "Score"}.get(scale, scale.capitalize())
    return f"{name} of {output_names[0]}" if output_names else name


def multiplied_label(scale: str) -> str:
    """Return the name of what contributions multiply if it is a response, else an empty text.

    Parameters
    ----------
    scale : str
        See `contribution_label`.

    Examples
    --------
    >>> multiplied_label("log rate"), multiplied_label("log-odds")
    ('Expected count', '')
    """
    return _MULTIPLIED[scale].capitalize() if scale in ("log rate", "log response") else ""


def _significant(factor: float) -> str:
    """Format a number with two significant digits, without an exponent below a million."""
    if factor == 0.0:
        return "0"
    decimals = min(max(1 - floor(log10(factor)), 0), 6)
    return f"{factor:,.{decimals}f}" if factor < 1e6 else f"{factor:.0e}"
