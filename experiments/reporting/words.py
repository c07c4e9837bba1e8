"""Numbers and names as they stand in tables and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from experiments.problems import Array
from experiments.reporting.statistics import deviation, standard_error


def mean_and_error(values: Array, scale: float = 1.0, digits: int = 1) -> str:
    """Mean and its standard error; the mean alone of one value, a hyphen for none."""
    numbers = _finite(values, scale)
    return _with_spread(numbers, standard_error(numbers), digits)


def mean_and_deviation(values: Array, scale: float = 1.0, digits: int = 1) -> str:
    """Mean and standard deviation; the mean alone of one value, a hyphen for none."""
    numbers = _finite(values, scale)
    return _with_spread(numbers, deviation(numbers), digits)


def _finite(values: Array, scale: float) -> Array:
    """Those values that are there, in another unit."""
    numbers = scale * np.asarray(values, dtype=float)
    return numbers[np.isfinite(numbers)]


def _with_spread(numbers: Array, spread: float, digits: int) -> str:
    if numbers.size == 0:
        return "-"
    return f"{numbers.mean():.{digits}f}" + f" ± {spread:.{digits}f}" * (numbers.size > 1)


def rough(value: float) -> str:
    """A small number by its order; a plain zero."""
    return "0" if value == 0.0 else f"{value:.0e}"


def listed(words: Iterable[str], otherwise: str = "none") -> str:
    """Words with commas between them."""
    return ", ".join(words) or otherwise


def by_name(values: Mapping[str, float] | pd.Series, form: str = ".1f", scale: float = 1.0) -> str:
    """Numbers behind their names, with commas between them.

    Parameters
    ----------
    values : dict of str to float, or Series
    form : str, default=".1f"
        As in format strings.
    scale : float, default=1.0
        Factor of all numbers.
    """
    return ", ".join(f"{name} {scale * value:{form}}" for name, value in values.items())
