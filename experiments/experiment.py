"""What an experiment is: problems, methods and how often, declared; nothing runs here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

Measures = Mapping[str, Any]
"""What one run gives, by name: numbers or lists of numbers. Names of times start with "seconds"."""

Draw = Callable[[int], Any]
"""From the number of a repeat, which is its seed, to the data: the same for every method."""

Method = Callable[[Any], Measures]
"""From the data of one repeat of one problem to measures."""


def collected(measured: Sequence[Measures]) -> Measures:
    """A list for each measure: one entry a fold, a setting or a step."""
    return {name: [each[name] for each in measured] for name in measured[0]}


def at_most(
    repeats: int, problems: Iterable[str], methods: Iterable[str]
) -> dict[tuple[str, str], int]:
    """Limits of some methods on some problems."""
    return dict.fromkeys(product(problems, methods), repeats)


@dataclass(frozen=True)
class Run:
    """One repeat of one method on one problem of an experiment: what a record is kept of."""

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
        What it is about, in a line.
    source : str
        Paper, section, figure or table.
    problems : dict of str to callable
        `Draw` of each problem, by name.
    methods : dict of str to callable
        `Method` by name.
    limits : dict of (str, str) to int
        Repeats that a slow method takes at most on a problem, by problem and method; zero leaves
        the pair out.
    repeats : int, default=5
        Repeats where the command line names no number; zero, of an experiment that is all about
        times, is what it says whatever the command line names.
    timed : int, default=0
        Repeats that are run alone for their times, where the command line names no number. Without
        any, no time of this experiment is kept.
    untimed : collection of str
        Methods that are left out there.
    """

    title: str
    source: str
    problems: Mapping[str, Draw]
    methods: Mapping[str, Method]
    limits: Mapping[tuple[str, str], int] = field(default_factory=dict)
    repeats: int = 5
    timed: int = 0
    untimed: Collection[str] = ()

    def runs(self, name: str, repeats: int, *, timing: bool = False) -> Iterator[Run]:
        """Runs of so many repeats, the first repeat of everything first."""
        left_out = self.untimed if timing else ()
        for repeat in range(repeats):
            for problem in self.problems:
                for method in self.methods:
                    wanted = repeat < self.limits.get((problem, method), repeats)
                    if wanted and method not in left_out:
                        yield Run(name, problem, method, repeat)
