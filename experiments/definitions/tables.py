"""Tables of mixed types: mercer's defaults beside a grid search, trees, GPs and xRFM."""

from __future__ import annotations

from functools import partial

from experiments.experiment import Draw, Experiment, Method
from experiments.tabular.table_methods import ENCODED, METHODS
from experiments.tabular.table_splits import table_split

SIZES = (400, 1000, 3000)
"""The numbers of training rows."""

TIMED_SIZE = 1500
"""The number of training rows of tables that are tried for their times only."""

TIMED = ("adult", "phoneme", "kin40k", "puma32H")
"""The tables that are tried for their times."""

MIN_TEST = 100
"""A table is split only if this many rows remain for a test."""

TABLES = {
    "adult": 16281,
    "phoneme": 5404,
    "pageblocks": 5473,
    "hypothyroid": 3772,
    "car": 1728,
    "cmc": 1473,
    "concrete": 1030,
    "airfoil": 1503,
    "cpu_small": 8192,
    "housing": 506,
    "kin40k": 40000,
    "puma32H": 8192,
    "calhousing": 20640,
    "skillcraft": 3338,
    "abalone": 4177,
    "pol": 15000,
}
"""The tables and their numbers of rows."""

MIXED = ("adult", "hypothyroid", "car", "cmc", "housing", "abalone")
"""The tables with categories or missing values."""

SETS = {
    "australian": 690,
    "banana": 5300,
    "breast_cancer_ljubljana": 263,
    "dermatology": 366,
    "diabetes_pima": 768,
    "ecoli": 336,
    "german": 1000,
    "heart": 270,
    "image": 2086,
    "ionosphere": 351,
    "kin8nm": 8192,
    "letter": 20000,
    "segment": 2310,
    "sonar": 208,
    "spambase": 4601,
    "splice": 2991,
    "thyroid": 215,
    "vehicle": 846,
    "waveform": 5000,
    "waveform40": 5000,
    "yeast": 1484,
    "zoo": 101,
}
"""The sets of numbers and their numbers of rows; images, views and counts of words are left out."""


CLASSES = (
    *("adult", "phoneme", "pageblocks", "hypothyroid", "car", "cmc"),
    *(name for name in SETS if name != "kin8nm"),
)
"""The tables and sets whose targets are classes."""


def problem(name: str, n_train: int) -> str:
    """Return the name of a problem: a table, and a number of training rows."""
    return f"{name}, n = {n_train}"


def sizes_by_problem() -> dict[str, tuple[str, int]]:
    """Return the table and the number of training rows of each problem.

    The tables of `TABLES` come first, by size. Of a set of `SETS` with less than 800 rows, half are
    for training.
    """
    found = {
        problem(name, n_train): (name, n_train)
        for n_train in SIZES
        for name, n_rows in TABLES.items()
        if n_rows >= n_train + MIN_TEST
    }
    found |= {problem(name, TIMED_SIZE): (name, TIMED_SIZE) for name in TIMED}
    for name, n_rows in SETS.items():
        n_train = min(SIZES[0], n_rows // 2)
        found[problem(name, n_train)] = name, n_train
    return found


def repeats_of(name: str, n_train: int, method: str) -> int | None:
    """Return the largest number of repeats of a method; None if it is not limited.

    Nothing is left out for its result: trees give the same with encoded inputs where all columns
    are complete numbers; a Gaussian process of classes takes up to a minute at 400 rows and many at
    1000, and so does a grid of 550 machines at 3000.
    """
    if n_train == TIMED_SIZE:
        return 1 if method in ("stacking", "two-stage", "grid search", "LightGBM") else 0
    many = n_train >= SIZES[2]
    if method in ENCODED:
        return None if name in MIXED and not many else 0
    if method == "GP-ARD":
        classes = name in CLASSES
        if many or name in SETS:
            return 0
        return (3 if n_train < SIZES[1] else 1) if classes else (None if n_train < SIZES[1] else 3)
    if name in SETS and method == "xRFM":
        return 3
    if many:
        return 0 if method == "grid search" else 3
    return None


def experiment(small: bool) -> Experiment:
    """Declare all tables, with five repeats and fewer of slow methods on many rows."""
    methods: dict[str, Method] = dict(METHODS)
    if small:
        chosen = {problem(name, 60): (name, 60) for name in ("car", "concrete")}
    else:
        chosen = sizes_by_problem()
    problems: dict[str, Draw] = {
        label: partial(table_split, name, n_train) for label, (name, n_train) in chosen.items()
    }
    limits = {
        (label, method): number
        for label, (name, n_train) in chosen.items()
        for method in methods
        if (number := repeats_of(name, n_train, method)) is not None
    }
    return Experiment(
        title="Tables of mixed types",
        source="beyond the papers",
        problems=problems,
        methods=methods,
        limits=limits,
    )
