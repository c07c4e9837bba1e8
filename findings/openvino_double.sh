#!/usr/bin/env bash
# Guess: a model whose input, constants and output are all double is computed in double precision,
# because the compiled model declares double for its output.
# Seen, OpenVINO 2026.4.1 on a CPU: the compiled model declares and delivers double, and computes in
# single precision, or in bfloat16 where the processor has it: the relative error of a product with
# 50 rows is 4e-3 (bfloat16), 2e-7 with INFERENCE_PRECISION_HINT="f32" or with
# EXECUTION_MODE_HINT="ACCURACY"; "f64" is not offered. 16777216.0 + 1.0 is 16777216.0.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q openvino==2026.4.1 numpy==2.4.6 || exit 2
"$work/venv/bin/python" - <<'PYTHON'
import numpy as np
import openvino as ov
from openvino import opset13 as ops

print("OpenVINO", ov.__version__, "numpy", np.__version__)
rng = np.random.default_rng(0)
table, matrix = rng.normal(size=(200, 50)), rng.normal(size=(50, 1))


def compiled(node, given, settings):
    return ov.compile_model(ov.Model([node], [given], "model"), "CPU", settings)


holds = True
for settings in ({}, {"INFERENCE_PRECISION_HINT": "f32"}, {"EXECUTION_MODE_HINT": "ACCURACY"}):
    given = ops.parameter([-1, 50], np.float64)
    model = compiled(ops.matmul(given, ops.constant(matrix), False, False), given, settings)
    found = model(table)[model.output(0)]
    exact = table @ matrix
    error = float(np.abs(found - exact).max() / np.abs(exact).max())
    declared = model.output(0).element_type.to_string()
    print(f"  {settings or 'default'}: declares {declared}, delivers {found.dtype}, {error:.1e}")
    holds &= found.dtype == np.float64 and model.output(0).element_type == ov.Type.f64
    holds &= error > 1e-9
given = ops.parameter([-1], np.float64)
total = ops.add(given, ops.constant(np.array([1.0])))
try:
    compiled(total, given, {"INFERENCE_PRECISION_HINT": "f64"})
except RuntimeError:
    print("  f64 is refused")
else:
    holds = False
model = compiled(total, given, {"INFERENCE_PRECISION_HINT": "f32"})
found = float(model(np.array([16777216.0]))[model.output(0)][0])
print(f"  16777216.0 + 1.0 = {found}")
holds &= found == 16777216.0
assert holds, "the finding no longer holds"
PYTHON
