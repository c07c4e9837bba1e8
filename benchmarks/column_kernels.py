"""Errors of kernels of columns beside those of kernels on encoded tables.

    MERCER_DATA=/path/to/sets python benchmarks/column_kernels.py [NAME ...] [--tables T,...]

tables
    `mercer.kernels.kernels_for`, after `column_encoder`, beside one-hot columns by `table_encoder`:
    car, cmc, hypothyroid, and a table like nursery, which `nursery` makes by a rule. "declared" are
    kernels for which the order of ordered categories is given. Learners are
    `EvidenceMaximization` and `KernelOptimization` by centered alignment.
splice
    Junctions of DNA, 60 letters each: the letters as numbers, as `experiments` have them, as
    categories, and as strings, by spectrum kernels in place and anywhere and by kernels on windows
    of up to three letters, with weights by `AlignmentMaximization`.

Printed are means and standard errors over splits of the share of test rows that is misclassified
(%), the log-loss, and the processor time of a fit relative to that of the first method. Splits are
those of the experiment `tables`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from common import mean_and_error, print_table, run_named
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from experiments.tabular.table_files import MAX_TEST, Table, TableSplit, load_table, table_split
from mercer import (
    AlignmentMaximization,
    EvidenceMaximization,
    KernelOptimization,
    KernelStackingClassifier,
    TwoStageClassifier,
)
from mercer.kernels import Categorical, Kernel, OnColumns, Spectrum, kernels_for
from mercer.preprocessing import column_encoder, table_encoder

LOW_TO_HIGH = [str(grade) for grade in (1, 2, 3, 4)]
ORDERS: dict[str, dict[str, list[str]]] = {
    "car": {
        "buying": ["low", "med", "high", "vhigh"],
        "maint": ["low", "med", "high", "vhigh"],
        "doors": ["2", "3", "4", "5more"],
        "persons": ["2", "4", "more"],
        "lug_boot": ["small", "med", "big"],
        "safety": ["low", "med", "high"],
    },
    "cmc": {
        "Wifes_education": LOW_TO_HIGH,
        "Husbands_education": LOW_TO_HIGH,
        "Standard-of-living_index": LOW_TO_HIGH,
    },
    "hypothyroid": {},
    "nursery": {
        "parents": ["usual", "pretentious", "great"],
        "nursery": ["proper", "fair", "poor", "critical", "none"],
        "form": ["complete", "completed", "incomplete", "foster"],
        "children": ["1", "2", "3", "more"],
        "housing": ["convenient", "fair", "critical"],
        "finance": ["convenient", "inconvenient"],
        "social": ["none", "slight", "problematic"],
        "health": ["recommended", "priority", "not recommended"],
    },
}
"""Of each table, categories in their order."""

Method = Callable[[TableSplit], Any]


@cache
def nursery() -> Table:
    """Return all combinations of the levels of nursery's columns, with classes by a rule.

    Grades count from zero, the best. Employment is the sum of the grades of parents and nursery,
    in thirds; structure that of form and children, in halves; home that of housing and finance, if
    employment is not in its first third, and else zero. Who is not recommended by health is the
    first class; the others are divided by twice the employment plus structure, home, social grade
    and twice the health grade: below 3, 5 and 7, and above.
    """
    orders = ORDERS["nursery"]
    frame = pd.DataFrame(list(product(*orders.values())), columns=list(orders))
    grade = {name: frame[name].map(levels.index) for name, levels in orders.items()}
    employment = np.digitize(grade["parents"] + grade["nursery"], [2, 4])
    structure = np.digitize(grade["form"] + grade["children"], [3])
    home = np.where(employment > 0, grade["housing"] + grade["finance"], 0)
    total = 2 * employment + structure + home + grade["social"] + 2 * grade["health"]
    target = np.where(grade["health"] == 2, 0, 1 + np.digitize(total, [3, 5, 7]))
    return Table(frame.astype("category"), target, "classification")


def split_of(name: str, n_train: int, repeat: int) -> TableSplit:
    """Return a random split of a table, as the experiment `tables` has it."""
    if name != "nursery":
        return table_split(name, n_train, repeat)
    table = nursery()
    train, test = train_test_split(
        np.arange(len(table.target)),
        train_size=n_train,
        test_size=MAX_TEST,
        random_state=repeat,
        stratify=table.target,
    )
    parts = [
        part for rows in (train, test) for part in (table.frame.iloc[rows], table.target[rows])
    ]
    return TableSplit(name, "classification", *parts, 1.0, False)


def of_columns(make: Callable[[Kernel], Any], declared: bool, **params: Any) -> Method:
    """Return a maker of a pipeline on kernels of columns."""

    def pipeline(split: TableSplit) -> Any:
        table = load_table(split.name).frame if split.name != "nursery" else nursery().frame
        orders = ORDERS[split.name] if declared else None
        kernel = kernels_for(table, orders, **params)
        return make_pipeline(column_encoder(table, orders), make(kernel))

    return pipeline


def stacked(kernel: Kernel) -> Any:
    """Return a stack of learners of a kernel."""
    return KernelStackingClassifier(
        [EvidenceMaximization(kernel), KernelOptimization(kernel, "cka")]
    )


def one_hot(make: Callable[[], Any]) -> Method:
    """Return a maker of a pipeline on one-hot columns."""
    return lambda split: make_pipeline(table_encoder(), make())


TABLE_METHODS: dict[str, Method] = {
    "one-hot, two-stage": one_hot(TwoStageClassifier),
    "one-hot, stacking": one_hot(KernelStackingClassifier),
}
LEARNERS: dict[str, Callable[[Kernel], Any]] = {
    "evidence": lambda kernel: TwoStageClassifier(EvidenceMaximization(kernel)),
    "alignment": lambda kernel: TwoStageClassifier(KernelOptimization(kernel, "cka")),
    "stacking": stacked,
}
for label, make in LEARNERS.items():
    TABLE_METHODS[f"columns, {label}"] = of_columns(make, False)
    TABLE_METHODS[f"columns, declared, {label}"] = of_columns(make, True)
TABLE_METHODS["columns, sum, evidence"] = of_columns(LEARNERS["evidence"], False, combine="sum")


def windows(width: int) -> list[Kernel]:
    """Return kernels on neighboring letters: one for each window of up to some letters."""
    return [
        OnColumns(Categorical(), list(range(start, start + size)))
        for size in range(1, width + 1)
        for start in range(60 - size + 1)
    ]


def weighted(kernels: list[Kernel]) -> Method:
    """Return a maker of a two-stage classifier on a sum of kernels, weighted by alignment."""
    return lambda split: TwoStageClassifier(AlignmentMaximization(kernels))


IN_PLACE: list[Kernel] = [Spectrum(length, positions=True) for length in range(1, 7)]
ANYWHERE: list[Kernel] = [Spectrum(length) for length in range(1, 7)]
SPLICE_METHODS: dict[str, Method] = {
    "numbers, two-stage": lambda split: TwoStageClassifier(),
    "numbers, stacking": lambda split: KernelStackingClassifier(),
    "categories, one width": lambda split: TwoStageClassifier(
        KernelOptimization(Categorical(), "cka")
    ),
    "categories, a width each": lambda split: TwoStageClassifier(
        EvidenceMaximization(Categorical(ard=True))
    ),
    "substrings anywhere": weighted(ANYWHERE),
    "substrings in place": weighted(IN_PLACE),
    "windows": weighted(windows(3)),
    "stacking of the last two": lambda split: KernelStackingClassifier(
        [AlignmentMaximization(IN_PLACE), AlignmentMaximization(windows(3))]
    ),
}


def measured(method: Method, split: TableSplit) -> tuple[float, float, float]:
    """Return the test error, the log-loss and the processor time of a fit."""
    model = method(split)
    start = time.process_time()
    model.fit(split.X_train, split.y_train)
    spent = time.process_time() - start
    error = 100.0 * float(np.mean(model.predict(split.X_test) != split.y_test))
    known = np.isin(split.y_test, model.classes_)
    probabilities = model.predict_proba(split.X_test)[known]
    return error, log_loss(split.y_test[known], probabilities, labels=model.classes_), spent


def compare(title: str, name: str, methods: Mapping[str, Method], options: Any) -> None:
    """Print the measures of methods on a table."""
    found: dict[str, list[tuple[float, float, float]]] = {label: [] for label in methods}
    for repeat in range(options.splits):
        split = split_of(name, options.rows, repeat)
        for label, method in methods.items():
            found[label].append(measured(method, split))
    first = np.mean([spent for *_, spent in next(iter(found.values()))])
    rows = []
    for label, values in found.items():
        errors, losses, times = np.array(values).T
        ratio = f"{times.mean() / first:.1f}"
        rows.append(
            [label, mean_and_error(errors, digits=2), mean_and_error(losses, digits=3), ratio]
        )
    print_table(title, ["", "error (%)", "log-loss", "time"], rows)


def tables(options: argparse.Namespace) -> None:
    """Compare kernels of columns with one-hot columns."""
    for name in options.tables.split(","):
        title = f"{name}, {options.rows} rows, {options.splits} splits"
        hidden = () if ORDERS[name] else [m for m in TABLE_METHODS if "declared" in m]
        methods = {label: make for label, make in TABLE_METHODS.items() if label not in hidden}
        compare(title, name, methods, options)


def splice(options: argparse.Namespace) -> None:
    """Compare letters as numbers, categories and strings."""
    title = f"splice, {options.rows} rows, {options.splits} splits"
    compare(title, "splice", SPLICE_METHODS, options)


def main() -> None:
    """Run the benchmarks that the command line names."""
    warnings.simplefilter("ignore")
    run_named(
        __doc__,
        {"tables": tables, "splice": splice},
        splits=(5, "splits of each table"),
        rows=(400, "training rows"),
        tables=(",".join(ORDERS), "names, by default all"),
    )


if __name__ == "__main__":
    main()
