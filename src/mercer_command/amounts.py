"""Errors and numbers as text."""

from math import floor, isinf, log10
from typing import Literal


def format_error(
    error: float,
    task: Literal["classification", "regression"] = "regression",
    deviation: float | None = None,
    *,
    beside: float | None = None,
) -> str:
    """Format an error as a percentage, or as a number in the target's unit.

    Parameters
    ----------
    error : float
    task : {"classification", "regression"}
    deviation : float, default=None
        Standard deviation, which follows a plus-minus sign and has the same number of decimals.
    beside : float, default=None
        Largest error of the table's column, which determines the number of decimals, such that it
        has four digits; by default, `error`.

    Examples
    --------
    >>> format_error(0.1234, "classification"), format_error(12.3456, deviation=1.0)
    ('12.3%', '12.35 ± 1.00')
    """
    if task == "classification":
        digits = ".1%"
    else:
        largest = error if beside is None else beside
        if isinf(largest):
            return "∞"
        decimals = 3 - floor(log10(largest)) if largest > 0 else 0
        digits = f",.{min(max(decimals, 0), 12)}f"
    return " ± ".join(f"{value:{digits}}" for value in (error, deviation) if value is not None)
