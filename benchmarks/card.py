"""Fits on a graphics card and on the processor: times, errors, and the difference of predictions.

    python benchmarks/card.py [same] [small] [large] [--output FILE]

`same` fits one given kernel at one penalty on both, and prints how far predictions and left-out
predictions differ. `small` and `large` fit default estimators to 1,000, 3,000 and 10,000 rows on
both, and to 36,000 and 100,000 rows on the card. Everything is to take less than five minutes. The
script ends with status 1 if predictions with the same kernel and penalty differ, or if errors on
the card are higher by more than a tenth. Records are written to benchmarks/machines.jsonl, in place
of those of the same card; machines_page.py writes docs/machines.md from them.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from common import Array, Record, command_line, print_table, read_records, write_records
from machines_page import RECORDS, write_page

import mercer
from mercer.kernels import Gaussian

NEW_ROWS = 4000
SAME = 1e-2
"""Predictions differ by less than this part of the deviation of the response, because fits to all
pairs end at a tolerance of 1e-3."""

DEFAULTS: dict[str, list[tuple[str, int, int, bool]]] = {
    "small": [
        ("KernelStackingRegressor()", 1_000, 8, True),
        ("KernelStackingRegressor()", 3_000, 8, True),
        ("TwoStageRegressor()", 10_000, 8, True),
        ("KernelStackingRegressor()", 10_000, 8, True),
    ],
    "large": [
        ("KernelStackingRegressor()", 36_000, 8, False),
        ("TwoStageRegressor()", 100_000, 20, False),
    ],
}
"""Fits by name: calls, numbers of rows and of features, and whether the processor fits them."""

GIVEN = "mercer.UniformCombination([Gaussian(3.0)])"
FIXED = [
    (f"TwoStageRegressor({GIVEN}, alpha=1e-3)", 3_000),
    (f"TwoStageRegressor({GIVEN}, alpha=1e-3, approximation='nystroem')", 10_000),
    ("KernelStackingRegressor([Gaussian(3.0)])", 2_500),
    ("KernelPoissonRegressor(kernels=[Gaussian(3.0)], alpha=0.1)", 2_000),
]
"""Fits with one kernel, and their numbers of rows."""


def smooth(n_rows: int, n_features: int, seed: int = 0) -> tuple[Array, Array]:
    """Return features, and a smooth function of eight with noise of 3 % of its deviation."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    angles = X[:, :8] @ np.random.default_rng(1).normal(size=(8, 6)) / np.sqrt(8.0)
    signal = np.sin(2.0 * angles).sum(axis=1)
    y = signal / signal.std() + 0.03 * rng.normal(size=n_rows)
    return X, y


def fitted(call: str, device: str, X: Array, y: Array) -> tuple[Any, float]:
    """Return the fit of an estimator on a device, and its wall-clock seconds."""
    names = {name: getattr(mercer, name) for name in mercer.__all__}
    model = eval(call, {"Gaussian": Gaussian, "mercer": mercer, **names})
    start = time.perf_counter()
    model.set_params(device=device).fit(X, y)
    return model, time.perf_counter() - start


def compared(call: str, n_rows: int, n_features: int, on_processor: bool) -> Record:
    """Return the times and errors of a fit on the card and, if asked for, on the processor."""
    X, y = smooth(n_rows + NEW_ROWS, n_features)
    if "Poisson" in call:
        y = np.random.default_rng(2).poisson(np.exp(np.clip(y, -3.0, 2.0))).astype(float)
    train, new = slice(0, n_rows), slice(n_rows, None)
    record: Record = {"name": call, "rows": n_rows, "processor": None, "processor_error": None}
    record["difference"] = None
    predicted, left_out = [], []
    for place, device in [("card", "cuda"), ("processor", "cpu")][: 1 + on_processor]:
        model, spent = fitted(call, device, X[train], y[train])
        predicted.append(model.predict(X[new]))
        errors = predicted[-1] - y[new]
        record[place] = round(spent, 3)
        record[f"{place}_error"] = round(float(np.sqrt(np.mean(errors**2)) / y.std()), 5)
        known = getattr(model, "loo_predictions_", None)
        left_out.append(np.zeros(1) if known is None else known)
    if on_processor:
        both = [float(np.std(a - b)) for a, b in (predicted, left_out)]
        record["difference"] = round(max(both) / y.std(), 6)
    return record


def main() -> None:
    """Print times and errors, and end with status 1 if the card's results are worse."""

    def add_options(parser: Any) -> None:
        parser.add_argument("--output", type=Path, default=RECORDS)

    names, options = command_line(__doc__ or "", ("same", *DEFAULTS), add_options)
    warnings.simplefilter("ignore", UserWarning)
    import torch

    card = torch.cuda.get_device_name()
    _, total = torch.cuda.mem_get_info()
    fitted("TwoStageRegressor()", "cuda", *smooth(1500, 8))  # Starts the card's libraries.
    about = {"what": "card", "machine": f"{card}, {total / 2**30:.0f} GiB"}
    about["torch"] = torch.__version__
    found, failures = list[Record](), list[str]()
    for name in names:
        calls = DEFAULTS.get(name) or [(call, n_rows, 8, True) for call, n_rows in FIXED]
        for call in calls:
            found.append(about | compared(*call))
            record = found[-1]
            if name == "same":
                bad = record["difference"] > SAME
            else:
                record["difference"] = None
                bad = record["card_error"] > 1.1 * (record["processor_error"] or np.inf)
            failures += [record["name"]] if bad else []
            cells = [record[key] for key in ("card", "processor", "card_error", "processor_error")]
            cells.append(record["difference"])
            texts = ["" if cell is None else f"{cell:.4g}" for cell in cells]
            title = f"{record['name']}, {record['rows']:,} rows"
            heads = ["card, s", "processor, s", "error, card", "error, processor", "difference"]
            print_table(title, heads, [texts])
    others = [r for r in read_records(options.output) if r["machine"] != about["machine"]]
    write_records(options.output, [*others, *found])
    if options.output == RECORDS:
        write_page()
    for failed in failures:
        print(f"worse on the card: {failed}")
    sys.exit(int(bool(failures)))


if __name__ == "__main__":
    main()
