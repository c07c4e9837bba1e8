"""The interface of kernels."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import singledispatch
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import check_array, gen_batches

from mercer._data.types import Array, Features
from mercer._data.validation import refused_dates
from mercer.kernels._column_names import are_rows, check_names
from mercer.kernels._distances import Pairs, inner
from mercer.kernels._own_formula import OwnFormula, parameters
from mercer.kernels._structure import InnerProduct, PrecomputedGram, Structure

BLOCK_ROWS = 256
"""`vjp` handles this many rows at once, so that its temporary arrays stay in cache."""

N_STARTS = 9
"""Number of points, evenly spaced in its interval, from which a gradient search may start."""

ValueTiles: TypeAlias = Callable[[slice, slice], Array]
"""Maps slices of rows and of columns to values of shape (n_rows, n_columns)."""

GramTiles: TypeAlias = Callable[
    [slice, slice, Array | None], tuple[Array, Callable[[Array], Array]]
]
"""Function that evaluates a tile of a Gram matrix, given its rows and columns, and two matrices of
its shape to be overwritten, or None.

It returns the values, less the offset, and a function that maps a matrix P of the same shape to the
derivatives of <P, K> with respect to the log-parameters.
"""


class Kernel(OwnFormula):
    """Base class of kernels, which measure how similar two samples are.

    They are positive semi-definite and differentiable in the logarithms of their parameters.
    ``kernel(X)`` returns the Gram matrix of a table, ``kernel(X, Z)`` the values between two
    tables, and ``kernel(x, z)`` the value of two rows. Kernels hold no data and never change. Sums
    such as `Gaussian(2.0) + 0.5 * Linear()` and products such as `Gaussian() * Linear()` are
    kernels, too. To define a kernel, implement `values` and, for its parameters, `theta`,
    `with_theta`, `log_bounds` and `contract`.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Kernel, Linear
    >>> kernel = Gaussian(bandwidth=2.0)
    >>> isinstance(kernel, Kernel), kernel.theta.round(3), kernel.diag([[0.0], [1.0]])
    (True, array([0.693]), array([1., 1.]))
    >>> (kernel + 0.5 * Linear()).describe()
    '1 x Gaussian, width 2 + 0.5 x Linear'
    """

    __array_ufunc__ = None  # NumPy scalars leave their products with kernels to the kernels.

    accepts_sparse: bool = True
    """Whether the kernel can be evaluated on sparse features."""

    accepts_array_api: bool = False
    """Whether `_shifted` also accepts arrays of other libraries of the array API standard."""

    accepts_missing: bool = False
    """Whether the kernel, or one of its parts, accepts missing values (NaN) of features."""

    def __call__(self, X: Features, Z: Features | None = None) -> Array:
        """Return the Gram matrix of the rows of `X` and `Z`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples_x, n_features)
        Z : array-like or sparse matrix of shape (n_samples_z, n_features), default=None
            If None, the rows of `X`.

        Returns
        -------
        ndarray of shape (n_samples_x, n_samples_z)
            float32 if both tables are float32, otherwise float64. For two single rows, a number.

        Raises
        ------
        ValueError
            If a value is not finite, a table is not two-dimensional, or numbers of features differ.
        """
        if are_rows(X, Z):
            return self(np.asarray(X)[None], np.asarray(Z)[None])[0, 0]
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
        """Return the diagonal of the Gram matrix, without computing the full matrix.

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
        """Return <P, K> for the Gram matrix K and a matrix P, and its gradient in the parameters.

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
        Rows are processed in blocks, so that only `P` and a few hundred rows of a Gram matrix are
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
        """Return the same kernel with other parameters.

        Parameters
        ----------
        theta : array-like of shape (n_theta,)
            Natural logarithms of the parameters.
        """
        if np.size(theta):
            raise ValueError(f"{type(self).__name__} has no parameters; got {np.size(theta)}.")
        return self

    def width_groups(self) -> list[Array]:
        """Return the positions in `theta` of one width per feature, for each part that has them."""
        n_widths = self.structure.n_widths
        return [np.arange(n_widths)] if n_widths > 1 else []

    def log_bounds(self, X: Features) -> Array:
        """Return the interval in which each log-parameter is searched, shape (n_theta, 2).

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
            Samples from which bounds given as `"data"` are derived.
        """
        return np.empty((0, 2))

    def starts(self, X: Features) -> Array:
        """Return the log-parameters from which a search starts, shape (n_starts, n_theta).

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
        """
        bounds = self.log_bounds(X)
        inside = np.linspace(0.0, 1.0, N_STARTS + 2)[1:-1, None]
        return bounds[:, 0] + inside * (bounds[:, 1] - bounds[:, 0])

    @property
    def offset(self) -> float:
        """Limit of the kernel for large widths, a constant that `_shifted` omits.

        Centering removes constants anyway. Omitting this one preserves the precision of nearly
        constant kernels.
        """
        return 0.0

    def bind(self, X: Features) -> Self:
        """Return the kernel for a table, with positions for names and a number for `"median"`.

        With `ard`, a single width becomes one per feature.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        """
        return self

    def expand(self, X: Features) -> list[Kernel]:
        """Return the kernels that this one stands for in a list of kernels: by default, itself."""
        return [self]

    @property
    def structure(self) -> Structure:
        """Structure of the kernel's formula, if it is known; see :class:`Structure`."""
        return Structure()

    def relevance(self, n_features: int) -> Array:
        """Return the relevance of each feature: 1 / width^2, or one for inner products.

        Parameters
        ----------
        n_features : int

        Returns
        -------
        ndarray of shape (n_features,)
            NaN if the formula is unknown, as for callables, precomputed matrices and user-defined
            kernels that do not override this method.
        """
        return np.full(n_features, 1.0 if isinstance(self.structure, InnerProduct) else np.nan)

    def describe(self) -> str:
        """Return a short description of the kernel for tables and figures."""
        return type(self).__name__

    def __add__(self, other: object) -> Kernel:
        return added(self, other)

    def __radd__(self, other: object) -> Kernel:
        # sum(kernels) begins with zero.
        is_start = isinstance(other, int) and other == 0
        return self if is_start else added.dispatch(Kernel)(other, self)

    def __mul__(self, other: object) -> Kernel:
        return multiplied(self, other)

    def __rmul__(self, other: object) -> Kernel:
        return multiplied.dispatch(Kernel)(other, self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> Hashable:
        """Return the values by which kernels are compared."""
        return parameters(self)

    def _checked(self, X: Features) -> tuple[Features, np.dtype[np.generic]]:
        sparse = "csr" if self.accepts_sparse else False
        finite = "allow-nan" if self.accepts_missing else True
        kinds = [np.float64, np.float32]
        with refused_dates():
            X = check_array(X, accept_sparse=sparse, dtype=kinds, ensure_all_finite=finite)
        if self.accepts_missing:
            check_takes([self], X)
        return X.astype(np.float64, copy=False), X.dtype

    def _check_missing(self, X: Features) -> None:
        """Raise an error if values are missing and the kernel does not accept missing values."""
        if not self.accepts_missing and _has_missing(X):
            raise ValueError(
                f"Input X contains NaN, and {self.describe()} takes no missing values: "
                "Missing(kernel) does."
            )

    def _shifted(self, X: Features, Z: Features | None) -> Array:
        """Return the Gram matrix less the offset, with which wide kernels would lose precision."""
        return np.array(self.values(X, X if Z is None else Z), dtype=float) - self.offset

    def _shifted_at(self, Z: Features) -> Callable[[Features], Array]:
        """Return `_shifted` as a function of X for given rows Z; terms in Z are computed once."""
        return lambda X: self._shifted(X, Z)

    def _shifted_diag(self, X: Features) -> Array:
        return np.array(self.diagonal(X), dtype=float) - self.offset

    def _contract(
        self, X: Features, P: Array, Z: Features, start: int | None
    ) -> tuple[float, Array]:
        """Return <P, K> and its gradient in theta, for the Gram matrix K of `X` and `Z`.

        If the rows of `X` are consecutive rows of `Z`, `start` is the index in `Z` of the first of
        them; otherwise it is None.
        """
        if self.theta.size:
            return self.contract(X, P, Z)
        return inner(P, self._shifted(X, Z)) + self.offset * float(P.sum()), np.empty(0)

    def _evaluated_on(self, X: Features) -> tuple[Kernel, Features]:
        """Return an equivalent kernel, less the offset, and the table that it is evaluated on.

        Rows are thereby preprocessed only once.
        """
        return self, X

    def _value_tiles(self, X: Features, precision: npt.DTypeLike = np.float32) -> ValueTiles:
        """Return a function from slices of rows and columns to the kernel's values on a table.

        The values are less the offset, and may be in single precision, as the results of distances
        in double precision. Terms in single rows are computed once.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or sparse matrix
        precision : dtype, default=float32
            The least precision of the values.
        """
        same, table = self._evaluated_on(X)
        return lambda rows, columns: gram_tile(same, table, rows, columns)

    def _pairs(self, X: Features) -> Pairs | None:
        """Return the pairs of rows that `_gram_tiles` takes, for any widths; None if it does not.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or sparse matrix
        """
        return None

    def _gram_tiles(self, pairs: Pairs) -> GramTiles:
        """Return a function for tiles whose values and gradients share distances."""
        raise NotImplementedError


def gram_tile(kernel: Kernel, X: Features, rows: slice, columns: slice) -> Array:
    """Return a tile of a bound kernel's Gram matrix, less its offset; `X` is not validated."""
    return kernel._shifted(X[rows], None if rows == columns else X[columns])


def gram_tile_vjp(
    kernel: Kernel, X: Features, P: Array, rows: slice, columns: slice
) -> tuple[float, Array]:
    """Return <P, K> and its gradient in theta over one tile of a bound kernel's Gram matrix."""
    part, same = X[rows], rows == columns
    return kernel._contract(part, P, part if same else X[columns], 0 if same else None)


def stack_values(kernel: Kernel, stack: Array) -> Array:
    """Return a kernel's Gram matrix, or a tile of it, from a stack of precomputed matrices.

    Parameters
    ----------
    kernel : Kernel
    stack : ndarray of shape (n_rows, n_columns, n_kernels)

    Raises
    ------
    TypeError
        If the kernel is evaluated on features.
    """
    structure = kernel.structure
    if isinstance(structure, PrecomputedGram):
        return structure.from_stack(stack)
    raise TypeError(f"{kernel.describe()} reads features, not a stack of Gram matrices.")


@singledispatch
def added(first: object, second: object) -> Kernel:
    """Return the sum of kernels, implemented in `_operators`; `NotImplemented` for other types."""
    return NotImplemented


@singledispatch
def multiplied(first: object, second: object) -> Kernel:
    """Return the product of kernels and numbers, implemented in `_operators`; see `added`."""
    return NotImplemented


def check_takes(kernels: Iterable[Kernel], X: Features) -> None:
    """Raise an error if a kernel does not accept the table's sparse format or missing values.

    Parameters
    ----------
    kernels : iterable of Kernel
        Kernels that are bound to the table.
    X : ndarray or sparse matrix of shape (n_samples, n_features)

    Raises
    ------
    TypeError
        If the table is sparse and a kernel does not accept sparse features.
    ValueError
        If values are missing and a kernel does not accept them.
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
    values = X.data if sp.issparse(X) else X
    return bool(np.isnan(values).any())
