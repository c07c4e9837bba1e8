"""Exported models in the runtimes of ONNX: agreement with `predict`, times, and what is refused.

    pip install -e ".[onnx]" onnxruntime openvino tract
    cd examples/browser && npm install --no-save --ignore-scripts onnxruntime-web onnxruntime-node
    python benchmarks/runtimes.py measure [--packages FOLDER] [--output some.jsonl]
    python benchmarks/runtimes.py page

The first two install the runtimes, all of which are optional; without `--ignore-scripts`,
onnxruntime-node also downloads what a graphics card needs. `measure` writes runtimes.jsonl anew, in
two minutes on an idle machine, and names the runtimes that are absent there and on the terminal.
`page` writes docs/runtimes.md, and the table in docs/guide/production.md. `--packages` names the
folder node_modules into which npm installed. `runtimes.mjs` runs the packages for Node. Times are
medians of the processor time of calls on one thread, in turn with `predict` where the runtime is
one of Python.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from common import Array, Record, read_records, write_records
from machines_page import machine_name
from runtimes_page import page, summary
from sklearn.datasets import make_friedman1
from threadpoolctl import threadpool_limits

from mercer import (
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageRegressor,
    compress,
    to_onnx,
)

ROOT = Path(__file__).parents[1]
RECORDS = Path(__file__).with_suffix(".jsonl")
PAGE = ROOT / "docs" / "runtimes.md"
GUIDE = ROOT / "docs" / "guide" / "production.md"
PACKAGES = ROOT / "examples" / "browser" / "node_modules"
SUMMARY = re.compile(r"^\| runtime \|.*\n(\|.*\n)+", flags=re.MULTILINE)
"""The table that the guide quotes."""

N_ROWS = 1000
"""The number of rows of a fit, and of rows to predict."""
CALLS, ROUNDS = (50, 2), 7
"""Calls in a round, for one row and for all rows, and rounds."""

Inputs = Mapping[str, Array]
Run = Callable[[Inputs], Array]


@dataclass(frozen=True)
class Exported:
    """A fitted model, and rows to predict in the form that it takes."""

    model: Any
    rows: Any

    @property
    def predict(self) -> Callable[[Any], Array]:
        """Probabilities of classes, or responses."""
        found: Callable[[Any], Array] = getattr(self.model, "predict_proba", self.model.predict)
        return found

    @property
    def output(self) -> str:
        """The name of the graph's output that `predict` returns."""
        return "probabilities" if hasattr(self.model, "predict_proba") else "variable"

    @cached_property
    def graph(self) -> Any:
        """The exported model."""
        return to_onnx(self.model, self.rows)

    def inputs(self) -> dict[str, Array]:
        """Cells of each input: missing numbers are NaN, and missing texts are empty."""
        if not isinstance(self.rows, pd.DataFrame):
            return {"X": self.rows}
        found = {}
        for one in self.graph.graph.input:
            cells = self.rows[[one.name]]
            numeric = cells.dtypes.iloc[0].kind == "f"
            found[one.name] = (
                cells.to_numpy(float) if numeric else cells.fillna("").to_numpy(object)
            )
        return found


def models() -> dict[str, Exported]:
    """Fitted models of a thousand rows: arrays, a data frame, and texts."""
    X, y = make_friedman1(3 * N_ROWS, n_features=10, noise=1.0, random_state=0)
    fitted, others, new = (slice(start, start + N_ROWS) for start in N_ROWS * np.arange(3))
    table = pd.DataFrame(X[:, :4], columns=["width", "height", "depth", "weight"])
    table.loc[::9, "depth"] = np.nan
    table["town"] = np.select([X[:, 4] < 0.2, X[:, 4] < 0.6], ["Bern", "Chur"], "Thun")
    table.loc[::7, "town"] = None
    words = np.random.default_rng(0).choice(["good", "bad", "old", "new", "odd"], (len(y), 4))
    told = [f"{' '.join(some)} {row}" for row, some in enumerate(words)]
    stack = KernelStackingRegressor().fit(X[fitted], y[fitted])
    found = {
        "TwoStageRegressor": Exported(TwoStageRegressor().fit(X[fitted], y[fitted]), X[new]),
        "KernelStackingClassifier": Exported(
            KernelStackingClassifier().fit(X[fitted], y[fitted] > np.median(y)), X[new]
        ),
        "KernelStackingRegressor, compressed": Exported(compress(stack, X[others]), X[new]),
    }
    tables = {"categories": table, "texts": table.assign(said=told)}
    for name, frame in tables.items():
        model = KernelStackingRegressor().fit(frame[fitted], y[fitted])
        found[f"KernelStackingRegressor, data frame with {name}"] = Exported(model, frame[new])
    return found


def by_onnxruntime(path: str, output: str) -> Run:
    """The function of a graph in onnxruntime, on one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run([output], inputs)[0]


def by_reference(path: str, output: str) -> Run:
    """The function of a graph in the reference implementation of ONNX, which is NumPy."""
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(path)
    return lambda inputs: evaluator.run([output], inputs)[0]


def by_openvino(path: str, output: str, *, mode: str) -> Run:
    """The function of a graph in OpenVINO, on one thread."""
    import openvino

    settings = {"INFERENCE_NUM_THREADS": 1, "EXECUTION_MODE_HINT": mode}
    compiled = openvino.compile_model(path, "CPU", settings)
    return lambda inputs: compiled(dict(inputs))[output]


def by_tract(path: str, output: str) -> Run:
    """The function of a graph in tract, which has to be told the types of numbers."""
    import onnx
    import tract

    model = tract.onnx().load(path)
    names = [model.input_name(number) for number in range(model.input_count())]
    outputs = [model.output_name(number) for number in range(model.output_count())]
    for one in onnx.load(path).graph.input:
        if one.type.tensor_type.elem_type == onnx.TensorProto.DOUBLE:
            width = one.type.tensor_type.shape.dim[1].dim_value
            model.set_input_fact(names.index(one.name), f"rows,{width},f64")
    runnable = model.into_model().into_runnable()

    def run(inputs: Inputs) -> Array:
        return runnable.run([inputs[name] for name in names])[outputs.index(output)].to_numpy()

    return run


RUNTIMES: dict[str, tuple[str, Callable[[str, str], Run]]] = {
    "onnxruntime": ("onnxruntime", by_onnxruntime),
    "onnx.reference": ("onnx", by_reference),
    "OpenVINO": ("openvino", partial(by_openvino, mode="PERFORMANCE")),
    "OpenVINO (ACCURACY)": ("openvino", partial(by_openvino, mode="ACCURACY")),
    "tract": ("tract", by_tract),
}
"""Runtimes of Python: the package, and the function that loads a graph."""
NODE = {"onnxruntime-node": "onnxruntime-node", "onnxruntime-web (WASM)": "onnxruntime-web"}
"""Runtimes of Node, and their packages."""


def milliseconds(calls: Mapping[str, Callable[[], object]], number: int) -> dict[str, float]:
    """Medians of the processor times of calls, which are made in turn."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS + 1):
        for name, call in calls.items():
            start = time.process_time()
            for _ in range(number):
                call()
            times[name].append(1e3 * (time.process_time() - start) / number)
    # The first round compiles and allocates.
    return {name: float(np.median(found[1:])) for name, found in times.items()}


def reason(error: object) -> str:
    """What an error says in its last line, without the stack of the runtime."""
    lines = str(error).split("Stack backtrace")[0].splitlines()
    told = [line.strip(" -") for line in lines if line.strip(" -")]
    return re.sub(r"^\d+: ", "", told[-1])


def in_python(one: Exported, path: str, make: Callable[[str, str], Run]) -> Record:
    """What a runtime of Python finds, or why it refuses, with the times of `predict`."""
    inputs = one.inputs()
    try:
        run = make(path, one.output)
        found = np.asarray(run(inputs), float)
    # Errors of runtimes have no class in common.
    except Exception as error:
        return {"refused": reason(error)}
    record: Record = {"found": found}
    first = {name: cells[:1] for name, cells in inputs.items()}
    for name, rows, given, number in (
        ("row", one.rows[:1], first, CALLS[0]),
        ("rows", one.rows, inputs, CALLS[1]),
    ):
        calls = {"predict": partial(one.predict, rows), "runtime": partial(run, given)}
        times = milliseconds(calls, number)
        record |= {name: times["runtime"], f"predict_{name}": times["predict"]}
    return record


def in_node(one: Exported, path: str, package: str, packages: Path) -> Record:
    """What a runtime of Node finds, or why it refuses."""
    columns = {}
    for name, cells in one.inputs().items():
        text = cells.dtype == object
        plain = cells if text else np.where(np.isnan(cells), None, cells)
        columns[name] = {"type": "string" if text else "float64", "cells": plain.tolist()}
    given = {"columns": columns, "output": one.output, "calls": CALLS, "rounds": ROUNDS}
    inputs = Path(path).with_suffix(".json")
    inputs.write_text(json.dumps(given))
    script = Path(__file__).with_suffix(".mjs")
    command = ["node", script, packages, package, path, inputs]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    record: Record = json.loads(done.stdout)
    return record if "found" in record else record | {"refused": reason(record["refused"])}


def versions(packages: Path) -> dict[str, str]:
    """Versions of the runtimes that are installed."""
    found = {name: version(one) for name, (one, _) in RUNTIMES.items() if find_spec(one)}
    for name, package in NODE.items():
        told = packages / package / "package.json"
        if shutil.which("node") and told.exists():
            found[name] = json.loads(told.read_text())["version"]
    return found


def measured(name: str, one: Exported, runtime: str, packages: Path) -> Record:
    """The record of a model in a runtime."""
    record: Record = {"model": name, "runtime": runtime}
    try:
        content = one.graph.SerializeToString()
    except TypeError as error:
        return record | {"not_exported": str(error)}
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.onnx")
        Path(path).write_bytes(content)
        if runtime in NODE:
            found = in_node(one, path, NODE[runtime], packages)
        else:
            found = in_python(one, path, RUNTIMES[runtime][1])
    record["bytes"] = len(content)
    if "refused" in found:
        return record | {"refused": found["refused"]}
    expected = one.predict(one.rows)
    difference = np.abs(np.reshape(found.pop("found"), expected.shape) - expected).max()
    record["difference"] = float(f"{difference / expected.std():.1e}")
    times = {key: round(value, 5) for key, value in found.items() if key != "version"}
    return record | times


def measure(given: argparse.Namespace) -> None:
    """Write the records of all models in all runtimes that are installed."""
    installed = versions(given.packages)
    records: list[Record] = [{"machine": machine_name(), "rows": N_ROWS}]
    for runtime in (*RUNTIMES, *NODE):
        told = {"runtime": runtime, "version": installed.get(runtime)}
        records.append(told)
        print(told, flush=True)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for name, one in models().items():
            for runtime in installed:
                records.append(measured(name, one, runtime, given.packages))
                print(records[-1], flush=True)
    write_records(given.output, records)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["measure", "page"])
    parser.add_argument("--packages", type=Path, default=PACKAGES)
    parser.add_argument("--output", type=Path, default=RECORDS)
    given = parser.parse_args()
    if given.what == "measure":
        measure(given)
    else:
        records = read_records(given.output)
        PAGE.write_text(page(records))
        GUIDE.write_text(SUMMARY.sub(lambda _: summary(records) + "\n", GUIDE.read_text()))


if __name__ == "__main__":
    main()
