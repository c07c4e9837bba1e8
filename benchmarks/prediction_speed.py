"""Rows a second that fitted models predict: one row a call, and 100,000 rows in a call.

    python benchmarks/prediction_speed.py
    python benchmarks/prediction_speed.py --rows 600 --many 20000 --only stack

Friedman's function of ten columns with noise, as responses and as two classes; `--rows` training
rows (2,000). One thread, and processor time: of one row the median over calls after the first, of
many rows one call. "loaded" is the first prediction of one row after a model was loaded from disk.
Compressed models have at most 200 centers; the last column is the time of ONNX Runtime for the same
row, where it is installed. LightGBM is left out where it is not.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import mercer
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

N_CENTERS = 200
N_CALLS = 200


def library_models(n_rows: int) -> dict[str, Any]:
    """Unfitted estimators of mercer, by name."""
    nystroem = TwoStageRegressor(approximation="nystroem", n_components=min(n_rows // 2, 1000))
    found: dict[str, Any] = {
        "KernelStackingRegressor": KernelStackingRegressor(),
        "KernelStackingClassifier": KernelStackingClassifier(),
        "TwoStageRegressor": TwoStageRegressor(),
        "TwoStageRegressor, Nyström": nystroem,
        "TwoStageClassifier": TwoStageClassifier(),
        "MKLRegressor": MKLRegressor(),
        "MKLClassifier": MKLClassifier(),
        "BayesianMKLRegressor": BayesianMKLRegressor(tol=1e-2),
    }
    return found


def other_models() -> dict[str, Any]:
    """Estimators of other libraries, by name."""
    found: dict[str, Any] = {
        "SVC": SVC(C=10.0),
        "KernelRidge": KernelRidge(kernel="rbf", alpha=0.1, gamma=1.0),
        "GaussianProcessRegressor": GaussianProcessRegressor(RBF() + WhiteKernel()),
    }
    if find_spec("lightgbm"):
        found["LGBMRegressor"] = import_module("lightgbm").LGBMRegressor(n_jobs=1, verbose=-1)
    return found


def milliseconds(call: Callable[[], Any], n_calls: int = N_CALLS) -> float:
    """Median processor time of a call, after a first one."""
    call()
    times = []
    for _ in range(n_calls):
        start = time.process_time_ns()
        call()
        times.append(time.process_time_ns() - start)
    return float(np.median(times)) / 1e6


def loaded(model: Any, row: Any) -> float:
    """Milliseconds of the first prediction after the model was loaded."""
    with tempfile.TemporaryDirectory() as folder:
        mercer.save(model, Path(folder, "model.skops"))
        fresh = mercer.load(Path(folder, "model.skops"))
    start = time.process_time_ns()
    fresh.predict(row)
    return (time.process_time_ns() - start) / 1e6


def in_runtime(model: Any, X: Any) -> float:
    """Milliseconds for one row in ONNX Runtime, NaN where it is not installed."""
    if not (find_spec("onnxruntime") and find_spec("onnx")):
        return float("nan")
    runtime, graph = import_module("onnxruntime"), to_onnx(model, X)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(graph.SerializeToString(), options)
    row = onnx_inputs(graph, X[:1])
    return milliseconds(lambda: session.run(None, row))


def is_safe_in_threads(model: Any, X: Any) -> bool:
    """Whether eight threads predict what one does, from a model that none has used before."""
    expected = model.predict(X)
    with tempfile.TemporaryDirectory() as folder:
        mercer.save(model, Path(folder, "model.skops"))
        fresh = mercer.load(Path(folder, "model.skops"))
    found: list[bool] = []

    def predict() -> None:
        found.extend(np.array_equal(fresh.predict(X), expected) for _ in range(5))

    threads = [threading.Thread(target=predict) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(found) == 40 and all(found)


def fitted_models(n_rows: int, only: str) -> Iterator[tuple[str, Any, bool]]:
    """Names, fitted models, and whether they are of mercer."""
    X, y = make_friedman1(n_rows, noise=1.0, random_state=0)
    others, _ = make_friedman1(4 * n_rows, random_state=2)
    for name, model in library_models(n_rows).items():
        if only.lower() in name.lower():
            model.fit(X, y > np.median(y) if "Classifier" in name else y)
            yield name, model, True
            yield f"{name}, compressed", compress(model, others, n_components=N_CENTERS), True
    for name, model in other_models().items():
        if only.lower() in name.lower():
            yield name, model.fit(X, y > np.median(y) if name == "SVC" else y), False


def main() -> None:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--many", type=int, default=100_000)
    parser.add_argument("--only", default="", help="part of the names of models")
    given = parser.parse_args()
    X, _ = make_friedman1(max(given.many, 300), random_state=1)
    warnings.simplefilter("ignore")
    print(f"{'':42}{'rows/s, one':>12}{'rows/s, many':>14}{'ms, one':>9}{'loaded':>8}{'ONNX':>7}")
    with threadpool_limits(1):
        for name, model, is_own in fitted_models(given.rows, given.only):
            one = milliseconds(lambda model=model: model.predict(X[:1]))
            start = time.process_time()
            model.predict(X[: given.many])
            many = given.many / (time.process_time() - start)
            line = f"{name:42}{1000.0 / one:12,.0f}{many:14,.0f}{one:9.3f}"
            if is_own:
                assert is_safe_in_threads(model, X[:20]), name
                try:
                    runtime = f"{in_runtime(model, X[:300]):7.3f}"
                except TypeError:
                    runtime = "      -"
                line += f"{loaded(model, X[:1]):8.2f}{runtime}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
