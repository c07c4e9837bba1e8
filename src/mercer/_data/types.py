"""Type aliases for arrays and tables, and a typed version of a scikit-learn decorator."""

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
"""A source of random numbers: a seed, a generator or None."""

Method = TypeVar("Method", bound=Callable[..., Any])


def own_fields(found: Any) -> dict[str, Any]:
    """Return the declared fields of a dataclass, which are saved, without cached values.

    Parameters
    ----------
    found : dataclass
    """
    return {field.name: getattr(found, field.name) for field in fields(found)}


def available_if(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """Return a decorator of methods that are available only if `check` holds for the estimator."""
    decorator: Callable[[Method], Method] = metaestimators.available_if(check)
    return decorator
