"""Errors and processor times of stacking at growing numbers of rows, beside boosted trees.

    MERCER_DATA=/path/to/sets python benchmarks/every_n.py measure --rows 1000 3000 10000 all
    MERCER_DATA=/path/to/sets python benchmarks/every_n.py measure --tables pol --splits 1
    MERCER_DATA=/path/to/sets python benchmarks/every_n.py measure --tuned --rows 1000 --splits 1
    MERCER_DATA=/path/to/sets python benchmarks/every_n.py measure --threads 8 --splits 1
    python benchmarks/every_n.py page

The first four write a line to every_n.jsonl, or the file that `--output` names, for each fit of a
method to a split of a table, and leave out those that are there; the last writes docs/every_n.md,
its figure, and the table of README.md and docs/index.md.
The tables have more than 14,000 rows. Training rows are stratified by class; the test has up to
10,000 of the other rows, a tenth of them where all others are for training. Two tables in order of
time are also split by time: the last tenth is the test. LightGBM and CatBoost take categories as
they are, the stack what `table_encoder` makes of them. All methods have their defaults and one
thread; `--tuned` measures those of tuned_trees.py instead. With several threads, records have the
wall time of fits in place of errors and processor times, so the machine should be idle and have as
many cores. Methods whose package is missing are skipped.
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import Record, read_records, write_records
from every_n_page import CATBOOST, LATER, LIGHTGBM, STACK, TUNED, claim, figure, page
from machines_page import machine_name
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits
from tuned_trees import Tuned, catboost_draw, lightgbm_draw

from experiments.tabular.table_files import load_table
from mercer import KernelStackingClassifier, KernelStackingRegressor
from mercer.preprocessing import table_encoder

RECORDS = Path(__file__).with_suffix(".jsonl")
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "every_n.md"
FIGURE = PAGE.parent / "images" / "every_n.png"
CLAIM = re.compile(r"^\| Training rows \|.*\n(\|.*\n)+\nFor numeric .*\n", flags=re.MULTILINE)
"""The table and the sentence that README.md and the site's first page quote."""
IN_TIME_ORDER = ("bike", "elec")
LARGE = (
    "adult",
    "bike",
    "calhousing",
    "creditdefault",
    "elec",
    "fried",
    "kin40k",
    "pol",
    "protein",
    "telescope",
    *(name + LATER for name in IN_TIME_ORDER),
)
MOST_TEST_ROWS = 10_000
ROWS = ("400", "1000", "3000", "10000", "all")
N_SPLITS = 2


def lightgbm(task: str, n_trees: int, threads: int) -> Any:
    """LightGBM; categories of data frames are its own."""
    library = import_module("lightgbm")
    kind = library.LGBMRegressor if task == "regression" else library.LGBMClassifier
    return kind(n_estimators=n_trees, n_jobs=threads, verbose=-1)


def catboost(task: str, categories: list[str], threads: int) -> Any:
    """CatBoost, and the names of the columns that hold categories."""
    library = import_module("catboost")
    kind = library.CatBoostRegressor if task == "regression" else library.CatBoostClassifier
    options = {"thread_count": threads, "verbose": 0, "allow_writing_files": False}
    # scikit-learn's `clone` refuses a CatBoost estimator with an empty list.
    return kind(**options, **({"cat_features": categories} if categories else {}))


def stacking(task: str) -> Any:
    """The encoder of tables, and the stack."""
    kind = KernelStackingRegressor if task == "regression" else KernelStackingClassifier
    return make_pipeline(table_encoder(), kind())


def methods(task: str, categories: list[str], threads: int, tuned: bool) -> dict[str, Any]:
    """Unfitted estimators whose packages are installed, by name."""
    found = {} if tuned else {STACK: stacking(task)}
    if find_spec("lightgbm") and tuned:
        found[LIGHTGBM + TUNED] = Tuned(lightgbm(task, 100, threads), lightgbm_draw)
    elif find_spec("lightgbm"):
        numbers = {LIGHTGBM: 100, f"{LIGHTGBM}, 300 trees": 300}
        found |= {name: lightgbm(task, number, threads) for name, number in numbers.items()}
    if find_spec("catboost"):
        default = catboost(task, categories, threads)
        found[CATBOOST + TUNED * tuned] = Tuned(default, catboost_draw) if tuned else default
    return found


def inputs(method: str, X: pd.DataFrame) -> pd.DataFrame:
    """The table as a method takes it: for CatBoost, categories are strings, missing ones too."""
    if not method.startswith(CATBOOST):
        return X
    names = X.select_dtypes("category").columns
    return X.assign(
        **{name: X[name].astype(object).fillna("missing").astype(str) for name in names}
    )


def measured(estimator: Any, method: str, split: list[Any], task: str) -> dict[str, float]:
    """Error, log-loss of classes, and processor seconds of the fit and of the predictions."""
    X, X_new, y, y_new = split
    X, X_new = inputs(method, X), inputs(method, X_new)
    start = time.process_time()
    estimator.fit(X, y)
    middle = time.process_time()
    predicted = np.ravel(estimator.predict(X_new)).astype(y.dtype)
    end = time.process_time()
    found = {"fit": middle - start, "predict": end - middle}
    if task == "regression":
        return found | {"error": float(np.sqrt(np.mean((predicted - y_new) ** 2)))}
    probabilities = estimator.predict_proba(X_new)
    loss = float(log_loss(y_new, probabilities, labels=np.unique(y)))
    return found | {"error": float(np.mean(predicted != y_new)), "log_loss": loss}


def later_split(X: pd.DataFrame, y: Any, rows: int, seed: int) -> list[Any]:
    """Training rows drawn from the first nine tenths of the rows, and the last tenth for a test."""
    n_earlier = len(y) - len(y) // 10
    train = np.sort(np.random.default_rng(seed).permutation(n_earlier)[:rows])
    return [X.iloc[train], X.iloc[n_earlier:], y[train], y[n_earlier:]]


def wall_time(estimator: Any, method: str, split: list[Any]) -> float:
    """Seconds of a fit by the clock."""
    X, _, y, _ = split
    X = inputs(method, X)
    start = time.perf_counter()
    estimator.fit(X, y)
    return time.perf_counter() - start


def split_of(table: Any, rows: int, seed: int, later: bool) -> list[Any]:
    """Training and test rows of a table, and their targets; responses have unit variance."""
    target, classes = table.target, table.task == "classification"
    if not classes:
        target = (target - target.mean()) / target.std()
    if later:
        return later_split(table.frame, target, rows, seed)
    return train_test_split(  # type: ignore[no-any-return]
        table.frame,
        target,
        train_size=rows,
        test_size=min(len(target) - rows, MOST_TEST_ROWS),
        random_state=seed,
        stratify=target if classes else None,
    )


def measure(given: argparse.Namespace) -> None:
    """Fit every method to every split that has no record."""
    keys = ("table", "rows", "split", "method", "threads")
    done = {tuple(record.get(key, 1) for key in keys) for record in read_records(given.output)}
    for name, size, seed in product(given.tables, given.rows, range(given.splits)):
        table, whole = load_table(name.removesuffix(LATER)), size == "all"
        n_rows = len(table.target)
        rows = n_rows - n_rows // 10 if whole else int(size)
        split = split_of(table, rows, seed, name.endswith(LATER))
        categories = list(table.frame.select_dtypes("category").columns)
        estimators = methods(table.task, categories, given.threads, given.tuned)
        for method, estimator in estimators.items():
            key = (name, rows, seed, method, given.threads)
            if key in done:
                continue
            record: Record = dict(zip(keys[:4], key, strict=False)) | {"task": table.task}
            record |= {"whole": True} if whole else {}
            with warnings.catch_warnings(), threadpool_limits(given.threads):
                warnings.simplefilter("ignore")
                if given.threads > 1:
                    record |= {"threads": given.threads, "machine": machine_name()}
                    found = {"wall": wall_time(estimator, method, split)}
                else:
                    found = measured(estimator, method, split, table.task)
            record |= {name: round(value, 5) for name, value in found.items()}
            write_records(given.output, [*read_records(given.output), record])
            print(record, flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["measure", "page"])
    parser.add_argument("--tables", nargs="+", default=LARGE)
    parser.add_argument("--rows", nargs="+", default=ROWS)
    parser.add_argument("--splits", type=int, default=N_SPLITS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tuned", action="store_true")
    parser.add_argument("--output", type=Path, default=RECORDS)
    given = parser.parse_args()
    if given.what == "measure":
        measure(given)
    else:
        records = read_records(given.output)
        PAGE.write_text(page(records))
        for path in (ROOT / "README.md", ROOT / "docs" / "index.md"):
            text = CLAIM.sub(lambda _: claim(records) + "\n", path.read_text())
            path.write_text(text)
        figure(records).savefig(FIGURE, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
