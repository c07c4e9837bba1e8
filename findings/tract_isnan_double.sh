#!/usr/bin/env bash
# Guess: IsNaN of doubles gives booleans and runs wherever IsNaN of single precision does.
# Seen, tract 0.23.9: IsNaN of doubles has the type double, and does not run: Where refuses it, and
# alone it is "not defined". IsNaN of single precision runs. onnxruntime runs both.
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
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

print("tract", tract.version(), "onnx", onnx.__version__)
holds = True
for kind, number in ((TensorProto.FLOAT, np.float32), (TensorProto.DOUBLE, np.float64)):
    nodes = [
        helper.make_node("IsNaN", ["x"], ["missing"]),
        helper.make_node("Where", ["missing", "zero", "x"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "filled",
        [helper.make_tensor_value_info("x", kind, [3, 1])],
        [helper.make_tensor_value_info("y", kind, [3, 1])],
        [numpy_helper.from_array(np.zeros(1, number), "zero")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "filled.onnx")
    x = np.array([[1.0], [np.nan], [2.0]], number)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    try:
        (found,) = tract.onnx().load("filled.onnx").into_model().into_runnable().run([x])
        found = found.to_numpy().ravel().tolist()
        holds &= number == np.float32 and found == expected.ravel().tolist()
    except tract.TractError as error:
        found = str(error).split("Stack")[0].strip().splitlines()[-1].strip()
        holds &= number == np.float64 and "unify F64 with Bool" in found
    print(f"  {number.__name__}: expected {expected.ravel()}, tract {found}")
assert holds, "the finding no longer holds"
PYTHON
