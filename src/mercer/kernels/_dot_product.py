"""Kernels that depend on the inner product of two samples."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from mercer._data.types import Array, Features
from mercer.kernels._distances import Bounds, inner, log_interval, products, rows_squared
from mercer.kernels._kernel import Kernel
from mercer.kernels._structure import InnerProduct, Structure


@dataclass(eq=False, repr=False)
class Linear(Kernel):
    """Linear kernel, x'z, for linear functions.

    Parameters
    ----------
    per_feature : bool, default=False
        Whether the kernel, in a list of kernels to combine, stands for one kernel x_z x'_z for each
        feature z. Thousands of such kernels, whose rank is one, are processed without an n x n
        matrix.

    References
    ----------
    Cortes, Mohri, Rostamizadeh (2010), section 5 (rank-one kernels).

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear()([[1.0, 2.0], [3.0, 0.0]])
    array([[5., 3.],
           [3., 9.]])
    >>> len(Linear(per_feature=True).expand([[1.0, 2.0], [3.0, 0.0]]))
    2
    """

    accepts_array_api = True

    _: KW_ONLY
    per_feature: bool = False

    def expand(self, X: Features) -> list[Kernel]:
        """Return one kernel per feature with `per_feature`, and the kernel itself otherwise."""
        if not self.per_feature:
            return [self]
        from mercer.kernels._on_columns import OnColumns

        return [OnColumns(Linear(), [z]) for z in range(np.shape(X)[1])]

    @property
    def structure(self) -> Structure:
        """Structure of the formula: the inner product of all columns."""
        return InnerProduct()

    def _shifted(self, X: Features, Z: Features | None) -> Array:
        return products(X, X if Z is None else Z)

    def _shifted_diag(self, X: Features) -> Array:
        return rows_squared(X)


@dataclass(eq=False, repr=False)
class Polynomial(Kernel):
    """Polynomial kernel, (gamma x'z + coef0)^degree, for polynomials of the features.

    Parameters
    ----------
    degree : int, default=2
        A positive whole number, which is not learned.
    gamma : float, default=1.0
        Scale of the inner product, in inverse squared units of the features.
    coef0 : float, default=1.0
        Nonnegative, dimensionless constant. It is not learned, since a common factor of `gamma`
        and `coef0` only rescales the kernel.
    bounds : "data" or (float, float), default="data"
        Interval in which `gamma` is searched. With `"data"`, it ranges from a thousandth of the
        inverse mean squared norm of the samples to a thousand times this inverse.

    Examples
    --------
    >>> from mercer.kernels import Polynomial
    >>> Polynomial(degree=2)([[1.0], [2.0]])
    array([[ 4.,  9.],
           [ 9., 25.]])
    """

    accepts_array_api = True

    degree: int = 2
    _: KW_ONLY
    gamma: float = 1.0
    coef0: float = 1.0
    bounds: Bounds = "data"

    @property
    def theta(self) -> Array:
        """Logarithm of gamma, shape (1,)."""
        self._check()
        return np.array([np.log(self.gamma)])

    def with_theta(self, theta: Array) -> Polynomial:
        """Return the same kernel with another gamma."""
        gamma = float(np.exp(np.asarray(theta).item()))
        return type(self)(self.degree, gamma=gamma, coef0=self.coef0, bounds=self.bounds)

    def log_bounds(self, X: Features) -> Array:
        """Return the interval of log gamma, shape (1, 2)."""
        given = log_interval(self.bounds)
        if given is not None:
            return given[None, :]
        mean_square = float(rows_squared(X).mean()) or 1.0
        return np.log([[1e-3 / mean_square, 1e3 / mean_square]])

    def relevance(self, n_features: int) -> Array:
        """Return the derivative in the inner product at zero as the relevance of each feature.

        If `coef0` is zero, the relevance is `gamma`, because this derivative may vanish.
        """
        self._check()
        slope = self.degree * self.coef0 ** (self.degree - 1) if self.coef0 else 1.0
        return np.full(n_features, slope * self.gamma)

    def describe(self) -> str:
        """Return the name, degree and gamma."""
        return f"Polynomial, degree {self.degree}, gamma {self.gamma:.3g}"

    def _check(self) -> None:
        if not (np.isfinite(self.gamma) and self.gamma > 0):
            raise ValueError(f"gamma must be positive and finite; got {self.gamma!r}.")
        if not (np.isfinite(self.coef0) and self.coef0 >= 0):
            raise ValueError(f"coef0 must be finite and not negative; got {self.coef0!r}.")
        if self.degree < 1 or int(self.degree) != self.degree:
            raise ValueError(f"degree must be a positive whole number; got {self.degree!r}.")

    def _base(self, inner_products: Array) -> Array:
        self._check()
        inner_products *= self.gamma
        inner_products += self.coef0
        return inner_products

    def _shifted(self, X: Features, Z: Features | None) -> Array:
        base = self._base(products(X, X if Z is None else Z))
        base **= self.degree
        return base

    def _shifted_diag(self, X: Features) -> Array:
        return self._base(rows_squared(X)) ** self.degree

    def _contract(
        self, X: Features, P: Array, Z: Features, start: int | None
    ) -> tuple[float, Array]:
        base = self._base(products(X, Z))
        lower = base ** (self.degree - 1)
        slope = self.degree * inner(P, lower * (base - self.coef0))
        return inner(P, lower * base), np.array([slope])
