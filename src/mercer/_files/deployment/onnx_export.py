"""Export of fitted models to ONNX graphs."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer._data.types import Array, Table
from mercer._data.validation import check_choice
from mercer._files.deployment.onnx_model import TABLE, convert, schedule
from mercer._files.deployment.onnx_operators import onnx
from mercer._files.deployment.onnx_steps import CONVERTERS, parsers
from mercer.inspection._display import best_of
from mercer.preprocessing._column_kinds import as_categories, as_numbers

if TYPE_CHECKING:
    from onnx import ModelProto


_PRECISION = 0.5e-5
"""Largest accepted error of a graph in single precision, in probabilities or in responses relative
to their spread. It is half of the documented error, because other rows may differ by more."""

_OPERATORS = {"": 18, "ai.onnx.ml": 3}
"""Versions of the operator sets, which runtimes support since 2023."""


def to_onnx(model: BaseEstimator, X: Table, *, dtype: str = "auto") -> ModelProto:
    """Export a fitted model to ONNX, so that it predicts without Python, on many devices.

    This needs ``pip install "mercer[onnx]"``.

    Parameters
    ----------
    model : estimator, Pipeline or search
        The fitted model: an estimator of mercer that predicts, or its compression; a pipeline that
        ends in one; or a search over either. mercer or skl2onnx must be able to convert the other
        steps of a pipeline.
    X : array-like or data frame of shape (n_rows, n_columns)
        Rows in the form that the model takes. They determine the names of the inputs, and up to
        1,000 of them are used to check the steps, and the graph in single precision.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision of inputs and outputs. "auto" is single precision if this changes no probability
        by more than 1e-5, and no response by more than 1e-5 of the spread of the responses.
        Otherwise, or if there is only one row, "auto" is double precision.

    Returns
    -------
    onnx.ModelProto
        For an array, the input is ``X``, of shape (None, n_columns). For a data frame, each column
        in use is an input of shape (None, 1) with the column's name. Categories are strings as
        `mercer.preprocessing.convert` writes them, empty if missing; other columns are numbers. The
        outputs are named as in skl2onnx: ``variable`` for regressors; ``label`` and
        ``probabilities``, or ``scores`` if the model has no probabilities, for classifiers.

    Raises
    ------
    ModuleNotFoundError
        If onnx or skl2onnx is not installed.
    NotFittedError
        If the model is not fitted.
    TypeError
        If a part of the model has no operators in ONNX, such as a callable kernel, votes of several
        support vector machines, dates or text. If skl2onnx does not convert a step, or its graph
        computes other numbers for `X` than the step. The message names the part or the step.
    ValueError
        If columns in use share a name, or have the name of an output or an empty name.

    See Also
    --------
    compress : Make a small model, whose graph takes a few hundred kilobytes.

    Notes
    -----
    All computations between inputs and outputs are in double precision. In single precision, the
    large coefficients of wide kernels would cancel with large errors, and squares of large inputs
    would overflow. The operator set is version 18, and version 3 in the domain ``ai.onnx.ml``.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> import mercer
    >>> X, y = make_friedman1(100, random_state=0)
    >>> model = mercer.TwoStageRegressor().fit(X, y)
    >>> graph = mercer.to_onnx(model, X).graph  # doctest: +SKIP
    >>> graph.input[0].name, graph.output[0].name  # doctest: +SKIP
    ('X', 'variable')
    """
    onnx()
    check_choice("dtype", dtype, ("auto", "float32", "float64"))
    model = best_of(model)
    check_is_fitted(model)
    graph = _converted(model, X)
    single, double = (_named(graph, X, precision) for precision in ("float32", "float64"))
    if isinstance(model, Pipeline) and len(model) > 1:
        _check_steps(double, model[:-1], X)
    is_single = dtype == "float32" or (dtype == "auto" and _is_close(single, double, X))
    return single if is_single else double


def onnx_inputs(graph: ModelProto, X: Table) -> dict[str, Array]:
    """Return the inputs of a graph for a table.

    Parameters
    ----------
    graph : onnx.ModelProto
        A graph that :func:`to_onnx` returned.
    X : array-like or data frame of shape (n_rows, n_columns)
        Rows in the form that the model takes.

    Returns
    -------
    dict of str to ndarray
        The array of each input by its name, for ``onnxruntime.InferenceSession.run``.
    """
    helper, found = onnx().helper, {}
    named = _column_names(X)
    for declared in graph.graph.input:
        element = declared.type.tensor_type.elem_type
        if named is None:
            dense = X.toarray() if hasattr(X, "toarray") else X
            found[declared.name] = np.asarray(dense, helper.tensor_dtype_to_np_dtype(element))
            continue
        column = _columns(X, [named.index(declared.name)])
        if element == onnx().TensorProto.STRING:
            texts = as_categories(column)
            found[declared.name] = np.where(texts != texts, "", texts)  # noqa: PLR0124
        else:
            kind = helper.tensor_dtype_to_np_dtype(element)
            found[declared.name] = as_numbers(column).astype(kind)
    return found


def _column_names(X: Table) -> list[str] | None:
    """Return the names of columns if each is an input; None for an array of numbers."""
    if hasattr(X, "columns"):
        return [str(name) for name in X.columns]
    array = X if hasattr(X, "dtype") else np.asarray(X)
    if array.dtype.kind in "OUS":
        return [f"x{position}" for position in range(array.shape[1])]
    return None


def _columns(X: Table, positions: list[int]) -> Table:
    if hasattr(X, "iloc"):
        return X.iloc[:, positions]
    return X[:, positions] if hasattr(X, "columns") else np.asarray(X)[:, positions]


def _converted(model: BaseEstimator, X: Table) -> ModelProto:
    """Return the double-precision graph of a model, with an input per column or for the array."""
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType

    names, steps = _column_names(X), list[tuple[str, BaseEstimator]]()
    if isinstance(model, Pipeline):
        *steps, (_, last) = model.steps
        model = best_of(last)
    inputs = [("X", DoubleTensorType([None, np.shape(X)[1]]))]
    if names is not None:
        # The first step that reads a column determines whether it is text.
        inputs = [(name or "_", DoubleTensorType([None, 1])) for name in names]
    own = [*CONVERTERS, type(model)]
    invalid = onnx().checker.ValidationError, onnx().shape_inference.InferenceError
    try:
        found = convert_sklearn(
            Pipeline([*steps, ("model", model)]),
            type(model).__name__,
            inputs,
            target_opset=_OPERATORS,
            custom_parsers={**parsers(), type(model): schedule},
            custom_shape_calculators=dict.fromkeys(own, lambda operator: None),
            custom_conversion_functions=dict.fromkeys(own, convert),
            model_optim=False,
        )
        onnx().checker.check_model(found, full_check=True)
    except (AssertionError, RuntimeError, ValueError, *invalid) as error:
        if not steps:
            raise
        raise TypeError(f"skl2onnx does not convert {_named_steps(steps)}: {error}") from error
    return found


def _named(graph: ModelProto, X: Table, dtype: npt.DTypeLike) -> ModelProto:
    """Return the graph with the names of columns, and its inputs and outputs in one precision."""
    helper, double = onnx().helper, onnx().TensorProto.DOUBLE
    types = {double: helper.np_dtype_to_tensor_dtype(np.dtype(dtype))}
    names, outputs = _column_names(X) or ["X"], [output.name for output in graph.graph.output]
    prefix = next(p for p in map("_".__mul__, count(1)) if not any(n.startswith(p) for n in names))
    body = onnx().compose.add_prefix(graph, prefix).graph
    read = {name for node in body.node for name in node.input}
    pairs = zip(names, body.input, strict=True)
    inputs = {value.name: (name, value) for name, value in pairs if value.name in read}
    _check_names(names, [name for name, _ in inputs.values()], outputs)
    before, after, constants = [], [], [*body.initializer]
    for inner, (name, value) in inputs.items():
        kind = value.type.tensor_type
        before.append(helper.make_node("Cast", [name], [inner], to=kind.elem_type))
        value.name, kind.elem_type = name, types.get(kind.elem_type, kind.elem_type)
    # Numbers beyond these limits would become infinite.
    limits = {prefix + " least": np.finfo(dtype).min, prefix + " largest": np.finfo(dtype).max}
    for name, limit in limits.items():
        constants.append(onnx().numpy_helper.from_array(np.array(limit, float), name))
    for name, value in zip(outputs, body.output, strict=True):
        kind, inner = value.type.tensor_type, value.name
        if kind.elem_type == double:
            inner += " clipped"
            after.append(helper.make_node("Clip", [value.name, *limits], [inner]))
        value.name, kind.elem_type = name, types.get(kind.elem_type, kind.elem_type)
        after.append(helper.make_node("Cast", [inner], [name], to=kind.elem_type))
    nodes, used = [*before, *body.node, *after], [value for _, value in inputs.values()]
    named = helper.make_graph(nodes, body.name, used, body.output, constants)
    versions = [helper.make_opsetid(domain, version) for domain, version in _OPERATORS.items()]
    return helper.make_model(named, opset_imports=versions, producer_name="mercer", ir_version=8)


def _check_names(names: list[str], used: list[str], outputs: list[str]) -> None:
    """Raise an error if the name of a column cannot be the name of an input."""
    for name in used:
        if not name:
            raise ValueError("A column has the name '', which no input can have: rename it.")
        if name in outputs:
            raise ValueError(
                f"The column {name!r} has the name of an output of the graph: rename it before the "
                "fit, or fit the model to an array, whose input is X."
            )
        if names.count(name) > 1:
            raise ValueError(f"Several columns have the name {name!r}: rename all but one.")


def _check_steps(graph: ModelProto, steps: Pipeline, X: Table) -> None:
    """Raise an error if the graph of the steps computes other numbers than the steps."""
    from onnx.reference import ReferenceEvaluator

    rows, watched = _first_rows(X), onnx().ModelProto.FromString(graph.SerializeToString())
    outputs = (name for node in graph.graph.node for name in node.output)
    table = next(name for name in outputs if name.endswith(TABLE))
    kind = onnx().TensorProto.DOUBLE
    watched.graph.output.append(onnx().helper.make_tensor_value_info(table, kind, None))
    evaluator: Any = ReferenceEvaluator(watched)
    found = evaluator.run([table], onnx_inputs(graph, rows))[0]
    expected = steps.transform(rows)
    dense = np.asarray(expected.toarray() if hasattr(expected, "toarray") else expected, float)
    if found.shape != dense.shape or not np.allclose(found, dense, equal_nan=True):
        raise TypeError(
            f"The graph by skl2onnx computes other numbers than {_named_steps(steps.steps)}."
        )


def _named_steps(steps: list[tuple[str, BaseEstimator]]) -> str:
    return " ".join(repr([step for _, step in steps]).split())


def _first_rows(X: Table, most: int = 1000) -> Table:
    return X.iloc[:most] if hasattr(X, "iloc") else X[:most]


def _is_close(single: ModelProto, double: ModelProto, X: Table) -> bool:
    """Return whether the graphs in single and in double precision agree on the first rows."""
    from onnx.reference import ReferenceEvaluator

    rows = _first_rows(X)
    if np.shape(rows)[0] < 2:
        return False
    found, expected = (
        ReferenceEvaluator(graph).run(None, onnx_inputs(graph, rows)) for graph in (single, double)
    )
    for output, one, other in zip(double.graph.output, found, expected, strict=True):
        if output.name == "label":
            continue
        size = np.ones(1) if output.name == "probabilities" else np.std(other, axis=0)
        with np.errstate(invalid="ignore"):
            if not (np.abs(one - other) <= _PRECISION * size).all():
                return False
    return True
