"""Memory that a process can allocate, and checks that arrays fit into it before any work."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from sklearn import get_config

from mercer._data.validation import warn

_ROOT = Path("/")
"""The folder in which Linux mounts `proc` and `sys`."""

_VERSION_2 = ("memory.max", "memory.high"), "memory.current", "inactive_file"
"""Files of a control group in version 2; see the next constant for their order."""

_VERSION_1 = ("memory.limit_in_bytes",), "memory.usage_in_bytes", "total_inactive_file"
"""Files of a control group that hold limits and usage, and the entry of `memory.stat` for the part
of the usage that is released on demand: pages of files that have not been read for a while.
"""

_UNCHECKED = 2.0**27
"""Arrays of at most this many bytes fit. Reading the limits would take longer than predictions."""

_NO_LIMIT = 2.0**60
"""Version 1 reports a number beyond this if there is no limit."""


def available_memory() -> float | None:
    """Return the number of bytes that can be allocated without swapping; None if unknown.

    This is the available memory of the machine or, if less, the memory left to the control group of
    the process or to a group that contains it, as in a container.
    """
    found = [*_left_to_groups()]
    if (free := _machine_memory()) is not None:
        found.append(free)
    return min(found, default=None)


def _machine_memory() -> float | None:
    """Return the available memory of the machine, or its total memory if that is unknown."""
    for line in _lines(_ROOT / "proc/meminfo"):
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return 1024.0 * float(value.split()[0])
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return None


def _left_to_groups() -> Iterator[float]:
    """Yield the memory left to each control group that contains the process and has a limit.

    A container sees its own group at the root of the file system, but the path may be the one on
    the host. Folders on the path that do not exist are therefore skipped.
    """
    mounted = _ROOT / "sys/fs/cgroup"
    for line in _lines(_ROOT / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top, files = (mounted / "memory", _VERSION_1) if controllers else (mounted, _VERSION_2)
        inside = PurePosixPath(path.lstrip("/"))
        for group in (inside, *inside.parents):
            yield from _left_to(top / group, *files)


def _left_to(group: Path, limits: Sequence[str], usage: str, reclaimable: str) -> Iterator[float]:
    """Yield the memory that each limit of a control group leaves."""
    for most in (_number(group / limit) for limit in limits):
        if most >= _NO_LIMIT:
            continue
        entries = (line.split() for line in _lines(group / "memory.stat"))
        cached = sum(float(value) for name, value in entries if name == reclaimable)
        used = _number(group / usage, 0.0)
        yield max(most - max(used - cached, 0.0), 0.0)


def _number(file: Path, otherwise: float = _NO_LIMIT) -> float:
    """Return the number in a file, or `otherwise` if there is none."""
    text = "".join(_lines(file))
    return float(text) if text.isdecimal() else otherwise


def _lines(file: Path) -> list[str]:
    """Return the lines of a file; an empty list if it cannot be read."""
    try:
        return file.read_text().splitlines()
    except OSError:
        return []


def working_memory() -> float:
    """Return how many bytes temporary arrays may take, by scikit-learn's `working_memory`."""
    return float(get_config()["working_memory"]) * 2**20


def check_gram_memory(
    n_samples: int, n_matrices: int = 1, advice: str = "", *, announcer: str = ""
) -> None:
    """Raise an error if Gram matrices of a number of samples do not fit into memory.

    Parameters
    ----------
    n_samples : int
    n_matrices : int, default=1
        Number of n_samples x n_samples matrices in double precision that will be in memory.
    advice : str, default=""
        A remedy, which ends the message.
    announcer : str, default=""
        Name of an estimator for which the required memory is printed; nothing is printed if empty.

    Raises
    ------
    MemoryError
        If they take more memory than is available.

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
    """Raise an error if a kernel on new rows does not fit into memory.

    Parameters
    ----------
    n_new : int
        Number of new rows.
    n_fitted : int
        Number of training samples.

    Raises
    ------
    MemoryError
        If the matrix takes more memory than is available.

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
    """Return a number of bytes as text with a suitable unit.

    Examples
    --------
    >>> memory_size(8e8), memory_size(8e10)
    ('763 MiB', '75 GiB')
    """
    gib = n_bytes / 2**30
    if gib < 1.0:
        return f"{n_bytes / 2**20:,.{0 if n_bytes > 2**20 else 2}f} MiB"
    return f"{gib:,.{0 if gib >= 10.0 else 1}f} GiB"


def _check(rows: str, needed: float, purpose: str, advice: str, large_part: float = 0.5) -> None:
    """Raise if the arrays do not fit into memory; warn if they take a large part of it."""
    if needed <= _UNCHECKED:
        return
    available = available_memory()
    if available is None or needed <= large_part * available:
        return
    message = (
        f"{rows} need about {memory_size(needed)} of memory for {purpose}, and "
        f"{memory_size(available)} are available"
    )
    if needed > available:
        raise MemoryError(f"{message}; {advice}." if advice else f"{message}.")
    warn(f"{message}.")
