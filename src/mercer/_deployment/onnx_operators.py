"""Nodes of an ONNX graph under construction, by the operators that make them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from mercer._typing import Array

Tensor: TypeAlias = str
"""Name of a tensor of the graph."""


def onnx() -> Any:
    """The package onnx.

    Raises
    ------
    ModuleNotFoundError
        With a remedy, if it is not installed.
    """
    try:
        import onnx as package
    except ImportError as error:
        raise ModuleNotFoundError(
            "to_onnx needs the package onnx: pip install 'mercer[onnx]'."
        ) from error
    return package


@dataclass
class Nodes:
    """Nodes and constants of a graph, in order.

    Attributes
    ----------
    nodes : list of NodeProto
    constants : dict of str to TensorProto
    prefix : str
        Of the names of tensors: no input has it, and graphs inside have longer ones.
    """

    nodes: list[Any] = field(default_factory=list)
    constants: dict[Any, Any] = field(default_factory=dict)
    prefix: str = ""


@dataclass(frozen=True)
class Operators:
    """A function that appends operators to a graph; real constants have one precision.

    Attributes
    ----------
    dtype : dtype
        Of real constants, float32 or float64.
    graph : Nodes
    """

    dtype: Any
    graph: Nodes = field(default_factory=Nodes)

    def __call__(self, kind: str, *inputs: Any, domain: str = "", **attributes: Any) -> Tensor:
        """Append a node of one output.

        Parameters
        ----------
        kind : str
            Name of the operator.
        *inputs : str, float or ndarray
            Names of tensors, or constants.
        domain : str, default=""
        **attributes : object

        Returns
        -------
        str
            Name of the output.
        """
        names = [found if isinstance(found, str) else self.constant(found) for found in inputs]
        output = f"{self.graph.prefix}t{len(self.graph.nodes)}"
        make = onnx().helper.make_node
        self.graph.nodes.append(make(kind, names, [output], domain=domain, **attributes))
        return output

    def constant(self, values: Any) -> Tensor:
        """A constant: real numbers in the precision, whole numbers and text as they are."""
        array = np.asarray(values)
        if array.dtype.kind == "f":
            with np.errstate(over="ignore"):
                array = array.astype(self.dtype)
        elif array.dtype.kind in "US":
            array = array.astype(object)
        content = str(array.tolist()) if array.dtype == object else array.tobytes()
        key = str(array.dtype), array.shape, content
        if key not in self.graph.constants:
            name = f"{self.graph.prefix}c{len(self.graph.constants)}"
            tensor = onnx().numpy_helper.from_array(np.ascontiguousarray(array), name)
            # Scalars stay scalars.
            tensor.ClearField("dims")
            tensor.dims.extend(array.shape)
            self.graph.constants[key] = tensor
        return str(self.graph.constants[key].name)

    def cast(self, tensor: Tensor) -> Tensor:
        """The tensor in this precision."""
        return self("Cast", tensor, to=self.element)

    def at(self, dtype: Any) -> Operators:
        """The same graph with constants of another precision."""
        return replace(self, dtype=np.dtype(dtype))

    @property
    def element(self) -> int:
        """ONNX's number of the precision."""
        return int(onnx().helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype)))

    def total(self, tensors: list[Tensor]) -> Tensor:
        """Sum of some tensors."""
        found = tensors[0]
        for other in tensors[1:]:
            found = self("Add", found, other)
        return found

    def joined(self, tensors: list[Tensor]) -> Tensor:
        """Columns of some tensors side by side."""
        return tensors[0] if len(tensors) == 1 else self("Concat", *tensors, axis=1)


def polynomial(op: Operators, x: Tensor, coefficients: Array) -> Tensor:
    """Value of a polynomial, the highest coefficient first."""
    found: Any = float(coefficients[0])
    for coefficient in coefficients[1:]:
        found = op("Add", op("Mul", found, x), float(coefficient))
    return str(found)


def _rows(*lines: str) -> tuple[Array, Array]:
    """Coefficients of a numerator and a denominator."""
    numbers = np.array(" ".join(lines).split(), dtype=float)
    return numbers[:8], numbers[8:]


_CENTRAL = _rows(
    "2509.0809287301226727 33430.575583588128105 67265.770927008700853 45921.953931549871457",
    "13731.693765509461125 1971.5909503065514427 133.14166789178437745 3.3871328727963666080",
    "5226.4952788528545610 28729.085735721942674 39307.895800092710610 21213.794301586595867",
    "5394.1960214247511077 687.18700749205790830 42.313330701600911252 1",
)
_TAIL = _rows(
    "7.7454501427834140764e-4 .0227238449892691845833 .241780725177450611770",
    "1.27045825245236838258 3.64784832476320460504 5.76949722146069140550",
    "4.63033784615654529590 1.42343711074968357734",
    "1.05075007164441684324e-9 5.475938084995344946e-4 .0151986665636164571966",
    ".148103976427480074590 .689767334985100004550 1.67638483018380384940",
    "2.05319162663775882187 1",
)


def normal_quantile(op: Operators, p: Tensor) -> Tensor:
    """Quantiles of the standard normal law for probabilities of 1e-10 and more from 0 and 1.

    References
    ----------
    M. J. Wichura (1988). Algorithm AS 241: The percentage points of the normal distribution.
    Applied Statistics 37. Its relative error is 1e-16.
    """

    def ratio(x: Tensor, coefficients: tuple[Array, Array]) -> Tensor:
        above, below = (polynomial(op, x, some) for some in coefficients)
        return op("Div", above, below)

    q = op("Sub", p, 0.5)
    r = op("Sub", 0.180625, op("Mul", q, q))
    central = op("Mul", q, ratio(r, _CENTRAL))
    smaller = op("Min", p, op("Sub", 1.0, p))
    s = op("Sub", op("Sqrt", op("Neg", op("Log", smaller))), 1.6)
    tail = op("Mul", op("Sign", q), ratio(s, _TAIL))
    return op("Where", op("LessOrEqual", op("Abs", q), 0.425), central, tail)
