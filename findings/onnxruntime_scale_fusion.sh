#!/usr/bin/env bash
# Guess: a graph whose tensors are all double is computed in double precision by onnxruntime, with
# graph optimizations (the default) and without, up to rounding of about 1e-15.
# Seen: onnxruntime 1.26.0 to 1.31.1 fold a single number that multiplies the input or the output of
# MatMul into the product, and round this number to single precision: the relative error is 4.0e-8
# for a factor of .3, and the output is still declared and delivered as double. Without
# optimizations it is 3e-16. 1.25.1 and 1.32.0 are exact. A factor on the constant matrix is exact in
# every version.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/check.py" <<'PYTHON'
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

print("onnxruntime", ort.__version__, "onnx", onnx.__version__)
rng = np.random.default_rng(0)
table, matrix, factor = rng.normal(size=(200, 50)), rng.normal(size=(50, 1)), 0.3
GRAPHS = {
    "after the product": [("MatMul", ["x", "m"]), ("Mul", ["t", "c"])],
    "on the input": [("Mul", ["x", "c"]), ("MatMul", ["t", "m"])],
    "on the constant matrix": [("Mul", ["m", "c"]), ("MatMul", ["x", "t"])],
}
LEVELS = ort.GraphOptimizationLevel


def error(operations, level):
    (first, inputs), (second, rest) = operations
    nodes = [helper.make_node(first, inputs, ["t"]), helper.make_node(second, rest, ["y"])]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.DOUBLE, ["n", 50])],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, ["n", 1])],
        [numpy_helper.from_array(matrix, "m"), numpy_helper.from_array(np.array(factor), "c")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    (found,) = session.run(None, {"x": table})
    assert found.dtype == np.float64
    exact = factor * (table @ matrix)
    return float(np.abs(found - exact).max() / np.abs(exact).max())


rounds = sys.argv[1] == "rounds"
holds = True
for place, operations in GRAPHS.items():
    optimized = error(operations, LEVELS.ORT_ENABLE_ALL)
    plain = error(operations, LEVELS.ORT_DISABLE_ALL)
    print(f"  factor {place:24} optimized {optimized:.1e}   not optimized {plain:.1e}")
    expected_to_round = rounds and place != "on the constant matrix"
    holds &= (optimized > 1e-9) == expected_to_round and plain < 1e-13
assert holds, "the finding no longer holds"
PYTHON
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q onnx==1.23.2 numpy==2.4.6 || exit 2
for case in 1.25.1:exact 1.26.0:rounds 1.31.1:rounds 1.32.0:exact; do
  "$work/venv/bin/pip" install -q "onnxruntime==${case%:*}" || exit 2
  "$work/venv/bin/python" "$work/check.py" "${case#*:}"
done
