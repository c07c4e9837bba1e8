"""Sizes of fitted models on disk, and errors on test rows, before and after compression.

    MERCER_DATA=/path/to/sets python benchmarks/compression.py figures --components all
    MERCER_DATA=/path/to/sets python benchmarks/compression.py stated centers
    MERCER_DATA=/path/to/sets python benchmarks/compression.py narrow --tables kin40k,calhousing,pol

`figures` fits two-stage estimators and stacks to `--rows` rows (10,000) of tables that have more,
and compresses them by half of the other rows; errors are those on the other half, of responses
relative to their deviation and of classes the log-loss, and "growth" is that of the error by
compression, with its standard error over the test rows. "stated" is what `loss_` says beforehand,
measured by the labels of the rows that it was compressed by; "expected" is what it says without.

`stated` compares the growth that `loss_` states with that on new rows, of two-stage estimators of
150 and 600 rows of four problems, compressed by their training rows, by others, and by these with
labels: means of ten draws.

`centers` compares means of clusters with rows at random and with those of a pivoted Cholesky
factorization: root mean squared differences from the two-stage model, relative to its spread on
rows that neither was fitted to, at the same number of centers (`--centers`, 500).

`narrow` fits functions of thousands of centers to the values of two-stage models at their training
rows and the other rows together: means of clusters, rows that the model was not fitted to, for a
Gaussian kernel of one width random cosine features, and means of clusters that L-BFGS then moves.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.linalg
from common import Array, print_table
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.datasets import make_classification, make_friedman1, make_moons
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

import mercer
from experiments.tabular.table_files import TABLES, load_table
from mercer import (
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    compress,
)
from mercer._deployment.few_centers import Centers, KernelPart, cluster_means
from mercer.kernels import Gaussian
from mercer.preprocessing import table_encoder

LEAST_ROWS = 14_000
MOST_OTHER_ROWS = 10_000
METHODS: dict[str, tuple[Any, Any]] = {
    "two-stage": (TwoStageClassifier, TwoStageRegressor),
    "stacking": (KernelStackingClassifier, KernelStackingRegressor),
}


@dataclass(frozen=True)
class Parts:
    """Rows of a table: for training, for compression, and for the test."""

    X: pd.DataFrame
    y: Array
    X_small: pd.DataFrame
    y_small: Array
    X_test: pd.DataFrame
    y_test: Array
    task: str


def parts_of(name: str, rows: int) -> Parts:
    """Divide a table."""
    table = load_table(name)
    target, classes = table.target, table.task == "classification"
    if not classes:
        target = (target - target.mean()) / target.std()
    X, rest, y, y_rest = train_test_split(
        table.frame,
        target,
        train_size=rows,
        test_size=min(len(target) - rows, 2 * MOST_OTHER_ROWS),
        random_state=0,
        stratify=target if classes else None,
    )
    half = len(y_rest) // 2
    small, test = slice(half), slice(half, None)
    return Parts(X, y, rest[small], y_rest[small], rest[test], y_rest[test], table.task)


def losses(model: Any, parts: Parts) -> Array:
    """Squared errors, or logarithmic losses, of the test rows."""
    if parts.task == "regression":
        return np.asarray((model.predict(parts.X_test) - parts.y_test) ** 2)
    codes = np.searchsorted(model[-1].classes_, parts.y_test)
    return np.asarray(-np.log(model.predict_proba(parts.X_test)[np.arange(len(codes)), codes]))


def growth(before: Array, after: Array, power: float) -> tuple[float, float]:
    """That of a power of the mean loss, with its standard error by the delta method."""
    ratio = after.mean() / before.mean()
    spread = (after - ratio * before).std() / before.mean() / np.sqrt(len(before))
    return float(ratio**power - 1.0), float(power * ratio ** (power - 1.0) * spread)


def with_error(value: float | None, error: float | None) -> str:
    """A growth and its standard error."""
    return "" if value is None or error is None else f"{value:+.2%} ± {error:.2%}"


def megabytes(model: Any) -> float:
    """Size of the model's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.skops")
        mercer.save(model, path)
        return path.stat().st_size / 1e6


@cache
def fitted(name: str, method: str, rows: int) -> tuple[Any, Parts]:
    """A fitted pipeline, and its data."""
    parts = parts_of(name, rows)
    kind = METHODS[method][parts.task == "regression"]
    return make_pipeline(table_encoder(), kind()).fit(parts.X, parts.y), parts


def figures(given: argparse.Namespace) -> Iterator[list[str]]:
    """Sizes and errors of models and of their compressions."""
    yield [
        "table, method",
        "MB",
        "MB, compressed",
        "centers",
        "error",
        "stated",
        "growth",
        "expected",
    ]
    for name in given.tables:
        for method in given.methods:
            model, parts = fitted(name, method, given.rows)
            settings = {"n_components": given.components, "tol": given.tol}
            small = compress(model, parts.X_small, parts.y_small, **settings)
            before, after, last = losses(model, parts), losses(small, parts), small[-1]
            power = 0.5 if parts.task == "regression" else 1.0
            stated = last.loss_
            yield [
                f"{name}, {method}",
                f"{megabytes(model):.2f}",
                f"{megabytes(small):.2f}",
                "all" if last.rows_per_center_ is None else str(len(last.rows_per_center_)),
                f"{before.mean() ** power:.4f}",
                with_error(stated.measured_growth, stated.standard_error),
                with_error(*growth(before, after, power)),
                f"{stated.expected_growth:+.2%}",
            ]


def relative_difference(
    name: str, given: argparse.Namespace, centers_of: Callable[[KernelPart, Any, int], Centers]
) -> float:
    """Difference of the two-stage model and its compression on the test rows."""
    model, parts = fitted(name, "two-stage", given.rows)
    expansion, encoder = model[-1].kernel_expansion(), model[:-1]
    views, new = (
        expansion.views(np.asarray(encoder.transform(X), dtype=float))
        for X in (parts.X_small, parts.X_test)
    )
    part = KernelPart.of(expansion, views)
    chosen = centers_of(part, views, given.centers)
    found, _ = part.on_centers(chosen, views, part.values(views))
    mine, theirs = expansion.of_views(new), found.of_views(new)
    return float(np.sqrt(np.mean((mine - theirs) ** 2) / mine.var()))


def by_clusters(part: KernelPart, views: Any, n_centers: int) -> Centers:
    """Means of clusters."""
    return cluster_means(views, part.relevance, n_centers, 0, part.codes)


def at_random(part: KernelPart, views: Any, n_centers: int) -> Centers:
    """Rows at random."""
    n_rows = len(next(iter(views.values())))
    rows = np.random.default_rng(0).choice(n_rows, n_centers, replace=False)
    return Centers({name: view[rows] for name, view in views.items()}, np.ones(n_centers, int))


def by_pivots(part: KernelPart, views: Any, n_centers: int) -> Centers:
    """Pivots of a Cholesky factorization of the first kernel's Gram matrix."""
    view, kernel = part.kernels[0]
    X = views[view]
    rest, factor, rows = kernel.diag(X).astype(float), np.zeros((len(X), n_centers)), []
    for column in range(n_centers):
        pivot = int(np.argmax(rest))
        rows.append(pivot)
        values = kernel(X, X[[pivot]])[:, 0] - factor @ factor[pivot]
        factor[:, column] = values / np.sqrt(rest[pivot])
        rest = np.maximum(rest - factor[:, column] ** 2, 0.0)
    return Centers({name: v[rows] for name, v in views.items()}, np.ones(n_centers, int))


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


def stated(given: argparse.Namespace) -> Iterator[list[str]]:
    """Growth of the error as it is stated, and on new rows."""
    yield ["problem", "n", *(f"{how}: stated, true" for how in ("training", "others", "labels"))]
    classes = ("two moons", "two classes, six columns")
    for name in (*classes, "Friedman's first", "sine and product"):
        kind = METHODS["two-stage"][name not in classes]
        for n_rows in (150, 600):
            others = slice(n_rows, n_rows + n_rows // 2 + 100)
            found = []
            for seed in range(10):
                X, y = problem(name, n_rows + 2000, seed)
                new = slice(n_rows + 500, None)
                task = "classification" if name in classes else "regression"
                parts = Parts(X[:n_rows], y[:n_rows], X[others], y[others], X[new], y[new], task)
                found.append(stated_and_true(kind, parts))
            means = np.mean(found, axis=0)
            yield [name, str(n_rows), *(f"{100 * a:.1f}, {100 * b:.1f} %" for a, b in means)]


def stated_and_true(kind: Any, parts: Parts) -> list[tuple[float, float]]:
    """Growth by a compression by training rows, by others, and by others with labels."""
    model = make_pipeline(kind()).fit(parts.X, parts.y)
    before, power = losses(model, parts), 0.5 if parts.task == "regression" else 1.0
    found = []
    for how in ((), (parts.X_small,), (parts.X_small, parts.y_small)):
        small = compress(model, *how)
        true, _ = growth(before, losses(small, parts), power)
        found.append((small[-1].loss_.growth, true))
    return found


def centers(given: argparse.Namespace) -> Iterator[list[str]]:
    """Differences by the choice of centers."""
    ways = {"clusters": by_clusters, "random rows": at_random, "pivots": by_pivots}
    yield ["table", *ways]
    for name in given.tables:
        found = [f"{relative_difference(name, given, way):.4f}" for way in ways.values()]
        yield [name, *found]


def solved(Z: Array, values: Array) -> Array:
    """Coefficients of features by least squares, with a penalty at rounding."""
    gram = Z.T @ Z
    gram[np.diag_indices_from(gram)] += 1e-9 * np.trace(gram) / len(gram)
    return np.asarray(scipy.linalg.solve(gram, Z.T @ values, assume_a="pos", overwrite_a=True))


def moved(centers: Array, X: Array, values: Array, width: float, steps: int) -> Array:
    """Centers of a Gaussian kernel after steps of L-BFGS on the squared difference."""

    def loss(flat: Array) -> tuple[float, Array]:
        C = flat.reshape(centers.shape)
        K = np.exp(-cdist(X, C, "sqeuclidean") / width**2)
        c = solved(K, values)
        residual = values - K @ c
        slopes = -4.0 * (residual[:, None] * K) * c / width**2
        gradient = slopes.T @ X - slopes.sum(axis=0)[:, None] * C
        return float(residual @ residual) / len(X), gradient.ravel() / len(X)

    found = minimize(loss, centers.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": steps})
    return np.asarray(found.x.reshape(centers.shape))


def narrow_features(
    kernel: Any, X: Array, others: Array, values: Array, relevance: Array
) -> Iterator[tuple[str, Callable[[Array], Array]]]:
    """Names of features of a narrow kernel, and functions from rows to them."""
    rng = np.random.default_rng(0)
    for number in (1000, 4000, 8000):
        if number <= len(X) // 2:
            found = cluster_means({"given": X}, {"given": relevance}, number, 0)
            C = found.views["given"].astype(float)
            yield f"{len(C):,} means", lambda Z, C=C: kernel(Z, C)
        if number < len(others):
            rows = others[rng.choice(len(others), number, replace=False)]
            yield f"{number:,} other rows", lambda Z, C=rows: kernel(Z, C)
    if not (isinstance(kernel, Gaussian) and np.ndim(kernel.bandwidth) == 0):
        return
    width = float(kernel.bandwidth)
    W = rng.normal(size=(X.shape[1], 6000)) * np.sqrt(2.0) / width
    shift = rng.uniform(0.0, 2.0 * np.pi, 6000)
    yield "6,000 random cosines", lambda Z: np.cos(Z @ W + shift)
    some = rng.choice(len(X), 10_000, replace=False)
    for number in (1000, 2000):
        start = cluster_means({"given": X}, {"given": relevance}, number, 0).views["given"]
        C = moved(start.astype(float), X[some], values[some], width, 50)
        yield (
            f"{number:,} moved means",
            lambda Z, C=C: np.exp(-cdist(Z, C, "sqeuclidean") / width**2),
        )


def narrow(given: argparse.Namespace) -> Iterator[list[str]]:
    """Growth of the error by thousands of centers of other kinds."""
    yield ["table", "features", "growth"]
    for name in given.tables:
        model, parts = fitted(name, "two-stage", given.rows)
        expansion, encoder = model[-1].kernel_expansion(), model[:-1]
        others, training = (
            np.asarray(encoder.transform(X), dtype=float) for X in (parts.X_small, parts.X)
        )
        X, new = np.concatenate([training, others]), encoder.transform(parts.X_test)
        part = KernelPart.of(expansion, {"given": X})
        (_, kernel), values = part.kernels[0], expansion.of_views({"given": X})[:, 0]
        kernel = unscaled(kernel)
        level, before = values.mean(), losses(model, parts)
        ways = narrow_features(kernel, X, others, values - level, part.relevance["given"])
        for way, features in ways:
            found = features(np.asarray(new, dtype=float)) @ solved(features(X), values - level)
            after = (found + level - parts.y_test) ** 2
            yield [name, way, with_error(*growth(before, after, 0.5))]


def unscaled(kernel: Any) -> Any:
    """The kernel of a sum of one."""
    parts = getattr(kernel, "kernels", [kernel])
    return parts[0] if len(parts) == 1 else kernel


WHAT = {"figures": figures, "stated": stated, "centers": centers, "narrow": narrow}


def main() -> None:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="+", choices=list(WHAT))
    large = ",".join(name for name, n_rows in TABLES.items() if n_rows > LEAST_ROWS)
    for option, default in (("tables", large), ("methods", ",".join(METHODS))):
        parser.add_argument(
            f"--{option}", type=lambda text: text.split(","), default=default.split(",")
        )
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--centers", type=int, default=500)
    parser.add_argument("--components", choices=["auto", "all"], default="auto")
    parser.add_argument("--tol", type=float, default=0.01)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for what in given.what:
            head, *rows = WHAT[what](given)
            print_table(f"{what}, {given.rows:,} rows", head, rows)


if __name__ == "__main__":
    main()
