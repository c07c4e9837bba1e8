"""Declarations of experiments: problems, methods and numbers of repeats. Nothing runs here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

# The numbers, or lists of numbers, that one run gives, by name. Names of times start with
# "seconds".
Measures = Mapping[str, Any]

# A function from the number of a repeat, which is its seed, to the data, the same for every
# method.
Draw = Callable[[int], Any]

# A function from the data of one repeat of one problem to measures.
Method = Callable[[Any], Measures]


class Unavailable(Exception):  # noqa: N818
    """A method cannot be tried here, since a package or an estimator is missing; says which."""


def collected(measured: Sequence[Measures]) -> Measures:
    """Return a list for each measure, with one entry for each fold, setting or step."""
    return {name: [each[name] for each in measured] for name in measured[0]}


def at_most(
    repeats: int, problems: Iterable[str], methods: Iterable[str]
) -> dict[tuple[str, str], int]:
    """Return `limits` of an experiment: some methods on some problems have few repeats."""
    return dict.fromkeys(product(problems, methods), repeats)


@dataclass(frozen=True)
class Run:
    """One repeat of one method on one problem of an experiment; each run has one record."""

    experiment: str
    problem: str
    method: str
    repeat: int


@dataclass(frozen=True)
class Experiment:
    """Methods that are compared on problems.

    Parameters
    ----------
    title : str
        The subject, in one line.
    source : str
        The paper, with the section, figure or table.
    problems : dict of str to callable
        `Draw` of each problem, by name.
    methods : dict of str to callable
        `Method` by name.
    limits : dict of (str, str) to int
        The largest number of repeats of a slow method on a problem, by problem and method; zero
        leaves the pair out.
    repeats : int, default=5
        The number of repeats unless the command line names another. An experiment that only
        measures times has zero, which the command line cannot change.
    timed : int, default=0
        The number of repeats that are run alone for their times, unless the command line names
        another. If it is zero, no time of this experiment is recorded.
    untimed : collection of str
        Methods that are left out when times are taken.
    test_to_train : float, default=0.0
        The number of test rows for each training row, where repeats are random divisions of the
        same rows; zero where each repeat has data of its own.
    grids : dict of str to sequence of float
        The values that methods choose from, by the measure that holds the choice.
    """

    title: str
    source: str
    problems: Mapping[str, Draw]
    methods: Mapping[str, Method]
    limits: Mapping[tuple[str, str], int] = field(default_factory=dict)
    repeats: int = 5
    timed: int = 0
    untimed: Collection[str] = ()
    test_to_train: float = 0.0
    grids: Mapping[str, Iterable[float]] = field(default_factory=dict)

    def runs(self, name: str, repeats: int, *, timing: bool = False) -> Iterator[Run]:
        """Yield the runs of the given number of repeats, the first repeat of everything first."""
        left_out = self.untimed if timing else ()
        for repeat in range(repeats):
            for problem in self.problems:
                for method in self.methods:
                    wanted = repeat < self.limits.get((problem, method), repeats)
                    if wanted and method not in left_out:
                        yield Run(name, problem, method, repeat)
