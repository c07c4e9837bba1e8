"""One kernel by HSIC, alignment or cross-validation: Tables 2-5 of Wang & Li (2018), section 4.

    MERCER_DATA=/path/to/sets python benchmarks/hsic.py [SET ...] [--splits R] [--cv-splits R]
        [--methods METHOD ...] [--results FILE] [--tables]

The ten sets of the paper, each split R times (ten in the paper) into halves, stratified; missing
values are filled with means and features scaled to [0, 1], both by the training half. Waveform is
the first 21 features of the set with 40.

CV
    `GridSearchCV(SVC())` over gamma = 2^-15, 2^-14, ..., 2^3 and C = 2^-5, 2^-3, ..., 2^15, five
    folds, as anyone would call it.
HSIC, CKA, KA
    `TwoStageClassifier(KernelOptimization(criterion=...), nested=False)`: one width that maximises
    the criterion to 1e-5, then C from the same grid by five folds of the learned Gram matrix.
KA 0/1
    KA with a target of 0 and 1 in place of -1 and 1, which the paper does not have.
HSIC ellipsoid, CKA ellipsoid, KA ellipsoid
    The same for one width per feature, without a penalty, until it converges.

Each result is printed and, with --results, added to a file as a line of JSON; what is there
already is not run again, so that a run can be done in parts and continued. --tables prints the
tables of the file and runs nothing.

Times: "learning" is the fit of the learner alone, the least of three where it takes under half a
second; "search for C" is what the whole fit takes beyond that. --cv-splits limits CV to the first
few splits of the sets of more than 1000 samples (it takes minutes there); tables say how many
splits each figure is of, and tests compare the splits that both methods have.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from common import THREADS, Array, Labels, Part, classification_set, command_line, seconds
from hsic_tables import Trial, print_tables
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from mercer import KernelOptimization, TwoStageClassifier
from mercer.kernels import Gaussian

GRID = {"gamma": 2.0 ** np.arange(-15, 4), "C": 2.0 ** np.arange(-5, 16, 2)}
MANY_SAMPLES = 1000
"""Sets of more samples than this may be cross-validated on fewer splits."""
QUICK = 0.5
"""Seconds under which learning is timed three times."""

SETS = {
    "zoo": "zoo",
    "sonar": "sonar",
    "ecoli": "ecoli",
    "ionosphere": "ionosphere",
    "dermatology": "dermatology",
    "australian": "australian",
    "vehicle": "vehicle",
    "yeast": "yeast",
    "segment": "segment",
    "waveform": "waveform40",
}
"""The paper's sets in its order, and what they are called here."""


def optimised(criterion: str, *, ard: bool = False, **options: Any) -> KernelOptimization:
    """A Gaussian kernel that maximises a criterion, unpenalised, followed until it converges."""
    return KernelOptimization(Gaussian(ard=ard), criterion, penalty=0.0, max_iter=2000, **options)


METHODS: dict[str, Callable[[], Any]] = {
    "CV": lambda: GridSearchCV(SVC(), GRID, cv=5),
    "KA": lambda: optimised("ka"),
    "KA 0/1": lambda: optimised("ka", output_kernel="delta"),
    "CKA": lambda: optimised("cka"),
    "HSIC": lambda: optimised("hsic"),
    "KA ellipsoid": lambda: optimised("ka", ard=True),
    "CKA ellipsoid": lambda: optimised("cka", ard=True),
    "HSIC ellipsoid": lambda: optimised("hsic", ard=True),
}
"""Estimators by name: a learner, which is followed by a search for C, or a whole classifier.

A name that ends with "ellipsoid" goes to the tables of ellipsoidal kernels, any other to those of
spherical ones.
"""


def halves(name: str, n_splits: int) -> Iterator[tuple[Part, Part]]:
    """Training and test halves of a set, features scaled by the former."""
    X, y = classification_set(SETS[name])
    if name == "waveform":
        X = X[:, :21]
    splitter = StratifiedShuffleSplit(n_splits, test_size=0.5, random_state=0)
    for train, test in splitter.split(X, y):
        scale = make_pipeline(SimpleImputer(), MinMaxScaler()).fit(X[train])
        yield (scale.transform(X[train]), y[train]), (scale.transform(X[test]), y[test])


def fitted(model: Any, X: Array, y: Labels) -> Any:
    """A fitted copy; neither rare classes nor the ends of the grid of C are worth a word."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        warnings.filterwarnings("ignore", message="The best C")
        return clone(model).fit(X, y)


def trial(name: str, number: int, method: str, split: tuple[Part, Part]) -> Trial:
    """Fit a method on the training half, time it, and count errors on the test half."""
    (X, y), model = split[0], METHODS[method]()
    learning = None
    if not is_classifier(model):
        learner = model
        learning = seconds(lambda: fitted(learner, X, y))
        if learning < QUICK:
            learning = min(learning, *(seconds(lambda: fitted(learner, X, y)) for _ in range(2)))
        model = TwoStageClassifier(learner, nested=False)
    found: list[Any] = []
    total = seconds(lambda: found.append(fitted(model, X, y)))
    error = 1.0 - found[0].score(*split[1])
    return Trial(name, number, method, 100.0 * error, learning, total)


def known_trials(path: Path | None) -> dict[tuple[str, int, str], Trial]:
    """What a file of results holds, by set, split and method."""
    if path is None or not path.exists():
        return {}
    trials = [Trial(**json.loads(line)) for line in path.read_text().splitlines()]
    return {trial.key: trial for trial in trials}


def written(done: Trial, path: Path | None) -> Trial:
    """Print a trial, and add it to a file of results."""
    print(done, flush=True)
    if path is not None:
        with path.open("a") as file:
            file.write(json.dumps(asdict(done)) + "\n")
    return done


def run(names: list[str], options: argparse.Namespace) -> list[Trial]:
    """All trials asked for that are not known, printed and written as they come."""
    known = known_trials(options.results)
    for name in names:
        large = len(classification_set(SETS[name])[1]) > MANY_SAMPLES
        for number, split in enumerate(halves(name, options.splits)):
            for method in options.methods:
                left_out = method == "CV" and large and number >= options.cv_splits
                if left_out or (name, number, method) in known:
                    continue
                done = trial(name, number, method, split)
                known[done.key] = written(done, options.results)
    return list(known.values())


def main() -> None:
    """Run what is asked for and print the tables."""

    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--splits", type=int, default=10, help="random halves of each set")
        parser.add_argument("--cv-splits", type=int, default=10, help="of those, CV of large sets")
        parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
        parser.add_argument("--results", type=Path, help="file of results, read and added to")
        parser.add_argument("--tables", action="store_true", help="print the file's tables only")

    names, options = command_line(__doc__, SETS, add_options)
    with threadpool_limits(THREADS), warnings.catch_warnings():
        warnings.simplefilter("always", ConvergenceWarning)
        if options.tables:
            trials = list(known_trials(options.results).values())
        else:
            trial("zoo", 0, "HSIC", next(halves("zoo", 1)))
            trials = run(names, options)
    print_tables([trial for trial in trials if trial.set in names], names)


if __name__ == "__main__":
    main()
