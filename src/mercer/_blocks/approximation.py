"""The choice between exact fits and Nyström features, and the number of centers."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _num_samples

from mercer._blocks.blocks import BlockSource
from mercer._data.types import PerSample, Table
from mercer._data.validation import check_choice, check_number
from mercer._gram.devices import current_device
from mercer._gram.memory import available_memory, check_gram_memory, working_memory

_PAIRED_ON_CARD = 100_000
"""On a card with enough memory, all rows of tables of up to this many rows are centers."""

EXACT_ROWS = 3000
"""With ``approximation="auto"``, tables of at most this many rows are fitted exactly, which takes a
few seconds. For larger tables, two-stage estimators learn the kernel from this many rows."""

MOST_EXACT_ROWS, MOST_PAIRED_ROWS = 20_000, 40_000
"""If the pairs of rows take more than scikit-learn's `working_memory`, not all rows are centers if
there are more than the first number, because such a fit takes ten seconds or more. Up to the
second number, they are if features would cost more or predict worse. For more rows, this takes
minutes."""

_CENTERS, _CENTERS_OF_MANY = 1500, 1000
"""Numbers of centers of at most 50,000 rows, and of more."""

LITTLE_NOISE = 0.1
"""Kernels with lower left-out errors, relative to the error of the mean, are fitted to all pairs of
rows if possible: features predict worse. With 25,000 rows of kin40k, their error is 2.5 times as
large."""


def check_approximation(approximation: str, **numbers: Any) -> None:
    """Raise an error for invalid settings, before any work.

    Parameters
    ----------
    approximation : {"auto", "exact", "nystroem"}
    **numbers : int or "auto"
        Numbers of centers and of samples, by parameter name.

    Raises
    ------
    ValueError
        If a setting is invalid.
    """
    check_choice("approximation", approximation, ("auto", "exact", "nystroem"))
    for name, number in numbers.items():
        if not (isinstance(number, str) and number == "auto"):
            check_number(name, number, whole=True, low=1.0)


def fits_exactly(
    estimator: BaseEstimator, X: Table, sample_weight: PerSample, approximation: str
) -> bool:
    """Return whether all rows of positive weight are fitted exactly.

    Parameters
    ----------
    estimator : estimator
        Messages name it. If it is verbose, the memory that an exact fit needs is printed.
    X : array-like, sparse matrix, data frame or BlockSource of shape (n_rows, n_features)
    sample_weight : array-like of shape (n_rows,), or None
    approximation : {"auto", "exact", "nystroem"}

    Raises
    ------
    ValueError
        If there are no rows.
    MemoryError
        If an exact fit is requested that needs more memory than is available.
    """
    name = type(estimator).__name__
    n_rows = X.count_rows() if isinstance(X, BlockSource) else int(_num_samples(X))
    if n_rows == 0:
        raise ValueError(f"X has 0 rows (0 samples): {name} needs at least 2 to learn from.")
    weights = np.asarray(sample_weight)
    # Weights of another shape are rejected when the rows are validated.
    if weights.shape == (n_rows,):
        n_rows = int(np.count_nonzero(weights))
    exact = n_rows <= EXACT_ROWS if approximation == "auto" else approximation == "exact"
    if exact:
        announcer = name if getattr(estimator, "verbose", False) else ""
        # An exact fit has four Gram matrices in memory at a time.
        check_gram_memory(n_rows, 4, "use approximation='nystroem'", announcer=announcer)
    return exact


def all_are_centers(n_rows: int, *, preferred: bool = False) -> bool:
    """Return whether all rows are centers by default, if the table is not fitted exactly.

    Parameters
    ----------
    n_rows : int
    preferred : bool, default=False
        Whether all rows of tables of up to 40,000 rows are centers if memory permits: if the folds
        are given, because features would need separate sums for each of many folds, or if there is
        little noise, because features would predict worse.

    Notes
    -----
    The matrix of kernel values of n rows takes 4 n^2 bytes in single precision, and half of that
    in memory, where the preconditioner takes most of the rest. It has to fit in scikit-learn's
    `working_memory` or, for at most 20,000 rows, in a quarter of the available memory. On a card,
    it has to fit in half of the card's free memory.
    """
    device = current_device()
    on_card = _rows_in(((device and device.free_memory) or 0.0) / 2.0)
    most = MOST_PAIRED_ROWS if preferred else MOST_EXACT_ROWS
    here = min(_rows_in((available_memory() or 0.0) / 4.0), most)
    return n_rows <= max(min(on_card, _PAIRED_ON_CARD), _rows_in(working_memory()), here)


def _rows_in(memory: float) -> int:
    """Return the number of rows whose kernel values, in single precision, fit in `memory` bytes."""
    return int(np.sqrt(memory / 4.0))


def number_of_components(n_components: int | str, n_rows: int, *, preferred: bool = False) -> int:
    """Return the number of centers of a table.

    Parameters
    ----------
    n_components : int or "auto"
        At most `n_rows` are used. By default, all rows are centers if :func:`all_are_centers` is
        true; otherwise there are 1,500 centers, or 1,000 for more than 50,000 rows, because the
        time of a fit is quadratic in this number.
    n_rows : int
    preferred : bool, default=False
        Whether all rows are rather centers; see :func:`all_are_centers`.
    """
    if isinstance(n_components, str):
        if all_are_centers(n_rows, preferred=preferred):
            return n_rows
        n_components = _CENTERS if n_rows <= 50_000 else _CENTERS_OF_MANY
    return min(int(n_components), n_rows)
