"""Times that methods are expected to take, by which `compare` orders and leaves out methods."""

from collections.abc import Iterable, Mapping

import numpy as np

_SECONDS = {
    "linear": (0.02, 0.02),
    "lightgbm": (0.05, 0.06),
    "alignf": (0.06, 0.08),
    "uniform": (0.07, 0.09),
    "hsic": (0.07, 0.09),
    "ka": (0.06, 0.09),
    "boosting": (0.04, 0.09),
    "ca": (0.10, 0.10),
    "cka": (0.08, 0.10),
    "forest": (0.13, 0.21),
    "align": (0.17, 0.23),
    "ordinal": (0.06, 0.25),
    "hsic-w": (0.18, 0.32),
    "count": (0.07, 0.32),
    "bayes": (0.18, 0.96),
    "mkl-2": (0.59, 0.98),
    "l2-krr": (0.35, 1.06),
    "auto": (0.65, 1.58),
    "mkl": (0.82, 1.63),
    "stacking": (0.54, 1.70),
    "l1-svm": (0.73, 1.80),
    "catboost": (0.91, 1.86),
    "cr": (1.70, 3.40),
    "grid": (2.36, 4.08),
    "ca-nd": (1.80, 4.48),
}
"""Seconds of one core that fits to 100 and 400 rows of ten columns took, for classes or responses,
whichever took longer."""

_OVERHEAD = 0.05
"""Seconds that the test of a method takes, besides its fit."""


def _usual_seconds(name: str, n_rows: int) -> float:
    """Return the seconds of a fit and its test where `_SECONDS` were measured."""
    few, many = np.log(_SECONDS[name])
    power = (many - few) / np.log(4.0)
    return _OVERHEAD + float(np.exp(few + power * np.log(n_rows / 100.0)))


def by_cost(names: Iterable[str], n_rows: int) -> list[str]:
    """Return methods in ascending order of the time that a fit usually takes.

    Parameters
    ----------
    names : iterable of str
        Keys of `mercer_command.methods.METHODS`.
    n_rows : int
        Number of rows to learn from.
    """
    return sorted(names, key=lambda name: _usual_seconds(name, n_rows))


def expected_seconds(name: str, n_rows: int, measured: Mapping[str, float]) -> float:
    """Return the time that a method is expected to take, by the times of other methods.

    Parameters
    ----------
    name : str
        A key of `mercer_command.methods.METHODS`.
    n_rows : int
        Number of rows to learn from.
    measured : mapping of str to float
        Measured seconds of other methods.
    """
    usual = sum(_usual_seconds(other, n_rows) for other in measured)
    factor = sum(measured.values()) / usual if measured else 1.0
    return factor * _usual_seconds(name, n_rows)
