"""Errors of stacks that have CatBoost as a member, beside default stacks, LightGBM and CatBoost.

    MERCER_DATA=/path/to/sets python benchmarks/rivals.py measure --rows 1000 3000 10000
    MERCER_DATA=/path/to/sets python benchmarks/rivals.py measure --tables car --splits 1
    python benchmarks/rivals.py page

The first two write a line to rivals.jsonl, or the file that `--output` names, for each fit of a
method to a split of a table, and leave out those that are there; the last writes docs/rivals.md.
Splits are those of every_n.py. LightGBM and CatBoost take categories as they are; stacks take what
`table_encoder` makes of them, and so does CatBoost as their member, but for missing values. All
methods have their defaults and one thread. Tables with too few rows for a test are left out.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product
from pathlib import Path
from typing import Any

from common import Record, read_records, write_records
from every_n import CATBOOST, LIGHTGBM, STACK, catboost, lightgbm, measured, split_of, stacking
from rivals_page import BOTH, page
from threadpoolctl import threadpool_limits

from experiments.tabular.table_files import MIN_TEST, load_table
from mercer.preprocessing import table_encoder

RECORDS = Path(__file__).with_suffix(".jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "rivals.md"
CLASSES = (
    *("adult", "car", "cmc", "creditdefault", "elec", "hypothyroid", "pageblocks", "phoneme"),
    "telescope",
)
RESPONSES = ("bike", "calhousing", "fried")
N_SPLITS = 3


def methods(task: str, categories: list[str]) -> dict[str, Any]:
    """Unfitted estimators by name."""
    candidates = ["default", catboost(task, [], 1)]
    both = stacking(task)[-1].set_params(encoder=table_encoder(), candidates=candidates)
    return {
        LIGHTGBM: lightgbm(task, 100, 1),
        CATBOOST: catboost(task, categories, 1),
        STACK: stacking(task),
        BOTH: both,
    }


def measure(given: argparse.Namespace) -> None:
    """Fit every method to every split that has no record."""
    keys = ("table", "rows", "split", "method")
    done = {tuple(record[key] for key in keys) for record in read_records(given.output)}
    for name, rows, seed in product(given.tables, given.rows, range(given.splits)):
        table = load_table(name)
        if len(table.target) < rows + MIN_TEST:
            continue
        split = split_of(table, rows, seed, later=False)
        categories = list(table.frame.select_dtypes("category").columns)
        for method, estimator in methods(table.task, categories).items():
            key = (name, rows, seed, method)
            if key in done:
                continue
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore")
                warnings.filterwarnings("error", ".* is left out")
                found = measured(estimator, method, split, table.task)
            if method == BOTH:
                weights = {c.description: c.weight for c in estimator.candidates_}
                found["weight"] = sum(weights[one] for one in weights if one.startswith(CATBOOST))
            record: Record = dict(zip(keys, key, strict=True)) | {"task": table.task}
            record |= {name: round(value, 5) for name, value in found.items()}
            write_records(given.output, [*read_records(given.output), record])
            print(record, flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["measure", "page"])
    parser.add_argument("--tables", nargs="+", default=CLASSES + RESPONSES)
    parser.add_argument("--rows", nargs="+", type=int, default=[1000])
    parser.add_argument("--splits", type=int, default=N_SPLITS)
    parser.add_argument("--output", type=Path, default=RECORDS)
    given = parser.parse_args()
    if given.what == "measure":
        measure(given)
    else:
        PAGE.write_text(page(read_records(given.output)))


if __name__ == "__main__":
    main()
