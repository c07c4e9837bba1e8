"""Whether Gram matrices fit into the memory that is there, asked before any work."""

from __future__ import annotations

import os
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
"""Where Linux says how much memory can be had without swapping."""

_GIB = 2**30
"""Bytes of the unit that messages name."""


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


def check_gram_memory(n_samples: int, n_matrices: int = 1, advice: str = "") -> None:
    """Refuse exact computations on more samples than Gram matrices in memory allow.

    Parameters
    ----------
    n_samples : int
    n_matrices : int, default=1
        Number of n_samples x n_samples matrices in double precision that will be in memory.
    advice : str, default=""
        What to do instead, which ends the message.

    Raises
    ------
    MemoryError
        If they take more memory than there is.

    Examples
    --------
    >>> check_gram_memory(1000)
    """
    needed = 8.0 * n_matrices * float(n_samples) ** 2
    available = available_memory()
    if available is None or needed <= available:
        return
    several = "the Gram matrix" if n_matrices == 1 else f"{n_matrices} Gram matrices"
    message = (
        f"{n_samples:,} rows: {needed / _GIB:,.0f} GiB for {several}, of which "
        f"{available / _GIB:,.1f} GiB can be had"
    )
    raise MemoryError(f"{message}; {advice}." if advice else f"{message}.")
