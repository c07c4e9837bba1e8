"""Fitted models as ONNX graphs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer._deployment.compressed import Compressed, function_of_table
from mercer._deployment.onnx_functions import closeness, function_values
from mercer._deployment.onnx_operators import Nodes, Operators, Tensor, onnx
from mercer._deployment.onnx_tables import Columns, NamedInputs, Numbers, encoded, views_of_table
from mercer._expansion import THE_TABLE
from mercer._typing import Array
from mercer._validation import check_choice
from mercer.inspection._display import best_of
from mercer.preprocessing._column_kinds import as_categories, as_numbers

_PRECISION = 0.5e-5
"""Graphs in single precision are at most this far from the model, relative to the spread of
responses, and in probabilities: half of what is allowed, as other rows may differ by more."""


def to_onnx(model: Any, X: Any, *, dtype: str = "auto") -> Any:
    """Export a fitted model to ONNX, which runtimes of other languages and devices evaluate.

    The extra ``onnx`` has to be installed.

    Parameters
    ----------
    model : estimator, Pipeline or search
        Fitted: an estimator of mercer that predicts, or its compression, a pipeline that ends in
        one and whose other steps have operators, or a search over either.
    X : array-like or data frame of shape (n_rows, n_columns)
        Rows as the model takes them. Names and types of inputs are read off them, and the graph in
        single precision is judged on up to 1,000 of them.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision of inputs and of outputs. "auto" is single precision if that changes no
        probability, and no response relative to their spread, by more than 1e-5, and double
        precision otherwise, or for one row.

    Returns
    -------
    onnx.ModelProto
        Of an array, the input is ``X``, of shape (None, n_columns). Of a data frame, each column
        that is used is an input of its name, of shape (None, 1): numbers, or strings for
        categories, as `mercer.preprocessing.convert` writes them, empty where they are missing. The
        output of regressors is ``variable``, those of classifiers are ``label`` and
        ``probabilities``, or ``scores`` where the model has no probabilities, as skl2onnx has them.

    Raises
    ------
    ModuleNotFoundError
        If onnx is not installed.
    NotFittedError
        If the model is not fitted.
    TypeError
        If a part of the model has no operators, such as a kernel that is a callable, votes of
        several support vector machines, dates or text; the message names it.
    ValueError
        If columns that are used share a name, or have that of an output or an empty one.

    See Also
    --------
    compress : A compressed model is a graph of some hundred kilobytes.

    Notes
    -----
    What is between inputs and outputs is in double precision. Coefficients of wide kernels are
    large and cancel, which single precision cannot follow, and squares of large inputs leave it.
    Standard operators of version 18 and, for categories, ``ai.onnx.ml.LabelEncoder``.

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
    if dtype != "auto":
        return _exported(model, X, np.dtype(dtype))
    double = _exported(model, X, np.dtype(np.float64))
    single = _exported(model, X, np.dtype(np.float32))
    return single if _is_close(single, double, X) else double


def onnx_inputs(graph: Any, X: Any) -> dict[str, Array]:
    """A table as the inputs of a graph.

    Parameters
    ----------
    graph : onnx.ModelProto
        As :func:`to_onnx` returns it.
    X : array-like or data frame of shape (n_rows, n_columns)
        Rows as the model takes them.

    Returns
    -------
    dict of str to ndarray
        For ``onnxruntime.InferenceSession.run``.
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


def _column_names(X: Any) -> list[str] | None:
    """Names of the columns that are inputs of their own; None for an array of numbers."""
    if hasattr(X, "columns"):
        return [str(name) for name in X.columns]
    array = X if hasattr(X, "dtype") else np.asarray(X)
    if array.dtype.kind in "OUS":
        return [f"x{position}" for position in range(array.shape[1])]
    return None


def _columns(X: Any, positions: list[int]) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[:, positions]
    return X[:, positions] if hasattr(X, "columns") else np.asarray(X)[:, positions]


def _exported(model: Any, X: Any, dtype: np.dtype[Any]) -> Any:
    """The graph of a model, with inputs and outputs of one precision."""
    names, declared, helper = _column_names(X), dict[str, int](), onnx().helper
    op = Operators(np.dtype(np.float64), Nodes(prefix=_prefix_of_none(names or [])))
    given = op.at(dtype)
    shape = [None, 1]
    columns: Columns
    if names is None:
        declared["X"], shape = given.element, [None, np.shape(X)[1]]
        columns = Numbers(op, op.cast("X"), np.shape(X)[1])
    else:
        columns = NamedInputs(op, given.element, tuple(names), declared)
    step = model
    if isinstance(model, Pipeline):
        step = best_of(model[-1])
        for _, before in model.steps[:-1]:
            columns = encoded(op, before, columns)
    outputs = [_in_precision(given, output) for output in _outputs(op, step, columns)]
    _check_names(names or [], declared, outputs)
    inputs = [helper.make_tensor_value_info(n, kind, shape) for n, kind in declared.items()]
    found = [helper.make_tensor_value_info(o.name, o.element, o.shape) for o in outputs]
    for output in outputs:
        op.graph.nodes.append(helper.make_node("Identity", [output.tensor], [output.name]))
    constants = list(op.graph.constants.values())
    graph = helper.make_graph(op.graph.nodes, type(step).__name__, inputs, found, constants)
    # Runtimes since 2023 have this version of the operators.
    operators = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    proto = helper.make_model(graph, opset_imports=operators, producer_name="mercer", ir_version=8)
    onnx().checker.check_model(proto)
    return proto


def _prefix_of_none(names: list[str]) -> str:
    """A prefix of internal names that no column's name has."""
    prefix = "_"
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return prefix


def _check_names(names: list[str], declared: dict[str, int], outputs: list[_Output]) -> None:
    """Refuse columns whose names inputs of a graph cannot have."""
    for name in declared:
        if not name:
            raise ValueError("A column has the name '', which no input can have: rename it.")
        if any(name == output.name for output in outputs):
            raise ValueError(
                f"The column {name!r} has the name of an output of the graph: rename it before the "
                "fit, or fit the model to an array, whose input is X."
            )
        if names.count(name) > 1:
            raise ValueError(f"Several columns have the name {name!r}: rename all but one.")


@dataclass(frozen=True)
class _Output:
    """An output of the graph."""

    name: str
    tensor: Tensor
    element: int
    shape: list[int | None]


def _in_precision(op: Operators, output: _Output) -> _Output:
    """An output with real numbers in the precision of the outputs."""
    if output.element != onnx().TensorProto.DOUBLE:
        return output
    # Larger numbers would be infinite.
    largest = float(np.finfo(op.dtype).max)
    double = op.at(np.float64)
    tensor = double("Max", double("Min", output.tensor, largest), -largest)
    return replace(output, tensor=op.cast(tensor), element=op.element)


def _outputs(op: Operators, model: Any, columns: Columns) -> list[_Output]:
    """What the model predicts, from the columns that its table has."""
    expansion = function_of_table(model, "has no operators in ONNX")
    if expansion.views_of is None:
        views: dict[Any, Tensor] = {THE_TABLE: columns.numbers()}
    else:
        views = views_of_table(op, expansion.views_of, columns)
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
        values = op("Exp", op("Min", values, np.log(np.finfo(op.dtype).max) - 1.0))
    if not is_classifier(model):
        return [_Output("variable", fallen_back(values), op.element, [None, n_outputs])]
    if expansion.scale == "log-odds" and n_outputs == len(model.classes_):
        return _of_labels(op, values, n_outputs)
    if expansion.scale in ("log-odds", "logit"):
        scores = values
        if n_outputs == 1:
            scores = op.joined([op("Mul", values, 0.0), values])
        probabilities = fallen_back(op("Softmax", scores, axis=1))
        code = op("ArgMax", probabilities, axis=1, keepdims=0)
        found = _Output("probabilities", probabilities, op.element, [None, len(model.classes_)])
        return [_label(op, code, model.classes_), found]
    if expansion.scale == "latent mean" and n_outputs > 1 and not isinstance(model, Compressed):
        raise TypeError(
            f"{type(model).__name__} of more than two classes compares probabilities, whose "
            "integrals have no operators in ONNX. mercer.compress makes a model of latent means."
        )
    code = op("ArgMax", values, axis=1, keepdims=0)
    if n_outputs == 1:
        whole = op("Cast", op("Greater", values, 0.0), to=int(onnx().TensorProto.INT64))
        code = op("Squeeze", whole, np.array([1]))
    label = _label(op, code, model.classes_)
    return [label, _Output("scores", values, op.element, [None, n_outputs])]


def _label(op: Operators, code: Tensor, classes: Array) -> _Output:
    """The label of a class, given its position."""
    proto = onnx().TensorProto
    if classes.dtype.kind in "iub":
        labels, element = classes.astype(np.int64), int(proto.INT64)
    elif classes.dtype.kind == "f":
        labels, element = classes, op.element
    else:
        labels, element = np.array([str(label) for label in classes], object), int(proto.STRING)
    return _Output("label", op("Gather", labels, code), element, [None])


def _of_labels(op: Operators, values: Tensor, n_labels: int) -> list[_Output]:
    """Indicators of several labels, and the probability of each."""
    element = int(onnx().TensorProto.INT64)
    indicators = op("Cast", op("Greater", values, 0.0), to=element)
    probabilities = _Output("probabilities", op("Sigmoid", values), op.element, [None, n_labels])
    return [_Output("label", indicators, element, [None, n_labels]), probabilities]


def _is_close(single: Any, double: Any, X: Any, most: int = 1000) -> bool:
    """Whether a graph in single precision predicts most rows as that in double precision does."""
    from onnx.reference import ReferenceEvaluator

    rows = X[:most] if not hasattr(X, "iloc") else X.iloc[:most]
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
