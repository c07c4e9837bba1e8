"""Probabilities of all classifiers beside those that scikit-learn calibrates.

    MERCER_DATA=/path/to/sets python benchmarks/probabilities.py measure --jobs 16
    python benchmarks/probabilities.py measure --sets heart,car --rows 300 --splits 2 --output x
    python benchmarks/probabilities.py page

The first two write a line to probabilities.jsonl, or the file that `--output` names, for each fit
of an estimator to a split of a set, when it ends, and leave out those that are there, so that a run
that was stopped goes on. The last writes docs/probabilities.md. Every process has one thread, and
temperatures need scikit-learn 1.8.

An estimator is measured with its own probabilities and inside `CalibratedClassifierCV(estimator,
cv=5)` in several ways, except where that takes long (`is_fitted`, `is_calibrated`).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import Record, append_records, classification_set, read_records, write_records
from joblib import hash as joblib_hash
from probabilities_page import MAX_COLUMNS, NOISE, PRIOR, WAYS, page
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import SVC
from sklearn.utils.metaestimators import available_if

from experiments.problems import CLASSIFICATION_SETS
from experiments.tabular.table_files import CLASSES, MAX_TEST, MIN_TEST, load_table
from experiments.tabular.table_methods import calibration_error
from mercer import (
    L1SVM,
    BayesianMKLClassifier,
    ContinuousMKLClassifier,
    KernelStackingClassifier,
    MKLClassifier,
    TwoStageClassifier,
)
from mercer.preprocessing import table_encoder

RECORDS = Path(__file__).with_suffix(".jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "probabilities.md"

TABLES = tuple(name for name in CLASSES if name not in CLASSIFICATION_SETS)
ALL = (*CLASSIFICATION_SETS, "sentiment_books", *TABLES, *NOISE)
GRID = {"C": 10.0 ** np.arange(-1, 4), "gamma": 4.0 ** np.arange(-2, 2)}
"""Values of C, and of gamma in units of scikit-learn's `gamma="scale"`."""

ROWS = (300, 1000)
N_FOLDS = 5
N_DRAWS = 10
"""Number of splits of sets of noise."""

Make = Callable[[np.ndarray, np.ndarray], Any]


def tuned(X: np.ndarray, y: np.ndarray) -> SVC:
    """A support vector machine of the C and gamma that are the most accurate in five folds."""
    gammas = GRID["gamma"] / (X.shape[1] * X.var())
    return clone(GridSearchCV(SVC(), {**GRID, "gamma": gammas}).fit(X, y).best_estimator_)


ESTIMATORS: dict[str, Make] = {
    PRIOR: lambda X, y: DummyClassifier(strategy="prior"),
    "SVC()": lambda X, y: SVC(),
    "SVC, grid search": tuned,
    "KernelStackingClassifier()": lambda X, y: KernelStackingClassifier(),
    "TwoStageClassifier()": lambda X, y: TwoStageClassifier(),
    'TwoStageClassifier(approximation="nystroem")': lambda X, y: TwoStageClassifier(
        approximation="nystroem"
    ),
    "L1SVM()": lambda X, y: L1SVM(),
    "MKLClassifier(norm=2)": lambda X, y: MKLClassifier(norm=2.0),
    'MKLClassifier(loss="logistic")': lambda X, y: MKLClassifier(loss="logistic"),
    "ContinuousMKLClassifier()": lambda X, y: ContinuousMKLClassifier(),
    "BayesianMKLClassifier()": lambda X, y: BayesianMKLClassifier(),
}


# --- data ----------------------------------------------------------------------------------------


class Problem(NamedTuple):
    """Training rows, and other rows of the same classes, encoded as numbers."""

    X: np.ndarray
    y: np.ndarray
    new: np.ndarray
    truth: np.ndarray

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.y.max()) + 1


@cache
def whole(name: str) -> tuple[Any, np.ndarray]:
    """A table or set, and class codes."""
    if name in TABLES:
        table = load_table(name)
        return table.frame, table.target
    return classification_set(name)


def drawn(name: str, rows: int, split: int) -> Problem | None:
    """Draw training rows and at most `MAX_TEST` others; None if the set has too few.

    Classes of fewer than `N_FOLDS` training rows are left out, as `CalibratedClassifierCV` refuses
    them. For the lowest number of rows, sets that are small are halved.
    """
    if name in NOISE:
        rng = np.random.default_rng([split, rows, list(NOISE).index(name)])
        X, parts = rng.normal(size=(rows + MAX_TEST, 5)), NOISE[name]
        y = rng.choice(len(parts), p=parts, size=len(X))
        return Problem(X[:rows], y[:rows], X[rows:], y[rows:])
    X, y = whole(name)
    if rows == min(ROWS):
        rows = min(rows, len(y) // 2)
    elif rows + MIN_TEST > len(y):
        return None
    train, test = train_test_split(
        np.arange(len(y)),
        train_size=rows,
        test_size=min(MAX_TEST, len(y) - rows),
        stratify=y,
        random_state=split,
    )
    known = np.bincount(y[train], minlength=int(y.max()) + 1) >= N_FOLDS
    train, test = (part[known[y[part]]] for part in (train, test))
    codes = np.cumsum(known)[y] - 1
    parts = (X.iloc[part] if name in TABLES else X[part] for part in (train, test))
    encoder, (first, second) = table_encoder(), parts
    features = encoder.fit_transform(first), encoder.transform(second)
    old, new = (np.asarray(values, dtype=np.float64) for values in features)
    return Problem(old, codes[train], new, codes[test])


STACK, BAYESIAN = "KernelStackingClassifier()", "BayesianMKLClassifier()"


def is_fitted(estimator: str, problem: Problem, rows: int) -> bool:
    """Whether an estimator is measured: a search for each class, and for projections, take long."""
    few = rows == min(ROWS)
    return {
        STACK: problem.X.shape[1] <= MAX_COLUMNS,
        BAYESIAN: few or problem.n_classes == 2,
    }.get(estimator, True)


def is_calibrated(estimator: str, problem: Problem, rows: int) -> bool:
    """Whether an estimator is also measured inside `CalibratedClassifierCV`, which fits it anew."""
    few = rows == min(ROWS)
    return {PRIOR: False, STACK: few, BAYESIAN: few and problem.n_classes == 2}.get(estimator, True)


# --- fits ----------------------------------------------------------------------------------------

_KEPT: dict[str, Any] = {}
"""Fits, and their predictions, of the estimator that is being calibrated."""


class FittedOnce(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator that is fitted once to the same rows, as methods of calibration share folds."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: np.ndarray, y: np.ndarray) -> FittedOnce:
        """Fit the estimator, unless it has been fitted to these rows."""
        self.key_ = joblib_hash((X, y))
        if self.key_ not in _KEPT:
            _KEPT[self.key_] = clone(self.estimator).fit(X, y)
        self.classes_ = _KEPT[self.key_].classes_
        return self

    def _predicted(self, method: str, X: np.ndarray) -> np.ndarray:
        key = f"{self.key_} {method} {joblib_hash(X)}"
        if key not in _KEPT:
            _KEPT[key] = getattr(_KEPT[self.key_], method)(X)
        return np.asarray(_KEPT[key])

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Classes that the estimator predicts."""
        return self._predicted("predict", X)

    @available_if(lambda self: hasattr(self.estimator, "decision_function"))
    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Decision values of the estimator."""
        return self._predicted("decision_function", X)

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Probabilities of the estimator."""
        return self._predicted("predict_proba", X)


def scores(truth: np.ndarray, probabilities: np.ndarray) -> dict[str, float]:
    """Log-loss, Brier score, expected calibration error and error of probabilities."""
    labels = np.arange(probabilities.shape[1])
    found = {
        "log_loss": log_loss(truth, probabilities, labels=labels),
        "brier": brier_score_loss(truth, probabilities, labels=labels),
        "calibration_error": calibration_error(truth, probabilities, equal_mass=True),
        "error": np.mean(probabilities.argmax(axis=1) != truth),
    }
    return {name: round(float(value), 5) for name, value in found.items()}


def measured(name: str, rows: int, split: int, estimator: str) -> Record | None:
    """Scores of an estimator's own probabilities, and of those that are calibrated."""
    problem = drawn(name, rows, split)
    if problem is None or not is_fitted(estimator, problem, rows):
        return None
    (X, y, new, truth), found = problem, {}
    model = ESTIMATORS[estimator](X, y)
    if hasattr(model, "predict_proba"):
        found["own"] = scores(truth, clone(model).fit(X, y).predict_proba(new))
    if not found or (name not in NOISE and is_calibrated(estimator, problem, rows)):
        _KEPT.clear()
        for way, options in WAYS.items():
            peer = CalibratedClassifierCV(FittedOnce(model), cv=N_FOLDS, **options)
            found[way] = scores(truth, peer.fit(X, y).predict_proba(new))
    key = dict(zip(KEY, (name, rows, split, estimator), strict=True))
    sizes = {"n": len(y), "n_new": len(truth), "classes": problem.n_classes}
    return {**key, **sizes, "scores": found}


# --- records -------------------------------------------------------------------------------------

KEY = ("set", "rows", "split", "estimator")


def measure(given: argparse.Namespace) -> None:
    """Measure what the file has no records of, and write each record when it is there."""
    tasks = [
        (name, rows, split, estimator)
        for name, rows, estimator in product(given.sets, given.rows, given.estimators)
        for split in range(N_DRAWS if name in NOISE else given.splits)
    ]
    known = {tuple(record[name] for name in KEY) for record in read_records(given.output)}
    # The slowest first, so that all processes end at about the same time.
    missing = sorted(
        set(tasks) - known, key=lambda task: (-task[1], task[3] not in (STACK, BAYESIAN), task)
    )
    try:
        append_records(given.output, measured, missing, given.jobs)
    finally:
        ranks = {name: rank for rank, name in enumerate([*ALL, *ESTIMATORS])}
        records = read_records(given.output)
        records.sort(key=lambda r: (r["rows"], ranks[r["set"]], r["split"], ranks[r["estimator"]]))
        write_records(given.output, records)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["measure", "page"])
    parser.add_argument("--sets", nargs="+", choices=ALL, default=ALL, metavar="SET")
    parser.add_argument("--rows", nargs="+", type=int, choices=ROWS, default=ROWS)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument(
        "--estimators", nargs="+", choices=ESTIMATORS, default=list(ESTIMATORS), metavar="NAME"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--output", type=Path, default=RECORDS)
    given = parser.parse_args()
    if given.what == "page":
        PAGE.write_text(page(read_records(given.output)))
    else:
        measure(given)


if __name__ == "__main__":
    main()
