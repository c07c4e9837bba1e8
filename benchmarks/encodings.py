"""Errors by the encoding of tables: the choices of `mercer.preprocessing.table_encoder`.

    MERCER_DATA=/path/to/sets python benchmarks/encodings.py [NAME ...] [--tables T,...]

numbers
    Scaling of numbers: `SoftClippingScaler` with other thresholds, and scikit-learn's scalers.
categories
    One-hot columns standardized, one column for two categories, fewer columns for many categories;
    no indicators of missing values.

The predictor is kernel ridge regression on 400 rows of each table of `tables/index.json`, on class
indicators for classes, tested on at most 2,000 others. Its kernel is a Gaussian or a product
Laplacian, whose width (five multiples of the median distance) and alpha have the lowest
leave-one-out error; `best` is the kernel of the lower one. Printed are geometric means over tables
of the ratio of errors (RMSE, or share misclassified plus 0.5 %, averaged over splits) to those of
`table_encoder()`: above 1, the default is better.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import Array, print_table, run_named
from scipy.spatial.distance import cdist
from scipy.stats import gmean
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, RobustScaler, StandardScaler

from experiments.tabular.table_files import TableSplit, table_split
from mercer._data.sample import encode_target
from mercer._gram.dense import to_unit_scale
from mercer._solvers.left_out import leave_one_out
from mercer.preprocessing import SoftClippingScaler, table_encoder

N_TRAIN = 400
"""Training rows."""

KERNELS = ("Gaussian", "Laplacian", "best")
"""The columns of the tables."""

Encoder = Callable[[], Any]


def numbers(scaler: Any) -> Encoder:
    """Return a maker of table encoders with another scaler of numbers."""
    return lambda: table_encoder().set_params(numbers__softclippingscaler=scaler)


def one_hot(**params: Any) -> Encoder:
    """Return a maker of table encoders with other parameters of the one-hot encoder."""
    named = {f"categories__onehotencoder__{name}": value for name, value in params.items()}
    return lambda: table_encoder().set_params(**named)


def standardized_categories() -> Any:
    """Return a table encoder whose one-hot columns are standardized."""
    encoder = table_encoder()
    categories = make_pipeline(encoder.get_params()["categories"], StandardScaler())
    return encoder.set_params(categories=categories)


ENCODERS: dict[str, dict[str, Encoder]] = {
    "numbers": {
        "threshold 2": numbers(SoftClippingScaler(2.0)),
        "threshold 5": numbers(SoftClippingScaler(5.0)),
        "no clipping": numbers(SoftClippingScaler(1e100)),
        "StandardScaler": numbers(StandardScaler()),
        "RobustScaler": numbers(RobustScaler()),
        "QuantileTransformer": numbers(
            QuantileTransformer(n_quantiles=200, output_distribution="normal")
        ),
    },
    "categories": {
        "standardized": standardized_categories,
        "one column for two": one_hot(drop="if_binary"),
        "at most 10 columns": one_hot(max_categories=10),
        "without the rarest": one_hot(min_frequency=5),
        "no indicators": lambda: table_encoder().set_params(
            numbers__simpleimputer__add_indicator=False
        ),
    },
}


def candidates(train: Array, test: Array) -> Iterator[tuple[str, Array, Array]]:
    """Yield the family and the Gram matrices of kernels of several widths."""
    for family, metric in (("Gaussian", "sqeuclidean"), ("Laplacian", "cityblock")):
        distances, to_train = cdist(train, train, metric), cdist(test, train, metric)
        median = np.median(distances[np.triu_indices(len(train), 1)])
        for factor in (0.25, 0.7, 2.0, 6.0, 20.0):
            width = factor * (median or 1.0)
            yield family, np.exp(-distances / width), np.exp(-to_train / width)


def errors(split: TableSplit, encoder: Any) -> dict[str, float]:
    """Return the test error of the kernel of lowest leave-one-out error, by family."""
    train = np.asarray(encoder.fit_transform(split.X_train))
    target = encode_target(split.y_train, classification=split.task == "classification")
    found: dict[str, tuple[float, float]] = {}
    for family, gram, rows in candidates(train, np.asarray(encoder.transform(split.X_test))):
        centered, unit = to_unit_scale(gram)
        fit = leave_one_out(centered, target.values)
        predicted = target.decode(fit.predict(unit.apply(rows)))
        if split.task == "classification":
            error = float((predicted != split.y_test).mean()) + 0.005
        else:
            error = float(np.sqrt(np.square(predicted.ravel() - split.y_test).mean()))
        for name in (family, "best"):
            found[name] = min(found.get(name, (np.inf, np.nan)), (fit.loss, error))
    return {name: error for name, (_, error) in found.items()}


def compare(name: str, options: argparse.Namespace) -> None:
    """Print the ratios of errors of some encoders to those of the default."""
    encoders = {"default": table_encoder, **ENCODERS[name]}
    mean: dict[tuple[str, str, str], float] = {}
    tasks = {}
    for table in options.tables.split(","):
        splits = [table_split(table, N_TRAIN, repeat) for repeat in range(options.splits)]
        tasks[table] = splits[0].task
        for label, make in encoders.items():
            measured = [errors(split, make()) for split in splits]
            for kernel in KERNELS:
                mean[table, label, kernel] = float(np.mean([e[kernel] for e in measured]))
    for task in sorted(set(tasks.values())):
        of_task = [table for table in tasks if tasks[table] == task]
        rows = [
            [
                label,
                *(
                    f"{gmean([mean[t, label, k] / mean[t, 'default', k] for t in of_task]):.3f}"
                    for k in KERNELS
                ),
            ]
            for label in ENCODERS[name]
        ]
        print_table(f"{name}: {task}, {len(of_task)} tables", ["encoding", *KERNELS], rows)


def main() -> None:
    """Run the benchmarks that the command line names."""
    index = Path(os.environ.get("MERCER_DATA", ".")) / "tables" / "index.json"
    tables = json.loads(index.read_text(encoding="utf-8")) if index.is_file() else {}
    benchmarks = {name: partial(compare, name) for name in ENCODERS}
    run_named(
        __doc__,
        benchmarks,
        splits=(3, "splits of each table"),
        tables=(",".join(tables), "names, by default all"),
    )


if __name__ == "__main__":
    main()
