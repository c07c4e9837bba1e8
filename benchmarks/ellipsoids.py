"""Whether the automatic choice of a kernel's form is ever worse than spheres, and where better.

    MERCER_DATA=/path/to/sets python benchmarks/ellipsoids.py [SET ...] [--splits R]
        [--methods METHOD ...] [--results FILE] [--tables]

The ten sets of Wang & Li (2018) as in `hsic.py` (halves, features in [0, 1]); and splice and image
with 500 training samples, standardised, the rest for testing. Ten random splits each.

spheres
    `TwoStageClassifier()`: a sum of Gaussians of one width each (CA-1D).
auto
    `TwoStageClassifier("auto")`, which compares spheres with one penalised ellipsoid, with CA-1D on
    its scaling and with a sum of penalised ellipsoids, on held-out parts of the training samples.
ellipsoid
    `KernelOptimization(Gaussian(ard=True), "cka")` alone, its penalty chosen in the same way.
ellipsoid, stopped
    The same, with the number of iterations chosen in place of a penalty.
ellipsoid, free
    Without either, as published.

Tests are two-tailed paired t-tests over the splits, at 0.05. --results keeps what is done, so that
a run can be continued; --tables prints the tables of such a file.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from common import THREADS, Part, classification_set, command_line, seconds
from hsic import SETS, fitted, halves, known_trials, written
from hsic_tables import Results, Trial, print_errors
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from mercer import KernelOptimization, TwoStageClassifier
from mercer.kernels import Gaussian

N_TRAIN = 500
RELEVANCE = ("splice", "image")
"""Sets whose features differ much in relevance."""


def ellipsoid(**options: Any) -> TwoStageClassifier:
    """A support vector machine on one ellipsoid of the largest centred alignment."""
    return TwoStageClassifier(KernelOptimization(Gaussian(ard=True), "cka", **options))


METHODS: dict[str, Callable[[], Any]] = {
    "spheres": TwoStageClassifier,
    "auto": lambda: TwoStageClassifier("auto"),
    "ellipsoid": ellipsoid,
    "ellipsoid, stopped": lambda: ellipsoid(early_stopping=True),
    "ellipsoid, free": lambda: ellipsoid(penalty=0.0),
}


def splits(name: str, n_splits: int) -> Iterator[tuple[Part, Part]]:
    """Training and test parts of a set, scaled by the former."""
    if name in SETS:
        yield from halves(name, n_splits)
        return
    X, y = classification_set(name)
    splitter = StratifiedShuffleSplit(n_splits, train_size=N_TRAIN, random_state=0)
    for train, test in splitter.split(X, y):
        scaler = StandardScaler().fit(X[train])
        yield (scaler.transform(X[train]), y[train]), (scaler.transform(X[test]), y[test])


def trial(name: str, number: int, method: str, split: tuple[Part, Part]) -> Trial:
    """Fit a method on the training part, and count errors on the test part."""
    found: list[Any] = []
    total = seconds(lambda: found.append(fitted(METHODS[method](), *split[0])))
    print(f"    {found[0].learner_}")
    return Trial(name, number, method, 100.0 * (1.0 - found[0].score(*split[1])), None, total)


def main() -> None:
    """Run what is asked for and print the tables."""

    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--splits", type=int, default=10, help="random splits of each set")
        parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
        parser.add_argument("--results", type=Path, help="file of results, read and added to")
        parser.add_argument("--tables", action="store_true", help="print the file's tables only")

    names, options = command_line(__doc__, (*SETS, *RELEVANCE), add_options)
    known = known_trials(options.results)
    with threadpool_limits(THREADS):
        for name in [] if options.tables else names:
            for number, split in enumerate(splits(name, options.splits)):
                for method in options.methods:
                    if (name, number, method) not in known:
                        done = trial(name, number, method, split)
                        known[done.key] = written(done, options.results)
    results = Results([t for t in known.values() if t.set in names], names)
    for method in options.methods:
        if method != "spheres":
            print_errors(f"{method} beside spheres", results, ["spheres", method], method)


if __name__ == "__main__":
    main()
