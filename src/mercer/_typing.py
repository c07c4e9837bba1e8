"""Types of arrays and tables for annotations, and a decorator of scikit-learn with types."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.utils import metaestimators

Array: TypeAlias = npt.NDArray[Any]
"""A dense array."""

Features: TypeAlias = Any
"""A table of samples: a dense array, a sparse matrix or a data frame."""

RandomState: TypeAlias = int | np.random.RandomState | None
"""What draws random numbers: a seed, a generator or None."""

Method = TypeVar("Method", bound=Callable[..., Any])


def own_fields(found: Any) -> dict[str, Any]:
    """Fields of a dataclass, without what it keeps of its own computations: what is saved of it.

    Parameters
    ----------
    found : dataclass
    """
    return {field.name: getattr(found, field.name) for field in fields(found)}


def available_if(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """Return the decorator of methods that an estimator has where `check` holds for it."""
    decorator: Callable[[Method], Method] = metaestimators.available_if(check)
    return decorator
