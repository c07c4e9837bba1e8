#!/usr/bin/env bash
# Guess: a dimension without a name is dynamic, as one with a name is.
# Seen, tract 0.23.9: a graph runs with any number of rows if this dimension has a name, and is refused
# if it has none, as in graphs of skl2onnx.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q tract==0.23.9 onnx==1.23.2 numpy==2.4.6 || exit 2
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnx
import tract
from onnx import TensorProto, helper

print("tract", tract.version(), "onnx", onnx.__version__)
holds = True
for rows in ("rows", None):
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, 2]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "g", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "g.onnx")
    try:
        runnable = tract.onnx().load("g.onnx").into_model().into_runnable()
        found = runnable.run([np.ones((3, 2), np.float32)])[0].to_numpy().shape
        holds &= rows == "rows" and found == (3, 2)
    except tract.TractError as error:
        found = str(error).split("Stack")[0].strip().splitlines()[-1].strip()
        holds &= rows is None
    print(f"  dimension {rows}: {found}")
assert holds, "the finding no longer holds"
PYTHON
