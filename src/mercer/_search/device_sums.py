"""Weighted sums of kernels between all samples, and their gradients, on a card."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._data.types import AnyArray, Array, Features
from mercer._gram.devices import LEAST_ROWS, Device, current_device, device_with_room
from mercer.kernels._distances import inner
from mercer.kernels._kernel import Kernel


@dataclass(frozen=True)
class DeviceSum:
    """A weighted sum of kernels between all samples, on a device in double precision.

    Attributes
    ----------
    values : list of array of shape (n_samples, n_samples)
        Gram matrices of the kernels less their offsets.
    gradients : list of callable
        Functions from a matrix P to the derivatives of <P, K> in each kernel's log-parameters.
    offsets, weights : list of float
    xp : module
        Namespace of the library of the arrays.
    """

    values: list[AnyArray]
    gradients: list[Callable[[AnyArray], Array]]
    offsets: list[float]
    weights: list[float]
    xp: Any

    @classmethod
    def of(cls, kernels: Sequence[Kernel], weights: Array, X: Array, device: Device) -> DeviceSum:
        """Evaluate kernels that take arrays of the device's library; see :func:`device_for_sum`.

        Parameters
        ----------
        kernels : sequence of Kernel
        weights : ndarray of shape (n_kernels,)
        X : ndarray of shape (n_samples, n_features)
        device : Device
        """
        table, everything = device.put(X), slice(0, len(X))
        tiles = [kernel._gram_tiles(table) for kernel in kernels]
        found = [tile(everything, everything) for tile in tiles if tile is not None]
        values, gradients = [v for v, _ in found], [gradient for _, gradient in found]
        offsets = [kernel.offset for kernel in kernels]
        return cls(values, gradients, offsets, weights.tolist(), device.xp)

    @property
    def gram(self) -> AnyArray:
        """The Gram matrix of the sum."""
        total = self.weights[0] * (self.values[0] + self.offsets[0])
        rest = zip(self.weights[1:], self.offsets[1:], self.values[1:], strict=True)
        for weight, offset, values in rest:
            total += weight * (values + offset)
        return total

    def contracted(self, P: AnyArray) -> Array:
        """Return the derivatives of <P, K> in all log-parameters, then <P, K>, of each kernel.

        Parameters
        ----------
        P : array of shape (n_samples, n_samples)
        """
        total = float(self.xp.sum(P))
        slopes = [gradient(P) for gradient in self.gradients]
        products = [inner(P, values) for values in self.values]
        return np.concatenate([*slopes, np.array(products) + np.array(self.offsets) * total])


def device_for_sum(kernels: Sequence[Kernel], X: Features) -> Device | None:
    """Return the device on which a sum is evaluated, None for the processor.

    Kernels need one width per feature, and formulas that accept arrays of other libraries.

    Parameters
    ----------
    kernels : sequence of Kernel
    X : ndarray, sparse matrix or stack of Gram matrices
    """
    if current_device() is None or not isinstance(X, np.ndarray) or len(X) < LEAST_ROWS:
        return None
    for kernel in kernels:
        if X.ndim != 2 or not kernel.accepts_array_api or kernel._gram_tiles(X[:2]) is None:
            return None
    # The sum, its factor, their inverses and a temporary matrix, and four for each kernel.
    size = (5.0 + 4.0 * len(kernels)) * 8.0 * len(X) ** 2
    return device_with_room(size, f"the marginal likelihood of {len(X):,} rows")
