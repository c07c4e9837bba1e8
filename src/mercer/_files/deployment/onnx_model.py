"""ONNX operators of the predictions of fitted models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from scipy.special import ndtri
from sklearn.base import BaseEstimator, is_classifier

from mercer._data.types import Array
from mercer._data.validation import LARGEST_LOGARITHM
from mercer._estimators.generalized.kernel_logistic_regression import KernelLogisticRegression
from mercer._estimators.stacking.table_views import TableViews
from mercer._files.deployment.compressed import Compressed, function_of_table
from mercer._files.deployment.onnx_functions import closeness, function_values
from mercer._files.deployment.onnx_operators import Operators, Tensor, TensorViews
from mercer._files.deployment.onnx_probabilities import latent_probabilities
from mercer._files.deployment.onnx_steps import CONVERTERS, Parsers, joined, soft_clipped
from mercer._gram.expansion import THE_TABLE
from mercer.probabilistic import BayesianMKLClassifier

if TYPE_CHECKING:
    from skl2onnx.common._container import ModelComponentContainer
    from skl2onnx.common._topology import Operator, Scope, Variable
    from skl2onnx.common.data_types import DataType


TABLE = "the table"
"""Name of the tensor that the model reads. Names of skl2onnx have no space, unlike this one."""

Typed: TypeAlias = "tuple[Tensor, DataType]"
"""A tensor and its type for skl2onnx."""

_TOLERANCE = 1e-7
"""Values this close to the smallest or the largest quantile have the level 0 or 1."""

_LEAST = 1e-4
"""Probabilities below this have normal quantiles below -3, at which the view of quantiles ends."""


def schedule(
    scope: Scope, model: BaseEstimator, inputs: list[Variable], custom_parsers: Parsers = None
) -> list[Variable]:
    """Declare the inputs and outputs of a model to skl2onnx."""
    from skl2onnx.common.data_types import DoubleTensorType

    expansion = function_of_table(model, "has no operators in ONNX")
    operator = scope.declare_local_operator(type(model).__name__, model)
    operator.inputs.append(joined(scope, inputs))
    names = ["variable"]
    if is_classifier(model):
        own = _is_one_against_rest(model) or _is_latent(model)
        has_probabilities = own or expansion.scale in ("log-odds", "logit")
        names = ["label", "probabilities" if has_probabilities else "scores"]
    for name in names:
        operator.outputs.append(scope.declare_local_variable(name, DoubleTensorType()))
    return list(operator.outputs)


def convert(scope: Scope, operator: Operator, container: ModelComponentContainer) -> None:
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
    """Return a tensor of rows with its type."""
    from skl2onnx.common import data_types

    return tensor, getattr(data_types, f"{kind}TensorType")([None, *shape])


def _outputs(op: Operators, model: BaseEstimator, table: Tensor) -> list[Typed]:
    """Return the predictions of a model with their types, given the tensor of its table."""
    expansion = function_of_table(model, "has no operators in ONNX")
    if _is_latent(model):
        return _of_latent_functions(op, model, table)
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
    if not is_classifier(model):
        values = fallen_back(values)
        if expansion.scale in ("log rate", "log response"):
            values = op("Exp", op("Min", values, LARGEST_LOGARITHM))
        return [_typed(values, "Double", n_outputs)]
    if expansion.scale == "log-odds" and n_outputs == len(model.classes_):
        indicators = op.cast(op("Greater", values, 0.0), np.int64)
        found = op("Sigmoid", values)
        return [_typed(indicators, "Int64", n_outputs), _typed(found, "Double", n_outputs)]
    if expansion.scale in ("log-odds", "logit"):
        scores = values
        if n_outputs == 1:
            scores = op.joined([op("Mul", values, 0.0), values])
        return _of_all_classes(op, model, fallen_back(op("Softmax", scores, axis=1)))
    if expansion.scale == "latent mean" and n_outputs > 1 and not isinstance(model, Compressed):
        raise TypeError(
            f"{type(model).__name__} of several labels has no operators in ONNX. mercer.compress "
            "makes a model of latent means."
        )
    code = op("ArgMax", values, axis=1, keepdims=0)
    if _is_one_against_rest(model):
        odds = op("Sigmoid", values)
        probabilities = op("Div", odds, op("ReduceSum", odds, np.array([1]), keepdims=1))
        return [_label(op, code, model.classes_), _typed(probabilities, "Double", n_outputs)]
    if n_outputs == 1:
        code = op("Squeeze", op.cast(op("Greater", values, 0.0), np.int64), np.array([1]))
    return [_label(op, code, model._fitted_classes), _typed(values, "Double", n_outputs)]


def _of_all_classes(op: Operators, model: BaseEstimator, probabilities: Tensor) -> list[Typed]:
    """Return the labels, and the probabilities with zeros for classes without weight."""
    code = op("ArgMax", probabilities, axis=1, keepdims=0)
    label = _label(op, code, model._fitted_classes)
    if model._seen is not None:
        places = np.where(model._seen, np.cumsum(model._seen), 0)
        zero = op("Mul", op("Gather", probabilities, np.array([0]), axis=1), 0.0)
        probabilities = op("Gather", op.joined([zero, probabilities]), places, axis=1)
    return [label, _typed(probabilities, "Double", len(model.classes_))]


def _is_one_against_rest(model: BaseEstimator) -> bool:
    """Return whether probabilities are normalized ones of each class against the rest."""
    return isinstance(model, KernelLogisticRegression) and len(model.classes_) > 2


def _is_latent(model: BaseEstimator) -> bool:
    """Return whether probabilities are means over latent functions."""
    return isinstance(model, BayesianMKLClassifier) and model._labels is None


def _of_latent_functions(op: Operators, model: BayesianMKLClassifier, table: Tensor) -> list[Typed]:
    """Return the labels and the probabilities of a Gaussian process classifier."""
    means, probabilities = latent_probabilities(op, model, table)
    if len(model.classes_) == 2:
        code = op("Squeeze", op.cast(op("Greater", means, 0.0), np.int64), np.array([1]))
    else:
        code = op("ArgMax", probabilities, axis=1, keepdims=0)
    return [_label(op, code, model.classes_), _typed(probabilities, "Double", len(model.classes_))]


def _label(op: Operators, code: Tensor, classes: Array) -> Typed:
    """Return the label of a class, given its position."""
    kind = {"i": "Int64", "u": "Int64", "b": "Int64", "f": "Double"}.get(
        classes.dtype.kind, "String"
    )
    if kind == "String":
        labels = np.array([str(label) for label in classes], object)
    else:
        labels = classes.astype(np.int64 if kind == "Int64" else float)
    return _typed(op("Gather", labels, code), kind)


def views_of_table(op: Operators, views_of: Any, table: Tensor) -> TensorViews:
    """Return the views of a stack's table.

    Parameters
    ----------
    op : Operators
    views_of : SeveralViews
    table : str
    """
    views, found = views_of.views, {"given": table}
    if views.is_sparse:
        found["scaled"] = op("Div", table, views._scaler.scale_)
    elif {"scaled", "quantiles"} & set(views_of.names):
        found["scaled"] = soft_clipped(op, views._scaler, table)
    if "unclipped" in views_of.names:
        found["unclipped"] = _unclipped(op, views, table)
    if "quantiles" in views_of.names:
        found["quantiles"] = _quantiles(op, views, found["scaled"])
    return {name: found[name] for name in views_of.names}


def _unclipped(op: Operators, views: TableViews, table: Tensor) -> Tensor:
    """Return columns in the units of the scaled columns, without soft clipping."""
    scaler, most = views._scaler, views.largest_unclipped
    z = op("Div", op("Sub", table, scaler.center_), scaler.scale_)
    z = op("Div", op("Sub", z, scaler.mean_), scaler.std_)
    return op("Clip", z, -most, most)


def _quantiles(op: Operators, views: Any, scaled: Tensor) -> Tensor:
    """Return normal quantiles of columns with many values; the other columns are only scaled."""
    knots, most = views._quantiles.quantiles_, views.largest_quantile
    x = op("Gather", scaled, views._many, axis=1)
    levels = interpolated(op, x, knots, views._quantiles.references_)
    above = op("Greater", op("Add", x, _TOLERANCE), knots[-1])
    below = op("Less", op("Sub", x, _TOLERANCE), knots[0])
    levels = op("Where", below, 0.0, op("Where", above, 1.0, levels))
    normal = op("Clip", normal_quantile(op, levels), -most, most)
    own = op("Div", op("Sub", normal, views._quantile_means), views._quantile_deviations)
    # Each column of the view holds normal quantiles, or is the scaled column.
    rest = np.setdiff1d(np.arange(views._scaler.n_features_in_), views._many)
    if not rest.size:
        return own
    order = np.argsort(np.concatenate([views._many, rest]))
    return op("Gather", op.joined([own, op("Gather", scaled, rest, axis=1)]), order, axis=1)


def interpolated(op: Operators, x: Tensor, knots: Array, levels: Array) -> Tensor:
    """Interpolate levels between knots; at equal knots, the result is their mean level.

    Parameters
    ----------
    op : Operators
    x : str
        Tensor of shape (n_rows, n_columns).
    knots : ndarray of shape (n_knots, n_columns)
        In ascending order.
    levels : ndarray of shape (n_knots,)
        In ascending order, starting at zero.
    """
    widths = np.diff(knots, axis=0).T
    # Each interval below a value adds its increment. One of zero width adds half at its knot.
    is_point = widths == 0.0
    passed = op("Sub", op("Unsqueeze", x, np.array([2])), knots[:-1].T)
    passed = op("Div", passed, np.where(is_point, np.finfo(float).tiny, widths))
    passed = op("Clip", op("Add", passed, 0.5 * is_point), 0.0, 1.0)
    return op("MatMul", passed, np.diff(levels))


def normal_quantile(op: Operators, p: Tensor, degree: int = 24) -> Tensor:
    """Return standard normal quantiles of probabilities, clipped at `_LEAST` from 0 and 1.

    For p below one half, the quantile is approximated by a polynomial in the square root of -log p,
    with an error below 1e-13.
    """
    ends = np.sqrt(-np.log([0.5, _LEAST]))
    fit = Chebyshev.interpolate(lambda root: ndtri(np.exp(-(root**2))), degree, ends)
    first, *others = fit.convert(domain=ends, kind=Polynomial).coef[::-1]
    smaller = op("Max", op("Min", p, op("Sub", 1.0, p)), _LEAST)
    root = op("Sqrt", op("Neg", op("Log", smaller)))
    x = op("Div", op("Sub", root, ends.mean()), 0.5 * np.ptp(ends))
    found = first
    for coefficient in others:
        found = op("Add", op("Mul", found, x), coefficient)
    return op("Mul", op("Sign", op("Sub", 0.5, p)), found)
