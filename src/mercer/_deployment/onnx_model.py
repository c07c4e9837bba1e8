"""What fitted models predict, in ONNX."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from sklearn.base import is_classifier

from mercer._deployment.compressed import Compressed, function_of_table
from mercer._deployment.onnx_functions import closeness, function_values
from mercer._deployment.onnx_operators import Operators, Tensor
from mercer._deployment.onnx_steps import CONVERTERS, joined
from mercer._deployment.onnx_views import views_of_table
from mercer._expansion import THE_TABLE
from mercer._typing import Array

TABLE = "the table"
"""The end of the name of what the model reads, which no name of skl2onnx has: it has a space."""

Typed: TypeAlias = tuple[Tensor, Any]
"""A tensor and its type for skl2onnx."""


def schedule(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> list[Any]:
    """Tell skl2onnx what a model reads and predicts."""
    from skl2onnx.common.data_types import DoubleTensorType

    expansion = function_of_table(model, "has no operators in ONNX")
    operator = scope.declare_local_operator(type(model).__name__, model)
    operator.inputs.append(joined(scope, inputs))
    names = ["variable"]
    if is_classifier(model):
        has_probabilities = expansion.scale in ("log-odds", "logit")
        names = ["label", "probabilities" if has_probabilities else "scores"]
    for name in names:
        operator.outputs.append(scope.declare_local_variable(name, DoubleTensorType()))
    return list(operator.outputs)


def convert(scope: Any, operator: Any, container: Any) -> None:
    """Append the operators of a step or of the model."""
    step, tensors = operator.raw_operator, operator.input_full_names
    op = Operators(scope, container)
    if type(step) in CONVERTERS:
        found = [(CONVERTERS[type(step)](op, step, *tensors), operator.outputs[0].type)]
    else:
        container.add_node("Identity", tensors, TABLE)
        found = _outputs(op, step, TABLE)
    for variable, (tensor, kind) in zip(operator.outputs, found, strict=True):
        container.add_node("Identity", tensor, variable.full_name)
        variable.set_type(kind)


def _typed(tensor: Tensor, kind: str, *shape: int) -> Typed:
    """A tensor of rows and its type."""
    from skl2onnx.common import data_types

    return tensor, getattr(data_types, f"{kind}TensorType")([None, *shape])


def _outputs(op: Operators, model: Any, table: Tensor) -> list[Typed]:
    """What the model predicts, from its table."""
    expansion = function_of_table(model, "has no operators in ONNX")
    views = {THE_TABLE: table}
    if expansion.views_of is not None:
        views = views_of_table(op, expansion.views_of, table)
    values, near = function_values(op, expansion, views), None
    if expansion.fall_back is not None:
        near = closeness(op, expansion.fall_back, views)

    def fallen_back(values: Tensor) -> Tensor:
        if near is None or expansion.fall_back is None:
            return values
        level = expansion.fall_back.level
        return op("Add", op("Mul", near, op("Sub", values, level)), level)

    n_outputs = len(expansion.intercept)
    if expansion.scale == "log rate":
        values = op("Exp", op("Min", values, np.log(np.finfo(float).max) - 1.0))
    if not is_classifier(model):
        return [_typed(fallen_back(values), "Double", n_outputs)]
    if expansion.scale == "log-odds" and n_outputs == len(model.classes_):
        indicators = op.cast(op("Greater", values, 0.0), np.int64)
        found = op("Sigmoid", values)
        return [_typed(indicators, "Int64", n_outputs), _typed(found, "Double", n_outputs)]
    if expansion.scale in ("log-odds", "logit"):
        scores = values
        if n_outputs == 1:
            scores = op.joined([op("Mul", values, 0.0), values])
        probabilities = fallen_back(op("Softmax", scores, axis=1))
        code = op("ArgMax", probabilities, axis=1, keepdims=0)
        label = _label(op, code, model.classes_)
        return [label, _typed(probabilities, "Double", len(model.classes_))]
    if expansion.scale == "latent mean" and n_outputs > 1 and not isinstance(model, Compressed):
        raise TypeError(
            f"{type(model).__name__} of more than two classes compares probabilities, whose "
            "integrals have no operators in ONNX. mercer.compress makes a model of latent means."
        )
    code = op("ArgMax", values, axis=1, keepdims=0)
    if n_outputs == 1:
        code = op("Squeeze", op.cast(op("Greater", values, 0.0), np.int64), np.array([1]))
    return [_label(op, code, model.classes_), _typed(values, "Double", n_outputs)]


def _label(op: Operators, code: Tensor, classes: Array) -> Typed:
    """The label of a class, given its position."""
    kind = {"i": "Int64", "u": "Int64", "b": "Int64", "f": "Double"}.get(
        classes.dtype.kind, "String"
    )
    if kind == "String":
        labels = np.array([str(label) for label in classes], object)
    else:
        labels = classes.astype(np.int64 if kind == "Int64" else float)
    return _typed(op("Gather", labels, code), kind)
