"""The interface of kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import singledispatch
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, gen_batches

from mercer._typing import Array, Features
from mercer.kernels._column_names import check_names
from mercer.kernels._distances import inner
from mercer.kernels._own_formula import OwnFormula, parameters
from mercer.kernels._structure import InnerProduct, PrecomputedGram, Structure

BLOCK_ROWS = 256
"""`vjp` handles this many rows at once, so that its temporary arrays stay in cache."""

N_STARTS = 9
"""A search by gradients may start from this many points, evenly spaced in its interval."""

GramTiles: TypeAlias = Callable[[slice, slice], tuple[Array, Callable[[Array], Array]]]
"""From some rows and columns of a Gram matrix to its values there, less the offset, and to a
function from P, of the same shape, to the derivatives of <P, K> in the log-parameters."""


class Kernel(OwnFormula):
    """A positive semi-definite function of two samples, differentiable in its log-parameters.

    Kernels are value objects: they hold parameters, never data, and no method changes them. They
    add and multiply: `Gaussian(2.0) + 0.5 * Linear()` is a `WeightedSum`, and
    `Gaussian() * Linear()` a `Product`. A kernel of one's own implements `values` and, if it has
    parameters, `theta`, `with_theta`, `log_bounds` and `contract`.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Kernel, Linear
    >>> kernel = Gaussian(bandwidth=2.0)
    >>> isinstance(kernel, Kernel), kernel.theta.round(3), kernel.diag([[0.0], [1.0]])
    (True, array([0.693]), array([1., 1.]))
    >>> (kernel + 0.5 * Linear()).describe()
    '1 x Gaussian, width 2 + 0.5 x Linear'
    """

    __array_ufunc__ = None  # NumPy leaves products of its numbers and a kernel to the kernel.

    accepts_sparse: bool = True
    """Whether the kernel can be evaluated on sparse features."""

    _names: Any = None

    accepts_missing: bool = False
    """Whether features that the kernel, or a part of it, is evaluated on may be missing (NaN)."""

    def __call__(self, X: Features, Z: Features | None = None) -> Array:
        """Gram matrix of the rows of `X` and `Z`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples_x, n_features)
        Z : array-like or sparse matrix of shape (n_samples_z, n_features), default=None
            The rows of `X` again where None.

        Returns
        -------
        ndarray of shape (n_samples_x, n_samples_z)
            float32 where both tables are float32, else float64.

        Raises
        ------
        ValueError
            If a table holds NaN or infinities, is not two-dimensional, or the widths differ.
        """
        if isinstance(self.structure, PrecomputedGram):
            return np.array(self.structure.from_stack(np.asarray(X)))
        check_names(X, self._names, Z)
        if hasattr(X, "columns"):
            return self.bind(X)(np.asarray(X), None if Z is None else np.asarray(Z))
        X, dtype = self._checked(X)
        if Z is not None:
            Z, dtype_z = self._checked(Z)
            dtype = np.promote_types(dtype, dtype_z)
            if X.shape[1] != Z.shape[1]:
                raise ValueError(
                    f"Incompatible dimension for X and Z matrices: X.shape[1] == {X.shape[1]} "
                    f"while Z.shape[1] == {Z.shape[1]}"
                )
        gram = self._shifted(X, Z)
        gram += self.offset
        return gram.astype(dtype, copy=False)

    def diag(self, X: Features) -> Array:
        """Diagonal of the Gram matrix, without the matrix.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_names(X, self._names)
        if hasattr(X, "columns"):
            return self.bind(X).diag(np.asarray(X))
        if isinstance(self.structure, PrecomputedGram):
            return np.array(np.einsum("ii->i", self.structure.from_stack(np.asarray(X))))
        X, dtype = self._checked(X)
        return (self._shifted_diag(X) + self.offset).astype(dtype, copy=False)

    def vjp(self, X: Features, P: Array, Z: Features | None = None) -> tuple[float, Array]:
        """Contract the Gram matrix and its gradient with a matrix of sensitivities.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples_x, n_features)
        P : ndarray of shape (n_samples_x, n_samples_z)
        Z : array-like or sparse matrix of shape (n_samples_z, n_features), default=None

        Returns
        -------
        value : float
            The inner product <P, K>.
        gradient : ndarray of shape (n_theta,)
            d<P, K> / d theta.

        Notes
        -----
        Rows are handled in blocks, so that besides `P` only a few hundred rows of a Gram matrix are
        in memory at once.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.kernels import Gaussian
        >>> value, gradient = Gaussian(bandwidth=2.0).vjp([[0.0], [2.0]], np.ones((2, 2)))
        >>> round(value, 3), gradient.round(3)
        (2.736, array([1.472]))
        """
        check_names(X, self._names, Z)
        if hasattr(X, "columns"):
            return self.bind(X).vjp(np.asarray(X), P, None if Z is None else np.asarray(Z))
        X, _ = self._checked(X)
        others = X if Z is None else self._checked(Z)[0]
        P = np.asarray(P)
        if P.shape != (X.shape[0], others.shape[0]):
            raise ValueError(
                f"P must have shape {(X.shape[0], others.shape[0])}, one entry for each of the "
                f"kernel's values; got {P.shape}."
            )
        value, gradient = 0.0, np.zeros(self.theta.size)
        for rows in gen_batches(X.shape[0], BLOCK_ROWS):
            start = rows.start if Z is None else None
            part, slope = self._contract(X[rows], P[rows], others, start)
            value += part
            gradient += slope
        return value, gradient

    def with_theta(self, theta: Array) -> Self:
        """The same kernel with other parameters.

        Parameters
        ----------
        theta : array-like of shape (n_theta,)
            Natural logarithms of the parameters.
        """
        if np.size(theta):
            raise ValueError(f"{type(self).__name__} has no parameters; got {np.size(theta)}.")
        return self

    def log_bounds(self, X: Features) -> Array:
        """Interval searched for each log-parameter, shape (n_theta, 2).

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
            Samples from which bounds are derived that are `"data"`.
        """
        return np.empty((0, 2))

    def starts(self, X: Features) -> Array:
        """Log-parameters to start a search from, shape (n_starts, n_theta).

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
        """
        bounds = self.log_bounds(X)
        inside = np.linspace(0.0, 1.0, N_STARTS + 2)[1:-1, None]
        return bounds[:, 0] + inside * (bounds[:, 1] - bounds[:, 0])

    @property
    def offset(self) -> float:
        """Constant that `_shifted` leaves out, the value that a wide kernel tends to.

        Centering removes constants anyway; without this one, nearly constant kernels keep their
        digits.
        """
        return 0.0

    def bind(self, X: Features) -> Self:
        """The same kernel for one table: column names become positions, `"median"` a number.

        With `ard`, a single width becomes one per feature.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        """
        return self

    def expand(self, X: Features) -> list[Kernel]:
        """The base kernels that a dictionary has for this entry: by default, the kernel itself."""
        return [self]

    @property
    def structure(self) -> Structure:
        """Structure of the kernel's formula, where one is known; see :class:`Structure`."""
        return Structure()

    def relevance(self, n_features: int) -> Array:
        """How strongly the kernel depends on each feature: 1 / width^2, or one in inner products.

        Parameters
        ----------
        n_features : int

        Returns
        -------
        ndarray of shape (n_features,)
            NaN where the formula is unknown, as of callables, precomputed matrices and kernels of
            one's own that do not override it.
        """
        return np.full(n_features, 1.0 if isinstance(self.structure, InnerProduct) else np.nan)

    def describe(self) -> str:
        """A short description for tables and figures."""
        return type(self).__name__

    def __add__(self, other: Any) -> Kernel:
        return added(self, other)

    def __radd__(self, other: Any) -> Kernel:
        # sum(kernels) begins with zero.
        is_start = isinstance(other, int) and other == 0
        return self if is_start else added.dispatch(Kernel)(other, self)

    def __mul__(self, other: Any) -> Kernel:
        return multiplied(self, other)

    def __rmul__(self, other: Any) -> Kernel:
        return multiplied.dispatch(Kernel)(other, self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> Any:
        """What kernels are compared by."""
        return parameters(self)

    def _checked(self, X: Features) -> tuple[Features, np.dtype[Any]]:
        sparse: Any = "csr" if self.accepts_sparse else False
        finite: Any = "allow-nan" if self.accepts_missing else True
        kinds = [np.float64, np.float32]
        X = check_array(X, accept_sparse=sparse, dtype=kinds, ensure_all_finite=finite)
        if self.accepts_missing:
            check_takes([self], X)
        return X.astype(np.float64, copy=False), X.dtype

    def _check_missing(self, X: Features) -> None:
        """Refuse missing values of features that the kernel does not take."""
        if not self.accepts_missing and _has_missing(X):
            raise ValueError(
                f"Input X contains NaN, and {self.describe()} takes no missing values: "
                "Missing(kernel) does."
            )

    def _shifted(self, X: Features, Z: Features | None) -> Array:
        """The Gram matrix less the offset, by which formulas of wide kernels keep digits."""
        return np.array(self.values(X, X if Z is None else Z), dtype=float) - self.offset

    def _shifted_at(self, Z: Features) -> Callable[[Features], Array]:
        """The kernel with rows Z, less its offset; what depends on Z alone is computed once."""
        return lambda X: self._shifted(X, Z)

    def _shifted_diag(self, X: Features) -> Array:
        return np.array(self.diagonal(X), dtype=float) - self.offset

    def _contract(
        self, X: Features, P: Array, Z: Features, start: int | None
    ) -> tuple[float, Array]:
        """<P, K> and its gradient in theta, for the Gram matrix K of `X` and `Z`.

        `start` is the index in `Z` of the first row of `X` where the rows of `X` are consecutive
        rows of `Z`, and None otherwise.
        """
        if self.theta.size:
            return self.contract(X, P, Z)
        return inner(P, self._shifted(X, Z)) + self.offset * float(P.sum()), np.empty(0)

    def _evaluated_on(self, X: Features) -> tuple[Kernel, Features]:
        """A kernel and a table with the same values, less the offset; rows are prepared once."""
        return self, X

    def _gram_tiles(self, X: Features) -> GramTiles | None:
        """Tiles that share distances between values and gradient; None if there are none."""
        return None


def gram_tile(kernel: Kernel, X: Features, rows: slice, columns: slice) -> Array:
    """Tile of a bound kernel's Gram matrix, less its offset; the table is not validated."""
    return kernel._shifted(X[rows], None if rows == columns else X[columns])


def gram_tile_vjp(
    kernel: Kernel, X: Features, P: Array, rows: slice, columns: slice
) -> tuple[float, Array]:
    """<P, K> and its gradient in theta over one tile of a bound kernel's Gram matrix."""
    part, same = X[rows], rows == columns
    return kernel._contract(part, P, part if same else X[columns], 0 if same else None)


def stack_values(kernel: Kernel, stack: Array) -> Array:
    """A kernel's Gram matrix from a stack of precomputed ones, or from a tile of the stack.

    Parameters
    ----------
    kernel : Kernel
    stack : ndarray of shape (n_rows, n_columns, n_kernels)

    Raises
    ------
    TypeError
        If the kernel reads features.
    """
    structure = kernel.structure
    if isinstance(structure, PrecomputedGram):
        return structure.from_stack(stack)
    raise TypeError(f"{kernel.describe()} reads features, not a stack of Gram matrices.")


@singledispatch
def added(first: Any, second: Any) -> Any:
    """Sum of two kernels, which the module of operators implements; `NotImplemented` of others."""
    return NotImplemented


@singledispatch
def multiplied(first: Any, second: Any) -> Any:
    """Product of kernels, and numbers, which the module of operators implements; see `added`."""
    return NotImplemented


def check_takes(kernels: Iterable[Kernel], X: Features) -> None:
    """Refuse a sparse table, or missing values, that a kernel does not take.

    Parameters
    ----------
    kernels : iterable of Kernel
        Bound to the table.
    X : ndarray or sparse matrix of shape (n_samples, n_features)

    Raises
    ------
    TypeError
        If the table is sparse and a kernel does not take sparse features.
    ValueError
        If values are missing that a kernel does not take.
    """
    sparse, missing = sp.issparse(X), _has_missing(X)
    for kernel in kernels:
        if sparse and not kernel.accepts_sparse:
            raise TypeError(
                "Sparse data was passed for X, but dense data is required by the kernel "
                f"{kernel.describe()}. Use '.toarray()' to convert to a dense numpy array."
            )
        if missing:
            kernel._check_missing(X)


def _has_missing(X: Features) -> bool:
    values: Any = X.data if sp.issparse(X) else X
    return bool(np.isnan(values).any())
