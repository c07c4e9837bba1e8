"""How far ONNX graphs are from the models, and updates from fits to all rows.

    MERCER_DATA=/path/to/sets python benchmarks/exactness.py onnx
    MERCER_DATA=/path/to/sets python benchmarks/exactness.py updates

`onnx` exports pipelines of `table_encoder` and an estimator, fitted to 1,000 rows, and their
compressions to 100 centers, and runs the graphs in ONNX Runtime on up to 2,000 other rows: the
largest difference from the pipeline's own predictions, of responses relative to their spread and
of classes in probabilities, for graphs in single and in double precision, and what
`dtype="auto"` takes.

`updates` fits half of up to 1,500 rows, adds the other half by `update` in three parts, and
compares predictions of other rows with a fit of the same kernels, penalties and weights to all rows
from scratch: the largest difference, relative to the spread of the response.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import onnxruntime
from common import print_table
from sklearn.base import is_classifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from threadpoolctl import threadpool_limits

from experiments.tabular.table_files import load_table
from mercer import (
    BayesianMKLRegressor,
    KernelStackingClassifier,
    KernelStackingRegressor,
    MKLClassifier,
    MKLRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    compress,
    to_onnx,
)
from mercer._deployment.onnx_export import onnx_inputs
from mercer.preprocessing import table_encoder

N_ROWS = 1000
MOST_OTHER_ROWS = 2000
MOST_UPDATED_ROWS = 1500
STACK: dict[str, Any] = {"stacking": KernelStackingRegressor()}
REGRESSORS: dict[str, Any] = {
    "stacking": KernelStackingRegressor(),
    "two-stage": TwoStageRegressor(),
    "two-stage, Nyström": TwoStageRegressor(approximation="nystroem", n_components=300),
    "one-stage": MKLRegressor(),
    "Bayesian, mean": BayesianMKLRegressor(tol=1e-2),
}
CLASSIFIERS: dict[str, Any] = {
    "stacking": KernelStackingClassifier(),
    "two-stage": TwoStageClassifier(),
    "one-stage": MKLClassifier(),
}
TABLES = {"airfoil": REGRESSORS, "abalone": REGRESSORS, "adult": CLASSIFIERS}


def in_runtime(model: Any, X: Any, new: Any, dtype: str) -> tuple[float, str]:
    """The largest difference, and the precision of the graph."""
    graph = to_onnx(model, X, dtype=dtype)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    found = session.run(None, onnx_inputs(graph, new))
    kind = "float32" if graph.graph.output[-1].type.tensor_type.elem_type == 1 else "float64"
    if is_classifier(model):
        return float(np.abs(found[1] - model.predict_proba(new)).max()), kind
    expected = model.predict(new)
    return float(np.abs(found[0].ravel() - expected).max() / expected.std()), kind


def onnx() -> Iterator[list[str]]:
    """Differences of graphs."""
    yield ["table, model", "float32", "float64", "auto", "auto takes"]
    for name, models in TABLES.items():
        table = load_table(name)
        X, new, y, _ = train_test_split(
            table.frame, table.target, train_size=N_ROWS, random_state=0, shuffle=True
        )
        new = new[:MOST_OTHER_ROWS]
        for title, estimator in models.items():
            model: Pipeline = make_pipeline(table_encoder(), estimator).fit(X, y)
            small = compress(model, new, n_components=100)
            for suffix, given in (("", model), (", compressed", small)):
                single, double = (
                    in_runtime(given, X, new, kind)[0] for kind in ("float32", "float64")
                )
                automatic, taken = in_runtime(given, X, new, "auto")
                figures = (f"{value:.1e}" for value in (single, double, automatic))
                yield [f"{name}, {title}{suffix}", *figures, taken]


def ridge(kernel: Any, X: Any, y: Any, alpha: float) -> Any:
    """Kernel ridge regression with an intercept, on a kernel of unit scale, by dense algebra."""
    gram, mean = kernel(X), y.mean()
    means = gram.mean(axis=0)
    centered = gram - means - means[:, None] + means.mean()
    scale = np.trace(centered) / len(y)
    dual = np.linalg.solve(centered / scale + alpha * np.eye(len(y)), y - mean) / scale
    return lambda new: (kernel(new, X) - means) @ (dual - dual.mean())


def from_scratch(model: Any, X: Any, y: Any) -> Any:
    """The fit of a model's kernels, penalties and weights to all rows, as a function of rows."""
    if isinstance(model, TwoStageRegressor):
        found = ridge(model.kernel_, X, y, model.alpha_)
        return lambda new: y.mean() + found(new)
    alphas = {found.kernel.describe(): found.alpha for found in model.candidates_ if found.weight}
    parts = []
    for member, weight in zip(model._members, model.weights_, strict=True):
        view = partial(model._views.transform, name=member.view)
        fitted = ridge(member.kernel, view(X), y, alphas[member.kernel.describe()])
        parts.append((weight, view, fitted))
    return lambda new: y.mean() + sum(weight * f(view(new)) for weight, view, f in parts)


def updates() -> Iterator[list[str]]:
    """Differences of updates from fits to all rows."""
    yield ["table, model", "rows", "difference", "without the update"]
    for name in ("airfoil", "abalone", "concrete"):
        table = load_table(name)
        X = np.asarray(table_encoder().fit_transform(table.frame), dtype=float)
        rows, new = train_test_split(np.arange(len(X)), test_size=0.2, random_state=0)
        rows, y = rows[:MOST_UPDATED_ROWS], table.target
        half = len(rows) // 2
        for title, model in {"two-stage": TwoStageRegressor(), **STACK}.items():
            model.fit(X[rows[:half]], y[rows[:half]])
            before = model.predict(X[new])
            for part in np.array_split(rows[half:], 3):
                model.update(X[part], y[part])
            expected, spread = from_scratch(model, X[rows], y[rows])(X[new]), y.std()
            found = (
                np.abs(each - expected).max() / spread for each in (model.predict(X[new]), before)
            )
            yield [f"{name}, {title}", str(len(rows)), *(f"{value:.1e}" for value in found)]


def main() -> None:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="+", choices=["onnx", "updates"])
    warnings.simplefilter("ignore")
    for what in parser.parse_args().what:
        with threadpool_limits(1):
            head, *rows = {"onnx": onnx, "updates": updates}[what]()
        print_table(what, head, rows)


if __name__ == "__main__":
    main()
