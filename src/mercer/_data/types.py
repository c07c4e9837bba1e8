"""Type aliases for arrays and tables, and a typed version of a scikit-learn decorator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from sklearn.base import BaseEstimator


Array: TypeAlias = npt.NDArray[Any]
"""A dense array."""

AnyArray: TypeAlias = Any
"""A dense array of NumPy, or of another library of the array API standard, on any device."""

Features: TypeAlias = Any
"""A table of samples: a dense array, a sparse matrix or a data frame."""

Table: TypeAlias = Any
"""What users pass as X: array-like, sparse matrix, data frame, Dask collection or block source."""

PerSample: TypeAlias = npt.ArrayLike | None
"""A value, or a row of values, for each sample: targets, weights or groups; or None."""

Rows: TypeAlias = npt.NDArray[np.intp] | npt.NDArray[np.bool_] | slice
"""Which rows of a table: their positions, a mask or a slice."""

RandomState: TypeAlias = int | np.random.RandomState | None
"""A source of random numbers: a seed, a generator or None."""

ClassWeight: TypeAlias = Mapping[Any, float] | str | None
"""Weights of classes by label, "balanced", or None for equal weights."""

Scoring: TypeAlias = str | Callable[..., float] | None
"""The name of a scorer, a scorer itself, or None for the estimator's own criterion."""

Penalties: TypeAlias = str | Real | npt.ArrayLike
"""A penalty, several to try, or "auto"."""


class Splitter(Protocol):
    """A cross-validation generator of scikit-learn."""

    def split(
        self, X: Table, y: npt.ArrayLike | None = None, groups: npt.ArrayLike | None = None
    ) -> Iterable[tuple[Array, Array]]:
        """Yield training and held-out rows of each fold."""
        ...


Fold: TypeAlias = tuple[npt.ArrayLike, npt.ArrayLike]
"""Training and held-out rows."""

CrossValidator: TypeAlias = int | Integral | Splitter | Iterable[Fold] | None
"""A number of folds, a generator of folds, listed folds, or None for the estimator's default."""

Method = TypeVar("Method", bound=Callable[..., Any])


def own_fields(found: DataclassInstance) -> dict[str, object]:
    """Return the declared fields of a dataclass, which are to be saved, without cached values."""
    return {field.name: getattr(found, field.name) for field in fields(found)}


def available_if(check: Callable[[BaseEstimator], bool]) -> Callable[[Method], Method]:
    """Return a decorator of methods that are available only if `check` holds for the estimator."""
    from sklearn.utils import metaestimators

    return metaestimators.available_if(check)
