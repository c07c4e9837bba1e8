"""Export of fitted models to ONNX graphs."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from mercer._data.types import Array, Table
from mercer._files.deployment.onnx_predictions import output_names, predictions
from mercer._files.deployment.onnx_steps import (
    OPERATORS,
    Columns,
    as_text,
    numbers,
    transformed,
)
from mercer._files.deployment.onnx_table_encoder import add_converters
from mercer._files.deployment.onnx_tensors import TEXT, Graph, Tensor, element_type, onnx
from mercer.inspection._display import best_of

if TYPE_CHECKING:
    from onnx import ModelProto


def to_onnx(model: BaseEstimator, X: Table) -> ModelProto:
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
        1,000 of them are used to check the steps.

    Returns
    -------
    onnx.ModelProto
        For an array, the input is ``X``, of shape (None, n_columns). For a data frame, each column
        in use is an input of shape (None, 1) with the column's name. Categories are text, in which
        whole numbers have no decimal point and missing values are empty; other columns are numbers
        in double precision. The outputs are named as in skl2onnx: ``variable`` for regressors;
        ``label`` and ``probabilities``, or ``scores`` if the model has no probabilities, for
        classifiers.

    Raises
    ------
    ModuleNotFoundError
        If onnx or skl2onnx is not installed.
    NotFittedError
        If the model is not fitted.
    TypeError
        If a part of the model has no operators in ONNX, such as a callable kernel, votes of several
        support vector machines, latent functions of `BayesianMKLClassifier`, dates or text. If
        skl2onnx does not convert a step, or its graph computes other numbers for `X` than the step.
        The message names the part or the step.
    ValueError
        If columns in use share a name, or have the name of an output or an empty name.

    See Also
    --------
    compress : Make a small model, whose graph takes a few hundred kilobytes.
    register_onnx_converters : Let skl2onnx convert pipelines with estimators of mercer.

    Notes
    -----
    Numbers are in double precision. In single precision, the large coefficients of wide kernels
    would cancel with large errors, and squares of large inputs would overflow. The operator set is
    version 18, and version 3 in the domain ``ai.onnx.ml``.

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
    model = best_of(model)
    check_is_fitted(model)
    steps, last = [], model
    if isinstance(model, Pipeline):
        steps, last = model.steps[:-1], best_of(model.steps[-1][1])
    names = _column_names(X)
    taken = names or ["X"]
    free = ("_" * length for length in count(1))
    graph = Graph(next(p for p in free if not any(name.startswith(p) for name in taken)))
    columns: Columns = [graph.input("X", np.shape(X)[1])]
    if names is not None:
        columns = [graph.input(name, 1, None) for name in names]
    inputs = columns
    add_converters()
    for _, step in steps:
        columns = transformed(step, columns)
    table = numbers(columns)
    found = _proto(
        graph, inputs, dict(zip(output_names(last), predictions(last, table), strict=True))
    )
    if steps:
        _check_steps(_proto(graph, inputs, {"table": table}), model[:-1], X)
    return found


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
    found, named = {}, _column_names(X)
    for declared in graph.graph.input:
        kind = onnx().helper.tensor_dtype_to_np_dtype(declared.type.tensor_type.elem_type)
        if named is None:
            dense = X.toarray() if hasattr(X, "toarray") else X
            found[declared.name] = np.asarray(dense, kind)
            continue
        cells = np.asarray(_safe_indexing(X, named.index(declared.name), axis=1), object)
        texts = [as_text(cell) for cell in cells]
        if kind == TEXT:
            found[declared.name] = np.array(texts, object)[:, None]
        else:
            pairs = zip(cells, texts, strict=True)
            column = [np.nan if text == "" else float(cell) for cell, text in pairs]
            found[declared.name] = np.array(column, kind)[:, None]
    return found


def _column_names(X: Table) -> list[str] | None:
    """Return the names of columns if each is an input; None for an array of numbers."""
    if hasattr(X, "columns"):
        return [str(name) for name in X.columns]
    array = X if hasattr(X, "dtype") else np.asarray(X)
    if array.dtype.kind in "OUS":
        return [f"x{position}" for position in range(array.shape[1])]
    return None


def _proto(graph: Graph, inputs: Columns, outputs: dict[str, Tensor]) -> ModelProto:
    """Return a graph with the names of columns and outputs."""
    helper = onnx().helper
    nodes, constants, needed = graph.used([tensor.name for tensor in outputs.values()])
    names = [graph.inputs[tensor.name] for tensor in inputs]
    used = [pair for pair in zip(names, inputs, strict=True) if pair[1].name in needed]
    _check_names(names, [name for name, _ in used], [*outputs])
    declared: list[list[Any]] = [[], []]
    for place, (name, tensor) in [(0, one) for one in used] + [(1, one) for one in outputs.items()]:
        kind, shape = element_type(tensor.dtype), [None, *tensor.shape[1:]]
        declared[place].append(helper.make_tensor_value_info(name, kind, shape))
    before = [helper.make_node("Identity", [name], [one.name]) for name, one in used]
    after = [helper.make_node("Identity", [one.name], [name]) for name, one in outputs.items()]
    body = helper.make_graph([*before, *nodes, *after], "mercer", *declared, constants)
    versions = [helper.make_opsetid(domain, version) for domain, version in OPERATORS.items()]
    return helper.make_model(body, opset_imports=versions, producer_name="mercer", ir_version=8)


def _check_names(names: list[str], used: list[str], outputs: list[str]) -> None:
    """Raise an error if the name of a column cannot be the name of an input."""
    for name in used:
        if not name or name in outputs or names.count(name) > 1:
            raise ValueError(
                f"No input can have the name of the column {name!r}, because it is empty, the name "
                "of another column or that of an output: rename it before the fit."
            )


def _check_steps(graph: ModelProto, steps: Pipeline, X: Table) -> None:
    """Raise an error if the graph of the steps computes other numbers than the steps."""
    from onnx.reference import ReferenceEvaluator

    rows = X.iloc[:1000] if hasattr(X, "iloc") else X[:1000]
    evaluator: Any = ReferenceEvaluator(graph)
    (found,), expected = evaluator.run(None, onnx_inputs(graph, rows)), steps.transform(rows)
    dense = np.asarray(expected.toarray() if hasattr(expected, "toarray") else expected, float)
    if found.shape != dense.shape or not np.allclose(found, dense, equal_nan=True):
        from skl2onnx import __version__ as version

        told = " ".join(repr([step for _, step in steps.steps]).split())
        raise TypeError(f"The graph by skl2onnx {version} computes other numbers than {told}.")
