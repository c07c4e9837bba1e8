"""Numbers and names as they stand in tables and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from experiments.problems import Array
from experiments.reporting.statistics import deviation, standard_error


def mean_and_error(values: Array, scale: float = 1.0, digits: int = 1) -> str:
    """Format mean and standard error; of one value the mean alone, of none a hyphen."""
    numbers = _finite(values, scale)
    return _with_spread(numbers, standard_error(numbers), digits)


def mean_and_deviation(values: Array, scale: float = 1.0, digits: int = 1) -> str:
    """Format mean and standard deviation; of one value the mean alone, of none a hyphen."""
    numbers = _finite(values, scale)
    return _with_spread(numbers, deviation(numbers), digits)


def _finite(values: Array, scale: float) -> Array:
    """Return the values that are finite, in another unit."""
    numbers = scale * np.asarray(values, dtype=float)
    return numbers[np.isfinite(numbers)]


def _with_spread(numbers: Array, spread: float, digits: int) -> str:
    """Format a mean and, behind it, how much its values vary."""
    if numbers.size == 0:
        return "-"
    return f"{numbers.mean():.{digits}f}" + f" ± {spread:.{digits}f}" * (numbers.size > 1)


def rough(value: float) -> str:
    """Format a small number by its order of magnitude, and zero as 0."""
    return "0" if value == 0.0 else f"{value:.0e}"


def listed(items: Iterable[str], otherwise: str = "none") -> str:
    """Join items by commas."""
    return ", ".join(items) or otherwise


def by_name(values: Mapping[str, float] | pd.Series, form: str = ".1f", scale: float = 1.0) -> str:
    """Join names, each with its number behind it, by commas.

    Parameters
    ----------
    values : dict of str to float, or Series
    form : str, default=".1f"
        The format specification of a number.
    scale : float, default=1.0
        The factor of all numbers.
    """
    return ", ".join(f"{name} {scale * value:{form}}" for name, value in values.items())
