"""Tensors of an ONNX graph as arrays: formulas of NumPy append operators to the graph."""

from __future__ import annotations

from functools import partial
from itertools import count
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from mercer._data.types import AnyArray

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto

Traced: TypeAlias = Any
"""A tensor in a formula. The signatures of NumPy's functions only know arrays."""

TEXT = np.dtype(object)
"""Type of tensors of text."""


def onnx() -> ModuleType:
    """Import the package onnx, and check that skl2onnx is installed too.

    Raises
    ------
    ModuleNotFoundError
        If one of them is not installed. The message says how to install it.
    """
    try:
        import onnx as package
        import skl2onnx  # noqa: F401
    except ImportError as error:
        raise ModuleNotFoundError(
            "to_onnx needs the packages onnx and skl2onnx: pip install 'mercer[onnx]'."
        ) from error
    return package


def element_type(dtype: Any) -> int:
    """Return the type of ONNX for elements of a type of NumPy."""
    return int(onnx().helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


class Graph:
    """Nodes and constants of a graph under construction.

    Parameters
    ----------
    prefix : str
        Names of tensors are the prefix and a number.

    Attributes
    ----------
    nodes : list of onnx.NodeProto
        In the order of evaluation.
    constants : list of onnx.TensorProto
    inputs : dict of str to str
        Labels of the inputs, by the names of their tensors.
    """

    def __init__(self, prefix: str) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.inputs: dict[str, str] = {}
        self._names = (f"{prefix}{number}" for number in count())
        self._known: dict[Any, str] = {}

    def new_name(self) -> str:
        """Return a name that no tensor has."""
        return next(self._names)

    def add(
        self,
        kind: str,
        *inputs: Any,
        shape: tuple[int, ...] | None = None,
        dtype: Any = float,
        domain: str = "",
        **attributes: Any,
    ) -> Traced:
        """Append an operator with one output.

        Parameters
        ----------
        kind : str
            Name of the operator.
        *inputs : Tensor or array-like
            Tensors and constants.
        shape : tuple of int, default=None
            Shape of the output for one row; None if the inputs are broadcast.
        dtype : data type, default=float
            Type of the output.
        domain : str, default=""
        **attributes : object
        """
        names = [one.name if isinstance(one, Tensor) else self._constant(one) for one in inputs]
        shape = np.broadcast_shapes(*map(np.shape, inputs)) if shape is None else shape
        found = Tensor(self, self.new_name(), shape, dtype)
        node = onnx().helper.make_node(kind, names, [found.name], domain=domain, **attributes)
        self.nodes.append(node)
        return found

    def input(self, label: str, n_columns: int, dtype: Any = float) -> Traced:
        """Return an input, which no node computes."""
        name = self.new_name()
        self.inputs[name] = label
        return Tensor(self, name, (1, n_columns), dtype)

    def inlined(self, model: ModelProto, table: Tensor, n_columns: int) -> Traced:
        """Append the nodes of another graph of one input and one output."""
        body = onnx().compose.add_prefix(model, self.new_name() + "_").graph
        node = onnx().helper.make_node("Identity", [table.name], [body.input[0].name])
        self.nodes += [node, *body.node]
        self.constants += body.initializer
        return Tensor(self, body.output[0].name, (1, n_columns)).astype(float)

    def used(self, outputs: list[str]) -> tuple[list[NodeProto], list[TensorProto], set[str]]:
        """Return the nodes and constants that outputs depend on, and the names of all tensors."""
        needed, nodes = set(outputs), []
        for node in reversed(self.nodes):
            if needed & {*node.output}:
                needed |= {*node.input}
                nodes.append(node)
        return nodes[::-1], [one for one in self.constants if one.name in needed], needed

    def _constant(self, values: Any) -> str:
        array = np.asarray(values)
        content = tuple(array.flat) if array.dtype == TEXT else array.tobytes()
        key = array.dtype.str, array.shape, content
        if key not in self._known:
            self._known[key] = self.new_name()
            found = onnx().numpy_helper.from_array(array, self._known[key])
            self.constants.append(found)
        return self._known[key]


def where(condition: Tensor, one: Any, other: Any) -> Traced:
    """Return one value where a condition holds, and another elsewhere; one may be a constant."""
    dtype = next(value.dtype for value in (one, other) if isinstance(value, Tensor))
    values = [v if isinstance(v, Tensor) else np.asarray(v, dtype) for v in (one, other)]
    return condition.graph.add("Where", condition, *values, dtype=dtype)


class Functions:
    """The functions of the array API standard that kernels call."""

    abs, exp, expm1, log1p, negative = np.absolute, np.exp, np.expm1, np.log1p, np.negative
    asarray = staticmethod(lambda values, dtype=None, device=None, copy=None: values)
    clip = staticmethod(lambda x, min=None, max=None: x.clip(min, max))
    sum = staticmethod(lambda x, axis: x.reduced("ReduceSum", keepdims=0))
    take = staticmethod(lambda x, indices, axis: x.take(indices))
    where = staticmethod(where)


class Tensor(NDArrayOperatorsMixin):
    """A tensor of a graph, to which NumPy's functions and operators append their operators.

    Kernels evaluate it as an array of the array API standard. The shape is that for a single row,
    with which constants broadcast; a tensor has any number of rows.

    Parameters
    ----------
    graph : Graph
    name : str
    shape : tuple of int
    dtype : data type or None, default=float
        None for a column of a data frame until a step reads it as numbers or as text.
    """

    device = "cpu"

    def __init__(self, graph: Graph, name: str, shape: tuple[int, ...], dtype: Any = float) -> None:
        self.graph, self.name, self.shape = graph, name, shape
        self.dtype = None if dtype is None else np.dtype(dtype)

    def __array_namespace__(self, api_version: str | None = None) -> type[Functions]:
        return Functions

    def __array_ufunc__(
        self, function: Any, method: str, *inputs: Any, out: Any = None, **settings: Any
    ) -> Any:
        kind = _KINDS.get(function.__name__, function.__name__.capitalize())
        if method != "__call__" or settings or not (kind in _FORMULAS or onnx().defs.has(kind)):
            return NotImplemented
        found = _FORMULAS.get(kind, partial(_applied, kind))(*inputs)
        is_overwritten = out is not None and isinstance(out[0], Tensor)
        return out[0]._become(found) if is_overwritten else found

    def _become(self, other: Tensor) -> Tensor:
        self.__dict__.update(other.__dict__)
        return self

    def __getitem__(self, key: tuple[slice, Any]) -> Traced:
        if key[1] is None:
            return self.graph.add("Unsqueeze", self, [1], shape=(1, 1), dtype=self.dtype)
        return self.take(np.arange(self.shape[1])[key[1]])

    def __setitem__(self, key: tuple[slice, slice], values: Tensor) -> None:
        self._become(values)

    def take(self, columns: AnyArray) -> Traced:
        """Return columns by their positions."""
        chosen = np.asarray(columns, dtype=np.int64)
        shape = (1, len(chosen))
        return self.graph.add("Gather", self, chosen, axis=1, shape=shape, dtype=self.dtype)

    def reduced(self, kind: str, keepdims: int = 1) -> Traced:
        """Return the sum or another statistic of the columns."""
        shape = (1, 1) if keepdims else (1,)
        return self.graph.add(kind, self, [1], keepdims=keepdims, shape=shape)

    def argmax(self) -> Traced:
        """Return the position of the largest value of each row."""
        return self.graph.add("ArgMax", self, axis=1, keepdims=0, shape=(1,), dtype=np.int64)

    def clip(self, min: Any = None, max: Any = None, out: None = None) -> Traced:
        """Return values between bounds, which may be None."""
        found: Traced = self
        found = found if min is None else np.maximum(found, min)
        return found if max is None else np.minimum(found, max)

    def astype(self, dtype: Any) -> Traced:
        """Return values of another type."""
        return self.graph.add("Cast", self, to=element_type(dtype), dtype=dtype)


def joined(tensors: list[Tensor]) -> Traced:
    """Return the columns of all tensors."""
    tensors = [tensor for tensor in tensors if tensor.shape[1]] or tensors[:1]
    if len(tensors) == 1:
        return tensors[0]
    shape = (1, sum(tensor.shape[1] for tensor in tensors))
    return tensors[0].graph.add("Concat", *tensors, axis=1, shape=shape, dtype=tensors[0].dtype)


def _applied(kind: str, *inputs: Any) -> Traced:
    """Append an operator, with constants of the type of the tensors."""
    first = next(value for value in inputs if isinstance(value, Tensor))
    values = [v if isinstance(v, Tensor) else np.asarray(v, first.dtype) for v in inputs]
    shape = None
    if kind == "MatMul":
        shape = (*values[0].shape[:-1], *values[1].shape[1:])
    elif kind in ("Mul", "Div"):
        # Runtimes fuse a single number with the matrix product beside it, and may round it to
        # single precision.
        numbers = [isinstance(value, np.ndarray) and value.size == 1 for value in values]
        last = np.broadcast_shapes(*(value.shape for value in values))[-1:]
        values = [np.full(last, v) if one else v for v, one in zip(values, numbers, strict=True)]
    dtype = bool if kind in _TESTS else first.dtype
    return first.graph.add(kind, *values, shape=shape, dtype=dtype)


def _power(base: Tensor, exponent: float) -> Traced:
    if exponent in (1.0, 2.0, 3.0):
        return base if exponent == 1.0 else base * _power(base, exponent - 1.0)
    return base.graph.add("Sqrt", base) if exponent == 0.5 else _applied("Pow", base, exponent)


def _expm1(x: Traced) -> Traced:
    """Return exp(x) - 1 of numbers that are not positive, as kernels need it."""
    half = np.tanh(0.5 * x)
    return (half + half) / (1.0 - half)


def _log1p(x: Traced) -> Traced:
    """Return log(1 + x), in which the rounding of 1 + x cancels for small x."""
    rounded = 1.0 + x
    small = where(rounded == 1.0, x, np.log(rounded) * (x / (rounded - 1.0)))
    return where(x < 1.0, small, np.log(rounded))


_KINDS = {
    "absolute": "Abs",
    "bitwise_and": "And",
    "bitwise_or": "Or",
    "divide": "Div",
    "expit": "Sigmoid",
    "isnan": "IsNaN",
    "less_equal": "LessOrEqual",
    "matmul": "MatMul",
    "maximum": "Max",
    "minimum": "Min",
    "multiply": "Mul",
    "negative": "Neg",
    "subtract": "Sub",
}
"""Operators by the names of NumPy's functions, where they differ by more than a capital letter."""

_TESTS = ("And", "Equal", "Greater", "IsNaN", "Less", "LessOrEqual", "Or")
"""Operators whose values are true or false."""

_FORMULAS: dict[str, Any] = {
    "Copysign": lambda size, of: np.sign(of) * size,
    "Expm1": _expm1,
    "Log1p": _log1p,
    "Power": _power,
}
"""Functions of NumPy without an operator in double precision."""
