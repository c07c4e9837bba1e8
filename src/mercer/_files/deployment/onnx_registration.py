"""Converters of mercer's estimators and transformers, registered with skl2onnx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from mercer import probabilistic
from mercer._blocks.own_encoders import on_numbers
from mercer._estimators import generalized, one_stage, stacking, two_stage
from mercer._files.deployment.compressed import CompressedClassifier, CompressedRegressor
from mercer._files.deployment.onnx_predictions import output_names, predictions
from mercer._files.deployment.onnx_steps import (
    CONVERTERS,
    OPERATORS,
    Columns,
    numbers,
    transformed,
)
from mercer._files.deployment.onnx_table_encoder import add_converters
from mercer._files.deployment.onnx_tensors import TEXT, Graph, element_type, onnx

if TYPE_CHECKING:
    from skl2onnx.common._container import ModelComponentContainer
    from skl2onnx.common._topology import Operator, Scope, Variable


def register_onnx_converters() -> None:
    """Let skl2onnx convert pipelines with estimators of mercer.

    After this call, ``skl2onnx.to_onnx`` and ``skl2onnx.convert_sklearn`` convert the estimators of
    mercer that predict, their compressions, and mercer's transformers. Every output is a tensor,
    also for classifiers. Outputs are in double precision if an input is; the operators of mercer
    compute in double precision.

    Raises
    ------
    ModuleNotFoundError
        If onnx or skl2onnx is not installed.

    See Also
    --------
    to_onnx : Export a model, and compare the graph of its steps with the steps.

    Notes
    -----
    Graphs by skl2onnx are not checked. Those of version 1.20 silently differ from scikit-learn if a
    `ColumnTransformer` permutes all columns of an array, for missing values in `OneHotEncoder`, and
    at the threshold of `Binarizer`. :func:`to_onnx` has its own operators for the first two and for
    `SimpleImputer`, and refuses the third.

    Examples
    --------
    >>> import skl2onnx  # doctest: +SKIP
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import mercer
    >>> X, y = make_friedman1(100, random_state=0)
    >>> model = make_pipeline(StandardScaler(), mercer.TwoStageRegressor()).fit(X, y)
    >>> mercer.register_onnx_converters()  # doctest: +SKIP
    >>> skl2onnx.to_onnx(model, X).graph.output[0].name  # doctest: +SKIP
    'variable'
    """
    onnx()
    add_converters()
    from skl2onnx import update_registered_converter

    packages = generalized, one_stage, stacking, two_stage, probabilistic
    public = [getattr(package, name) for package in packages for name in package.__all__]
    kinds = [kind for kind in public if hasattr(kind, "kernel_expansion")]
    kinds += [CompressedClassifier, CompressedRegressor]
    kinds += [kind for kind in CONVERTERS if not kind.__module__.startswith("sklearn.")]
    for kind in kinds:
        update_registered_converter(
            kind,
            f"mercer {kind.__name__}",
            _declare,
            _convert,
            parser=_parse,
            options={"zipmap": [False]},
        )


def _parse(
    scope: Scope, model: BaseEstimator, inputs: list[Variable], custom_parsers: Any = None
) -> list[Variable]:
    """Compute the graph of a step or model, and declare its outputs to skl2onnx."""
    from skl2onnx import get_model_alias
    from skl2onnx.common import data_types as types

    graph = Graph(scope.get_unique_operator_name("mercer") + "_")
    width = model.n_features_in_ if len(inputs) == 1 else 1
    kinds = [TEXT if isinstance(one.type, types.StringTensorType) else float for one in inputs]
    columns: Columns = [graph.input("", width, kind) for kind in kinds]
    if hasattr(model, "kernel_expansion"):
        encodes, step = getattr(model, "encoder_", None), on_numbers(model)
        names, found = output_names(step), predictions(step, numbers(transformed(encodes, columns)))
    else:
        names, found = ["variable"], transformed(model, columns)
    is_double = any(isinstance(one.type, types.DoubleTensorType) for one in inputs)
    real = types.DoubleTensorType if is_double else types.FloatTensorType
    types_of: Any = {TEXT: types.StringTensorType, np.dtype(np.int64): types.Int64TensorType}
    operator = scope.declare_local_operator(get_model_alias(type(model)), model)
    operator.inputs, operator.graph_of_mercer = inputs, (graph, columns, found)
    for name, tensor in zip(names, found, strict=True):
        kind = types_of.get(tensor.dtype, real)([None, *tensor.shape[1:]])
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return list(operator.outputs)


def _declare(operator: Operator) -> None:
    """Do nothing, because types are declared when the model is parsed."""


def _convert(scope: Scope, operator: Operator, container: ModelComponentContainer) -> None:
    """Append the operators of a step or model, with casts from the inputs and to the outputs."""
    if container.target_opset < OPERATORS[""]:
        raise ValueError(f"Models of mercer need target_opset={OPERATORS['']} or more.")
    graph, columns, found = operator.graph_of_mercer
    make_node = onnx().helper.make_node
    for variable, tensor in zip(operator.inputs, columns, strict=True):
        kind = element_type(tensor.dtype)
        container.nodes.append(make_node("Cast", [variable.full_name], [tensor.name], to=kind))
    container.nodes += graph.nodes
    container.initializers += graph.constants
    for variable, tensor in zip(operator.outputs, found, strict=True):
        kind = variable.type.to_onnx_type().tensor_type.elem_type
        container.nodes.append(make_node("Cast", [tensor.name], [variable.full_name], to=kind))
    versions = OPERATORS | {"": container.target_opset}
    domains = {node.domain for node in graph.nodes} | {""}
    container.node_domain_version_pair_sets |= {(domain, versions[domain]) for domain in domains}
