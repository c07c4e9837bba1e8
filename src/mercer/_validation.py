"""Refusals of settings that make no sense."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_scalar


def check_number(value: Any, name: str, *, whole: bool = False, low: float = 0.0) -> None:
    """Refuse a setting that is no finite number, no whole one where that is asked for, or too low.

    Parameters
    ----------
    value : object
    name : str
        What the setting is called.
    whole : bool, default=False
    low : float, default=0.0
    """
    check_scalar(value, name, Integral if whole else Real)
    if not (np.isfinite(value) and value >= low):
        range_ = f"at least {low:g}" if low > 0.0 else "finite and not negative"
        raise ValueError(f"{name} must be {range_}; got {value!r}.")


def check_positive(value: Any, name: str) -> None:
    """Refuse a setting that is no positive number.

    Parameters
    ----------
    value : object
    name : str
    """
    check_number(value, name)
    if value == 0.0:
        raise ValueError(f"{name} must be positive; got {value!r}.")


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Refuse a setting that is none of those there are.

    Parameters
    ----------
    name : str
    value : object
    choices : tuple
    """
    if not any(value is choice or (type(value) is str and value == choice) for choice in choices):
        listed = ", ".join(f'"{c}"' if isinstance(c, str) else f"{c}" for c in choices)
        raise ValueError(f"{name} must be one of {listed}; got {value!r}.")
