"""Fits a model, compresses it, and writes what the page reads: `model.onnx` and `model.json`.

    pip install "mercer[onnx,tables]"
    python examples/browser/make_model.py

The table is scikit-learn's diabetes. Two thirds of its rows are for the fit, and the others for the
compression and for the coverage that is printed. To make a page of another table, change `table`,
`PAGE` and `LABELS`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from mercer import TwoStageRegressor, compress, to_onnx

FOLDER = Path(__file__).parent
COVERAGES = (0.5, 0.8, 0.9, 0.95)
N_BINS = 24

PAGE = {
    "title": "Progression of diabetes",
    "about": "A measure of how far the disease progresses in a year, from ten measurements.",
    "form": "A patient",
    "warning": "It shows how a model runs in a browser. It is no medical advice.",
}
LABELS = {
    "age": ("Age", "years"),
    "sex": ("Sex", "as coded in the data set"),
    "bmi": ("Body mass index", "kg/m²"),
    "bp": ("Blood pressure", "mean, mmHg"),
    "s1": ("Total cholesterol", "mg/dl"),
    "s2": ("LDL cholesterol", "mg/dl"),
    "s3": ("HDL cholesterol", "mg/dl"),
    "s4": ("Cholesterol ratio", "total / HDL"),
    "s5": ("Triglycerides", "logarithm"),
    "s6": ("Blood sugar", "mg/dl"),
}
"""The label of each column, and its unit."""


def table() -> tuple[pd.DataFrame, np.ndarray]:
    """The columns in their own units, with a category as text, and the responses."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return X.assign(sex=np.where(X["sex"] == 1.0, "code 1", "code 2")), y.to_numpy(float)


def column(name: str, cells: pd.Series) -> dict[str, Any]:
    """What the page shows of a column: its label, and its range or its categories."""
    label, unit = LABELS[name]
    told: dict[str, Any] = {"name": name, "label": label, "unit": unit}
    if cells.dtype.kind != "f":
        counts = cells.value_counts()
        return told | {"values": sorted(counts.index), "typical": counts.index[0]}
    steps = [step for step in (1.0, 0.1, 0.01) if np.allclose(cells / step, np.round(cells / step))]
    ends = {"low": cells.min(), "typical": cells.median(), "high": cells.max()}
    return told | {"step": steps[0] if steps else 0.01} | ends


def make() -> tuple[Any, dict[str, Any], Any, Any]:
    """Fit, compress and describe the model.

    Returns
    -------
    graph : onnx.ModelProto
    description : dict
        What the page reads beside the graph. `half_widths` has half the width of the intervals of
        the fitted model by their coverage, as text. The graph has predictions alone, because
        these widths do not depend on the row.
    small : estimator
        The compressed model.
    others : DataFrame
        Rows that were not fitted.
    """
    X, y = table()
    fitted, others, responses, left = train_test_split(X, y, test_size=1 / 3, random_state=0)
    model = TwoStageRegressor().fit(fitted, responses)
    small = compress(model, others)
    half_widths = {}
    for coverage in COVERAGES:
        low, high = model.predict_interval(others[:1], coverage, scale=None)[0]
        half_widths[str(coverage)] = (high - low) / 2.0
        inside = np.mean(np.abs(small.predict(others) - left) <= half_widths[str(coverage)])
        print(f"Intervals of a coverage of {coverage:.0%} contain {inside:.0%} of other responses.")
    counts, edges = np.histogram(responses, N_BINS)
    description = PAGE | {
        "columns": [column(name, fitted[name]) for name in X],
        "half_widths": half_widths,
        "rows": len(fitted),
        "centers": len(small[-1].rows_per_center_),
        "responses": {"counts": counts.tolist(), "edges": edges.tolist()},
    }
    return to_onnx(small, others), description, small, others


def main() -> None:
    """Write the two files beside the page, or into the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER)
    out = parser.parse_args().out
    graph, description, _, _ = make()
    (out / "model.onnx").write_bytes(graph.SerializeToString())
    (out / "model.json").write_text(json.dumps(description, indent=1), encoding="utf-8")
    print(f"{out / 'model.onnx'} has {(out / 'model.onnx').stat().st_size:,} bytes.")


if __name__ == "__main__":
    main()
