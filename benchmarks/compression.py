"""Errors of compressed models beside those of the models, and the loss that is stated beforehand.

    MERCER_DATA=/path/to/sets python benchmarks/compression.py tables --names kin40k,adult
    python benchmarks/compression.py stated --draws 10

`tables` fits a two-stage estimator and a stack to 1,000 rows and compresses them by 2,000 others
with labels: the growth of the error on up to 4,000 new rows, of classes of the log-loss, relative
to it, as it is and, in parentheses, as `loss_` states it.

`stated` compares the growth that `loss_` states with that on 2,000 new rows, of two-stage
estimators of four problems, compressed by their training rows, by others, and by these with labels:
means over draws, with the number of centers "auto".
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from common import Array, print_table
from sklearn.base import is_classifier
from sklearn.datasets import make_classification, make_friedman1, make_moons
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from experiments.tabular.table_files import load_table
from mercer import (
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    compress,
)
from mercer.preprocessing import table_encoder

MODELS: dict[str, tuple[Any, Any]] = {
    "two-stage": (TwoStageClassifier, TwoStageRegressor),
    "stacking": (KernelStackingClassifier, KernelStackingRegressor),
}


def error(model: Any, X: Any, y: Array) -> float:
    """Logarithmic loss, or root mean squared error."""
    if not is_classifier(model):
        return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))
    codes = np.searchsorted(model.classes_, y)
    return float(-np.mean(np.log(model.predict_proba(X)[np.arange(len(codes)), codes])))


def tables(names: list[str]) -> Iterator[list[str]]:
    """Growth by 50 and by 200 centers."""
    yield ["table, model", "error", "50 centers", "200 centers"]
    for name in names:
        table = load_table(name)
        order = np.random.default_rng(0).permutation(len(table.target))
        train, others, new = order[:1000], order[1000:3000], order[3000:7000]
        X, y = table.frame, table.target
        for title, kinds in MODELS.items():
            kind = kinds[table.task == "regression"]
            model = make_pipeline(table_encoder(), kind()).fit(X.iloc[train], y[train])
            before, found = error(model, X.iloc[new], y[new]), []
            for number in (50, 200):
                small = compress(model, X.iloc[others], y[others], number)
                growth = error(small, X.iloc[new], y[new]) / before - 1.0
                found.append(f"{growth:+.1%} ({small[-1].loss_:+.1%})")
            yield [f"{name}, {title}", f"{before:.4f}", *found]


def problem(name: str, n_rows: int, seed: int) -> tuple[Array, Array]:
    """Rows, and their responses or classes."""
    if name == "two moons":
        return make_moons(n_rows, noise=0.3, random_state=seed)
    if name == "two classes, six columns":
        return make_classification(
            n_rows, 6, n_informative=4, n_redundant=0, flip_y=0.05, random_state=seed
        )
    if name == "Friedman's first":
        return make_friedman1(n_rows, n_features=6, noise=1.0, random_state=seed)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    smooth = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2]
    return X, smooth + 0.2 * rng.normal(size=n_rows)


def stated(draws: int) -> Iterator[list[str]]:
    """Growth of the error as it is stated, and on new rows."""
    yield ["problem", "n", *(f"{how}: stated, true" for how in ("training", "others", "labels"))]
    classes = ("two moons", "two classes, six columns")
    for name in (*classes, "Friedman's first", "sine and product"):
        for n_rows in (150, 400):
            found = []
            for seed in range(draws):
                X, y = problem(name, n_rows + 2500, seed)
                others, new = slice(n_rows, n_rows + n_rows // 2 + 100), slice(n_rows + 500, None)
                model = MODELS["two-stage"][name not in classes]().fit(X[:n_rows], y[:n_rows])
                before = error(model, X[new], y[new])
                ways = ((X[:n_rows],), (X[others],), (X[others], y[others]))
                tried = [compress(model, *way) for way in ways]
                true = [error(small, X[new], y[new]) / before - 1.0 for small in tried]
                found.append([(small.loss_, own) for small, own in zip(tried, true, strict=True)])
            means = 100.0 * np.mean(found, axis=0)
            yield [name, str(n_rows), *(f"{a:.1f}, {b:.1f} %" for a, b in means)]


def main() -> None:
    """Print the table that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["tables", "stated"])
    parser.add_argument("--names", default="calhousing,kin40k,adult,phoneme")
    parser.add_argument("--draws", type=int, default=10)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        rows = tables(given.names.split(",")) if given.what == "tables" else stated(given.draws)
        head, *lines = rows
    print_table(given.what, head, lines)


if __name__ == "__main__":
    main()
