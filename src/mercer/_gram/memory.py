"""How much memory can be allocated: by the machine, and by the container that the process is in."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

_ROOT = Path("/")
"""Where Linux mounts `proc` and `sys`."""

_VERSION_2 = ("memory.max", "memory.high"), "memory.current", "inactive_file"
"""The files of a control group, in version 2; see the next constant for their order."""

_VERSION_1 = ("memory.limit_in_bytes",), "memory.usage_in_bytes", "total_inactive_file"
"""The files of a control group that hold limits and what is in use, and the entry of `memory.stat`
for the part in use that is given back on demand: pages of files that nothing has read for a while.
"""

_NO_LIMIT = 2.0**60
"""Version 1 writes a number beyond this where there is no limit."""


def available_memory() -> float | None:
    """Number of bytes that can be allocated without swapping, None where it is not known.

    It is what the machine has, or what is left to the control group of the process, or to one that
    contains it, where that is less, as in a container.
    """
    found = [*_left_to_groups()]
    if (free := _machine_memory()) is not None:
        found.append(free)
    return min(found, default=None)


def _machine_memory() -> float | None:
    """Memory that the machine has left, or all of it where no more is known."""
    for line in _lines(_ROOT / "proc/meminfo"):
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return 1024.0 * float(value.split()[0])
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return None


def _left_to_groups() -> Iterator[float]:
    """Memory that is left to each control group that contains the process and has a limit.

    A container sees its own group at the root of the file system, but may be told the path that
    the host gives it, so that folders on the path that are not there are passed over.
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
    """Memory that the limits of a control group leave to it."""
    for most in (_number(group / limit) for limit in limits):
        if most >= _NO_LIMIT:
            continue
        entries = (line.split() for line in _lines(group / "memory.stat"))
        cached = sum(float(value) for name, value in entries if name == reclaimable)
        used = _number(group / usage, 0.0)
        yield max(most - max(used - cached, 0.0), 0.0)


def _number(file: Path, otherwise: float = _NO_LIMIT) -> float:
    """The number in a file, or another where there is none."""
    text = "".join(_lines(file))
    return float(text) if text.isdecimal() else otherwise


def _lines(file: Path) -> list[str]:
    """The lines of a file; none where it cannot be read."""
    try:
        return file.read_text().splitlines()
    except OSError:
        return []
