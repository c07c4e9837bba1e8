"""Sums over given samples of kernel values times coefficients, as functions of new rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import is_
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._data.types import Array, Features, own_fields
from mercer._gram.tiles import CACHED_VALUES
from mercer.kernels import Kernel
from mercer.kernels._kernel import check_takes
from mercer.kernels._minkowski import slices

_KEPT_VALUES = 2**23
"""Tables of more values are scaled anew for each call, so that memory holds no second copy."""


@dataclass(frozen=True)
class KernelSum:
    """A function of rows, sum_i c_i (k(x, z_i) - offset) + constant.

    What depends on the samples alone is computed once, and is not saved.

    Attributes
    ----------
    kernel : Kernel
        A kernel that is bound to the table.
    samples : ndarray or sparse matrix of shape (n_samples, n_features)
        The samples z_i.
    coefficients : ndarray of shape (n_samples, n_outputs)
    constant : ndarray of shape (n_outputs,)
    """

    kernel: Kernel
    samples: Features
    coefficients: Array
    constant: Array

    @classmethod
    def at_used(
        cls, kernel: Kernel, samples: Features, coefficients: Array, constant: Array
    ) -> KernelSum:
        """Return the sum over samples whose coefficients are larger than rounding errors."""
        used = used_rows(coefficients)
        if not used.all():
            samples, coefficients = samples[np.flatnonzero(used)], coefficients[used]
        return cls(kernel, samples, coefficients, constant)

    def __call__(self, X: Features) -> Array:
        """Return the values of the function, shape (n_rows, n_outputs).

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
            Validated rows.
        """
        if self.kernel.accepts_missing:
            check_takes([self.kernel], X)
        found = np.zeros((X.shape[0], len(self.constant)))
        found += self.constant
        if not len(self.coefficients):
            return found
        X, values = X.astype(np.float64, copy=False), self._values()
        # Kernel values of a block of rows stay in the cache.
        size = max(4 * CACHED_VALUES // len(self.coefficients), 64)
        for rows in slices(X.shape[0], size):
            found[rows] += values(X[rows]) @ self.coefficients
        return found

    def _values(self) -> Callable[[Features], Array]:
        """Return the function from rows to their kernel with the samples, less its offset."""
        known: Callable[[Features], Array] | None = vars(self).get("_known")
        if known is None:
            known = self.kernel._shifted_at(self.samples.astype(np.float64, copy=False))
            size = self.samples.nnz if sp.issparse(self.samples) else self.samples.size
            if size <= _KEPT_VALUES:
                vars(self)["_known"] = known
        return known

    __getstate__ = own_fields


def used_rows(coefficients: Array) -> Array:
    """Return which rows of coefficients are larger than rounding errors, shape (n_samples,).

    Centering subtracts the mean coefficient, so that coefficients that were zero are rounding
    errors.

    Parameters
    ----------
    coefficients : ndarray of shape (n_samples, n_outputs)
    """
    sizes = np.abs(coefficients)
    return np.asarray(sizes.max(axis=1) > np.finfo(float).eps * sizes.max(initial=0.0))


class RecalledSum:
    """A sum that is made when it is first needed, and again when a part of it is replaced."""

    def __init__(self) -> None:
        self._known: tuple[tuple[object, ...], KernelSum] | None = None

    def of(self, parts: tuple[object, ...], make: Callable[[], KernelSum]) -> KernelSum:
        """Return the sum.

        Parameters
        ----------
        parts : tuple of object
            What the sum is made from.
        make : callable
            Makes the sum.
        """
        known = self._known
        if known is None or not all(map(is_, known[0], parts)):
            known = self._known = parts, make()
        return known[1]


class RecalledSumMixin:
    """Recalls the sum by which a fitted estimator predicts; copies and files do not hold it."""

    _recalled: RecalledSum

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {name: value for name, value in state.items() if name != "_recalled"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[misc]
        if "kernel_" in state:
            self._recalled = RecalledSum()
