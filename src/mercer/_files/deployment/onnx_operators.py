"""Functions that append operators to an ONNX graph under construction."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from skl2onnx.common._container import ModelComponentContainer
    from skl2onnx.common._topology import Scope


Tensor: TypeAlias = str
"""Name of a tensor of the graph."""

TensorViews: TypeAlias = dict[Any, Tensor]
"""The tensor of each view of a table, by the name of the view."""


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


@dataclass(frozen=True)
class Operators:
    """A callable that appends operators to a graph of skl2onnx, with reals in double precision.

    Attributes
    ----------
    scope : skl2onnx.common._topology.Scope
        Creates unique names.
    container : skl2onnx.common._container.ModelComponentContainer
        Holds nodes and constants.
    """

    scope: Scope
    container: ModelComponentContainer

    def __call__(
        self, kind: str, *inputs: Tensor | npt.ArrayLike, domain: str = "", **attributes: object
    ) -> Tensor:
        """Append a node with one output.

        Parameters
        ----------
        kind : str
            Name of the operator.
        *inputs : str, float or ndarray
            Names of tensors, or the values of constants.
        domain : str, default=""
        **attributes : object

        Returns
        -------
        str
            Name of the output.
        """
        names = [found if isinstance(found, str) else self.constant(found) for found in inputs]
        output = self.scope.get_unique_variable_name(kind)
        self.container.add_node(kind, names, output, op_domain=domain, **attributes)
        return str(output)

    def constant(self, values: npt.ArrayLike) -> Tensor:
        """Append a constant of numbers or text."""
        array = np.asarray(values)
        name = self.scope.get_unique_variable_name("constant")
        kind = onnx().helper.np_dtype_to_tensor_dtype(array.dtype)
        self.container.add_initializer(name, kind, array.shape, array.ravel())
        return str(name)

    def cast(self, tensor: Tensor, dtype: npt.DTypeLike = np.float64) -> Tensor:
        """Cast a tensor to another type."""
        return self("Cast", tensor, to=onnx().helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def total(self, tensors: list[Tensor]) -> Tensor:
        """Add tensors."""
        found = tensors[0]
        for other in tensors[1:]:
            found = self("Add", found, other)
        return found

    def joined(self, tensors: list[Tensor]) -> Tensor:
        """Concatenate the columns of tensors."""
        return tensors[0] if len(tensors) == 1 else self("Concat", *tensors, axis=1)
