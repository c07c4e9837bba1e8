"""What kernels are compared by: the types and exact values of their parameters."""

from functools import singledispatch
from typing import Any

import numpy as np


@singledispatch
def content(value: Any) -> Any:
    """Types and exact values of what a kernel holds, as something that can be hashed.

    Parameters
    ----------
    value : object
        Kernels say it themselves.

    Examples
    --------
    >>> content([1.0, slice(2)])
    (1.0, ('slice', None, 2, None))
    """
    if hasattr(value, "_identity"):
        return value._identity()
    return parameters(value) if hasattr(value, "get_params") else value


def parameters(estimator: Any) -> Any:
    """The type of an estimator, and the contents of its parameters.

    Parameters
    ----------
    estimator : object
        With a method `get_params`.
    """
    found = estimator.get_params(deep=False)
    return type(estimator), *((name, content(found[name])) for name in sorted(found))


@content.register
def _(value: np.ndarray) -> Any:
    return content(value.tolist())


@content.register
def _(value: slice) -> Any:
    return "slice", value.start, value.stop, value.step


@content.register(list)
@content.register(tuple)
def _(value: Any) -> Any:
    return tuple(map(content, value))
