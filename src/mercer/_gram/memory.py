"""Memory that a process can allocate, given its machine and its container."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

_ROOT = Path("/")
"""The folder in which Linux mounts `proc` and `sys`."""

_VERSION_2 = ("memory.max", "memory.high"), "memory.current", "inactive_file"
"""Files of a control group in version 2; see the next constant for their order."""

_VERSION_1 = ("memory.limit_in_bytes",), "memory.usage_in_bytes", "total_inactive_file"
"""Files of a control group that hold limits and usage, and the entry of `memory.stat` for the part
of the usage that is released on demand: pages of files that have not been read for a while.
"""

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
