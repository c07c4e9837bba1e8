"""Whether Gram matrices fit into the available memory, checked before any work."""

from __future__ import annotations

import os
from pathlib import Path

from mercer._validation import warn

_MEMINFO = Path("/proc/meminfo")
"""Where Linux reports how much memory can be allocated without swapping."""

_LARGE_PART = 0.5
"""A computation that needs more than this part of the available memory is announced by a warning.
"""


def available_memory() -> float | None:
    """Number of bytes that can be allocated without swapping, None where it is not known."""
    try:
        for line in _MEMINFO.read_text().splitlines():
            name, _, value = line.partition(":")
            if name == "MemAvailable":
                return 1024.0 * float(value.split()[0])
    except OSError:
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return None


def check_gram_memory(
    n_samples: int, n_matrices: int = 1, advice: str = "", *, announcer: str = ""
) -> None:
    """Refuse exact computations on more samples than Gram matrices in memory allow.

    Parameters
    ----------
    n_samples : int
    n_matrices : int, default=1
        Number of n_samples x n_samples matrices in double precision that will be in memory.
    advice : str, default=""
        What to do instead, which ends the message.
    announcer : str, default=""
        The name of an estimator that prints how much memory it needs; none does where empty.

    Raises
    ------
    MemoryError
        If they take more memory than there is.

    Warns
    -----
    UserWarning
        If they take more than half of it.

    Examples
    --------
    >>> check_gram_memory(1000)
    >>> check_gram_memory(1000, 4, announcer="MKLRegressor")
    [MKLRegressor] 1,000 rows need about 31 MiB of memory for 4 Gram matrices
    """
    several = "a Gram matrix" if n_matrices == 1 else f"{n_matrices} Gram matrices"
    _check(f"{n_samples:,} rows", 8.0 * n_matrices * float(n_samples) ** 2, several, advice)
    if announcer and n_matrices:
        needed = memory_size(8.0 * n_matrices * float(n_samples) ** 2)
        print(  # noqa: T201
            f"[{announcer}] {n_samples:,} rows need about {needed} of memory for {several}"
        )


def check_rows_memory(n_new: int, n_fitted: int) -> None:
    """Refuse to evaluate a kernel on more new rows than memory allows.

    Parameters
    ----------
    n_new : int
        Number of new rows.
    n_fitted : int
        Number of training samples.

    Raises
    ------
    MemoryError
        If the matrix takes more memory than there is.

    Warns
    -----
    UserWarning
        If it takes more than half of it.

    Examples
    --------
    >>> check_rows_memory(1000, 200)
    """
    purpose = f"their kernel with {n_fitted:,} training samples"
    advice = "pass fewer rows at a time"
    _check(f"{n_new:,} new rows", 8.0 * float(n_new) * n_fitted, purpose, advice)


def memory_size(n_bytes: float) -> str:
    """A number of bytes in a unit that suits it.

    Parameters
    ----------
    n_bytes : float

    Examples
    --------
    >>> memory_size(8e8), memory_size(8e10)
    ('763 MiB', '75 GiB')
    """
    gib = n_bytes / 2**30
    if gib < 1.0:
        return f"{n_bytes / 2**20:,.{0 if n_bytes > 2**20 else 2}f} MiB"
    return f"{gib:,.{0 if gib >= 10.0 else 1}f} GiB"


def _check(rows: str, needed: float, purpose: str, advice: str) -> None:
    """Refuse what does not fit into memory, and warn of what takes much of it."""
    available = available_memory()
    if available is None or needed <= _LARGE_PART * available:
        return
    message = (
        f"{rows} need about {memory_size(needed)} of memory for {purpose}, and "
        f"{memory_size(available)} are available"
    )
    if needed > available:
        raise MemoryError(f"{message}; {advice}." if advice else f"{message}.")
    warn(f"{message}.")
