#!/usr/bin/env bash
# Guess: where skl2onnx converts a fitted transformer of scikit-learn without an error, the graph
# computes what the transformer computes, up to rounding, if all inputs are double or text.
# Seen, skl2onnx 1.20.0 with scikit-learn 1.9.1 and onnxruntime 1.32.0: three steps are converted to
# other functions, without a word. A ColumnTransformer that takes all columns of an array in another
# order leaves them in the order of the array. OneHotEncoder has no indicator for a missing value,
# neither for None nor for empty text in its place. Binarizer compares in single precision, so that
# a number that is its threshold in double precision may count as larger.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q skl2onnx==1.20.0 scikit-learn==1.9.1 onnxruntime==1.32.0 \
  onnx==1.23.2 numpy==2.4.6 || exit 2
"$work/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime
import skl2onnx
import sklearn
from skl2onnx.common.data_types import DoubleTensorType, StringTensorType
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import Binarizer, OneHotEncoder, StandardScaler

print("skl2onnx", skl2onnx.__version__, "scikit-learn", sklearn.__version__)


def in_graph(step, kind, table):
    inputs = [("X", kind([None, table.shape[1]]))]
    graph = skl2onnx.convert_sklearn(step, "step", inputs, target_opset=18)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    return session.run(None, {"X": table})[0]


numbers = np.random.default_rng(0).normal(size=(50, 3))
letters = np.array([["a"], ["b"], [None], ["a"]], dtype=object)
as_text = np.array([["a"], ["b"], [""], ["a"]], dtype=object)
other_order = make_column_transformer((StandardScaler(), [2, 0, 1])).fit(numbers)
same_order = make_column_transformer((StandardScaler(), [0, 1, 2])).fit(numbers)
one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(letters)
binarizer = Binarizer(threshold=numbers[0, 0]).fit(numbers)

found = in_graph(other_order, DoubleTensorType, numbers)
largest = np.abs(found - other_order.transform(numbers)).max()
same = np.abs(in_graph(same_order, DoubleTensorType, numbers) - same_order.transform(numbers)).max()
indicators = in_graph(one_hot, StringTensorType, as_text)[2]
ones = in_graph(binarizer, DoubleTensorType, numbers)[0, 0], binarizer.transform(numbers)[0, 0]
print(f"largest difference, columns in another order: {largest:.2f}, in their order: {same:.0e}")
print("indicators of a missing value:", indicators, "in place of", one_hot.transform(letters)[2])
print("Binarizer at its threshold:", ones[0], "in place of", ones[1])
holds = largest > 0.1 and same < 1e-12 and not indicators.any() and ones == (1.0, 0.0)
assert holds, "the finding no longer holds"
PYTHON
