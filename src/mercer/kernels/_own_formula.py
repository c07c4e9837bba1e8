"""The methods of user-defined kernels, and the parameters by which kernels are compared."""

from collections.abc import Hashable
from functools import cache, singledispatch

import numpy as np
from sklearn.base import BaseEstimator

from mercer._data.types import Array, Features


class OwnFormula(BaseEstimator):
    """The methods by which a subclass of `Kernel` defines its formula."""

    _names: Array | None = None

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Return the parameters' names, which are cached because searches use them repeatedly."""
        return list(super()._get_param_names())

    @property
    def theta(self) -> Array:
        """Natural logarithms of the kernel's parameters, shape (n_theta,)."""
        return np.empty(0)

    def values(self, X: Features, Z: Features) -> Array:
        """Evaluate the formula of a user-defined kernel; other kernels are evaluated by calls.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples_x, n_features)
            Validated samples.
        Z : ndarray or sparse matrix of shape (n_samples_z, n_features)

        Returns
        -------
        ndarray of shape (n_samples_x, n_samples_z)
        """
        raise NotImplementedError(f"{type(self).__name__} must implement values.")

    def diagonal(self, X: Features) -> Array:
        """Return the kernel of each sample with itself, for a user-defined kernel.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
            Validated samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            By default, the formula evaluated sample by sample.
        """
        return np.array([self.values(X[i : i + 1], X[i : i + 1]).item() for i in range(X.shape[0])])

    def contract(self, X: Features, P: Array, Z: Features) -> tuple[float, Array]:
        """Return <P, K> and its gradient in `theta`, for a user-defined kernel with parameters.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples_x, n_features)
            Validated samples.
        P : ndarray of shape (n_samples_x, n_samples_z)
        Z : ndarray or sparse matrix of shape (n_samples_z, n_features)

        Returns
        -------
        value : float
        gradient : ndarray of shape (n_theta,)
        """
        raise NotImplementedError(f"{type(self).__name__} must implement contract.")


_PLAIN = frozenset({bool, int, float, str})
"""Types of values that are their own contents."""


@singledispatch
def content(value: object) -> Hashable:
    """Convert the contents of a kernel to a hashable object of types and exact values.

    Parameters
    ----------
    value : object
        Any object; kernels are converted by their own method.

    Examples
    --------
    >>> content([1.0, slice(2)])
    (1.0, ('slice', None, 2, None))
    """
    if hasattr(value, "_identity"):
        return value._identity()
    return parameters(value) if hasattr(value, "get_params") else value


def parameters(estimator: BaseEstimator) -> Hashable:
    """Return the type of an estimator and the contents of its parameters.

    Parameters
    ----------
    estimator : object
        Object with a method `get_params`.
    """
    found = estimator.get_params(deep=False)
    return type(estimator), *((name, content(found[name])) for name in sorted(found))


@content.register
def _(value: np.ndarray) -> Hashable:
    plain = value.ndim == 1 and value.dtype != object
    return tuple(value.tolist()) if plain else content(value.tolist())


@content.register
def _(value: slice) -> Hashable:
    return "slice", value.start, value.stop, value.step


@content.register(list)
@content.register(tuple)
def _(value: list[object] | tuple[object, ...]) -> Hashable:
    # Lists of columns may be long, and are compared for each tile.
    return tuple(value) if _PLAIN.issuperset(map(type, value)) else tuple(map(content, value))
