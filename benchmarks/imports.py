"""Processor time of `import mercer` and `mercer --help`, relative to `import sklearn.svm`.

    python benchmarks/imports.py [NAME ...] [--repeats R] [--json FILE]

package
    `import sklearn.svm, mercer` less `import sklearn.svm`, relative to the latter; and the same
    with every public name of `mercer` used.
command
    `mercer --help`, relative to `import sklearn.svm`.

The processes take turns; user and system time are added, and that of a bare interpreter is
subtracted. Ratios are of processes of the same round. Byte code is compiled in a round before.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
from speed import Record, run_benchmarks, spread

PROCESSES = {
    "bare": ["-c", "pass"],
    "sklearn": ["-c", "import sklearn.svm"],
    "package": ["-c", "import sklearn.svm, mercer"],
    "names": ["-c", "import sklearn.svm\nfrom mercer import *"],
    "command": ["-c", "from mercer_command import main; main()", "--help"],
}


def processor_time(arguments: list[str]) -> float:
    """Return the user and system time of an interpreter, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def rounds(names: list[str], repeats: int) -> dict[str, np.ndarray]:
    """Return the times of processes, less those of a bare interpreter, shape (repeats,) each."""
    times = [[processor_time(PROCESSES[name]) for name in names] for _ in range(repeats + 1)]
    found = dict(zip(names, np.array(times[1:]).T, strict=True))
    return {name: found[name] - found["bare"] for name in names}


def package(repeats: int) -> Iterator[Record]:
    """Compare the import of the package with that of scikit-learn's support vector machines."""
    times = rounds(["bare", "sklearn", "package", "names"], repeats)
    figures = spread("ratio", times["package"] / times["sklearn"] - 1.0)
    figures |= spread("ratio of all names", times["names"] / times["sklearn"] - 1.0)
    figures |= spread("sklearn.svm s", times["sklearn"])
    yield Record("import mercer", "under 0.5", figures)


def command(repeats: int) -> Iterator[Record]:
    """Compare the command's help with the import of scikit-learn's support vector machines."""
    times = rounds(["bare", "sklearn", "command"], repeats)
    figures = spread("ratio", times["command"] / times["sklearn"])
    figures |= spread("command s", times["command"])
    yield Record("mercer --help", "under 1 s", figures)


if __name__ == "__main__":
    run_benchmarks(__doc__, {"package": package, "command": command})
