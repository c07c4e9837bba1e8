"""Kernels as sums of functions of distances, in terms of the array API standard."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np

from mercer._nystroem.array_libraries import like, namespace_of
from mercer._typing import Array
from mercer.kernels import (
    ExponentialPower,
    Gaussian,
    Kernel,
    OnColumns,
    OnProjection,
    WeightedSum,
)
from mercer.kernels._minkowski import dense_powers

_NORMS = (1.0, 2.0)
"""Of the distances that are computed here."""


@dataclass(frozen=True)
class DistanceTerm:
    """A weighted function of a distance of linearly mapped features, w exp(-|Ax - Az|_p^q).

    Attributes
    ----------
    weight : float
        w.
    mapping : ndarray of shape (n_features,) or (n_features, n_components)
        What features are multiplied by, each by its own factor; or A'.
    norm, power : float
        p and q.
    """

    weight: float
    mapping: Array
    norm: float
    power: float


@singledispatch
def distance_terms(kernel: Kernel, n_features: int) -> list[DistanceTerm] | None:
    """The terms that a kernel is the sum of; None if they are unknown.

    Parameters
    ----------
    kernel : Kernel
        Bound to a table.
    n_features : int
        Number of features of the table.
    """
    return None


@distance_terms.register
def _(kernel: Gaussian, n_features: int) -> list[DistanceTerm] | None:
    return [DistanceTerm(1.0, _factors(kernel, n_features), 2.0, 2.0)]


@distance_terms.register
def _(kernel: ExponentialPower, n_features: int) -> list[DistanceTerm] | None:
    if kernel.norm not in _NORMS:
        return None
    return [DistanceTerm(1.0, _factors(kernel, n_features), kernel.norm, kernel.power)]


@distance_terms.register
def _(kernel: WeightedSum, n_features: int) -> list[DistanceTerm] | None:
    total: list[DistanceTerm] = []
    for weight, part in zip(kernel.weights, kernel.kernels, strict=True):
        terms = distance_terms(part, n_features)
        if terms is None:
            return None
        if weight != 0.0:
            total += [replace(term, weight=term.weight * float(weight)) for term in terms]
    return total or None


@distance_terms.register
def _(kernel: OnProjection, n_features: int) -> list[DistanceTerm] | None:
    A = np.asarray(kernel.projection, dtype=float)
    terms = distance_terms(kernel.kernel, A.shape[1])
    if terms is None:
        return None
    inner = (term.mapping for term in terms)
    maps = [A @ inside if inside.ndim == 2 else A * inside for inside in inner]
    return [replace(term, mapping=found) for term, found in zip(terms, maps, strict=True)]


@distance_terms.register
def _(kernel: OnColumns, n_features: int) -> list[DistanceTerm] | None:
    positions = kernel._positions(n_features)
    terms = distance_terms(kernel.kernel, len(positions))
    if terms is None:
        return None
    found = []
    for term in terms:
        mapping = np.zeros((n_features, *term.mapping.shape[1:]))
        mapping[positions] = term.mapping
        found.append(replace(term, mapping=mapping))
    return found


def _factors(kernel: Gaussian | ExponentialPower, n_features: int) -> Array:
    return np.sqrt(kernel.relevance(n_features))


class TermColumns:
    """Values of a sum of terms between rows and centers, less the value at distance zero.

    Parameters
    ----------
    terms : list of DistanceTerm
    centers : ndarray of shape (n_centers, n_features)
    X : array
        Of the library, and on the device, that rows will have.

    Notes
    -----
    Features are centered at the mean of the centers, as a large common offset costs digits.
    Euclidean distances are computed from a matrix product; sums of absolute differences feature by
    feature, on arrays of NumPy in a compiled loop.
    """

    def __init__(self, terms: list[DistanceTerm], centers: Array, X: Any) -> None:
        self._xp = namespace_of(X)
        mean = centers.mean(axis=0)
        self._mean = like(mean, X)
        self._terms = []
        for term in terms:
            mapped = _mapped(centers - mean, term.mapping)
            squares = np.square(mapped).sum(axis=1)
            arrays = (term.mapping, mapped.T, squares)
            self._terms.append((term, *(like(array, X) for array in arrays)))

    def __call__(self, X: Any) -> Any:
        """Values at rows of the same library, in double precision, shape (n_rows, n_centers).

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
        """
        X = X - self._mean
        total = None
        for term, mapping, centers, squares in self._terms:
            mapped = _mapped(X, mapping)
            if term.norm == 2.0:
                exponents = self._squared(mapped, centers, squares)
                if term.power != 2.0:
                    exponents *= -1.0
                    exponents = self._raised(exponents, 0.5 * term.power)
                    exponents *= -1.0
            else:
                exponents = self._raised(self._absolute(mapped, centers), term.power)
                exponents *= -1.0
            values = self._overwritten(self._xp.expm1, exponents)
            if term.weight != 1.0:
                values *= term.weight
            if total is None:
                total = values
            else:
                total += values
        return total

    def _squared(self, mapped: Any, centers: Any, squares: Any) -> Any:
        """-|x - z|^2 for each row x and center z."""
        negative = self._xp.matmul(2.0 * mapped, centers)
        negative -= self._xp.sum(mapped * mapped, axis=1)[:, None]
        negative -= squares
        # Rounding errors above zero.
        return self._overwritten(self._xp.minimum, negative, self._xp.zeros_like(squares))

    def _absolute(self, mapped: Any, centers: Any) -> Any:
        """Sums over features of |x - z|."""
        if self._xp is np:
            return dense_powers(mapped, centers.T, 1.0)
        total = self._xp.abs(mapped[:, :1] - centers[:1, :])
        for feature in range(1, mapped.shape[1]):
            step = slice(feature, feature + 1)
            total += self._xp.abs(mapped[:, step] - centers[step, :])
        return total

    def _overwritten(self, function: Any, X: Any, *others: Any) -> Any:
        """A function's values, in the memory of its argument where the library allows it."""
        return function(X, *others, out=X) if self._xp is np else function(X, *others)

    def _raised(self, distances: Any, exponent: float) -> Any:
        if exponent == 1.0:
            return distances
        if exponent == 0.5:
            return self._overwritten(self._xp.sqrt, distances)
        return distances**exponent


def _mapped(X: Any, mapping: Any) -> Any:
    return X * mapping if mapping.ndim == 1 else X @ mapping
