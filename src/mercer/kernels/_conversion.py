"""Kernels from names, callables, scikit-learn's Gaussian-process kernels and precomputed stacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias, Union

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import gen_batches

from mercer._data.types import Array, Features
from mercer.kernels._categorical import Categorical
from mercer.kernels._composition import Composite
from mercer.kernels._dot_product import Linear, Polynomial
from mercer.kernels._exponential_power import ExponentialPower, Laplacian
from mercer.kernels._kernel import BLOCK_ROWS, Kernel
from mercer.kernels._ordinal import Ordinal
from mercer.kernels._periodic import Periodic
from mercer.kernels._radial import Gaussian
from mercer.kernels._spectrum import Spectrum
from mercer.kernels._stationary import Dirichlet, Matern, RationalQuadratic
from mercer.kernels._structure import PrecomputedGram, Structure
from mercer.kernels._tanimoto import Tanimoto

if TYPE_CHECKING:
    from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel


KernelSource: TypeAlias = Union[Kernel, str, Callable[..., Array], "GaussianProcessKernel"]
"""What specifies a kernel: one of mercer or scikit-learn, a name, or a function of two tables."""

KernelFamily: TypeAlias = KernelSource | Sequence[KernelSource] | None
"""One or several families of kernels, whose parameters are learned; None for `Gaussian()`."""

KernelDictionary: TypeAlias = Sequence[KernelSource] | str | None
"""Base kernels; "precomputed" if X is a stack of Gram matrices; None for the default kernels."""

OutputKernelSource: TypeAlias = KernelSource | npt.ArrayLike | None
"""A kernel between targets, its name, its matrix, similarities of classes, or None."""

NAMES: dict[str, Kernel] = {
    "gaussian": Gaussian("median"),
    "rbf": Gaussian("median"),
    "laplacian": Laplacian("median"),
    "product_laplacian": Laplacian("median", norm=1.0),
    "exponential_power": ExponentialPower("median"),
    "matern": Matern("median"),
    "rational_quadratic": RationalQuadratic("median"),
    "dirichlet": Dirichlet(),
    "linear": Linear(),
    "polynomial": Polynomial(),
    "poly": Polynomial(),
    "categorical": Categorical(),
    "ordinal": Ordinal(),
    "brownian": Ordinal(),
    "periodic": Periodic(),
    "tanimoto": Tanimoto(),
    "spectrum": Spectrum(),
}
"""The kernel that each name stands for; kernels of distances have the median distance as width."""


def as_kernel(source: KernelSource) -> Kernel:
    """Return the kernel that a name, a callable or a scikit-learn kernel stands for.

    Parameters
    ----------
    source : Kernel, str, callable or sklearn.gaussian_process.kernels.Kernel
        A callable takes two arrays of shapes (n_x, d) and (n_z, d), and returns their Gram matrix
        of shape (n_x, n_z).

    Returns
    -------
    Kernel
        The object itself if it is a kernel of mercer.

    Raises
    ------
    ValueError
        If the name is unknown.
    TypeError
        If `source` is none of these, or if a sum, a product or a kernel on some columns has a part
        that is not a kernel of mercer.

    Examples
    --------
    >>> from mercer.kernels import as_kernel
    >>> as_kernel("rbf")
    Gaussian(bandwidth='median')
    """
    if isinstance(source, Kernel):
        _check_parts(source)
        return source
    if isinstance(source, str):
        if source not in NAMES:
            raise ValueError(f"Unknown kernel {source!r}; known names: {', '.join(sorted(NAMES))}.")
        return clone(NAMES[source])
    if hasattr(source, "clone_with_theta"):
        return SklearnKernel(source)
    if callable(source) and not isinstance(source, type):
        return CallableKernel(source)
    raise TypeError(
        "A kernel must be a mercer kernel, a name, a callable or a scikit-learn Gaussian-process "
        f"kernel; got {_given_instead(source)}."
    )


def _check_parts(kernel: Kernel) -> None:
    """Raise an error unless all parts of a sum, a product or a kernel on columns are kernels."""
    for part in kernel._parts() if isinstance(kernel, Composite) else ():
        if not isinstance(part, Kernel):
            raise TypeError(
                f"{type(kernel).__name__} takes kernels of mercer; got {part!r}: "
                "convert it with mercer.kernels.as_kernel."
            )
        _check_parts(part)


def _given_instead(source: object) -> str:
    """Describe an object that is not a kernel, with advice on what to pass where possible."""
    if isinstance(source, type):
        return f"the class {source.__name__}: write {source.__name__}()"
    shape = np.shape(source) if hasattr(source, "__array__") else ()
    if len(shape) > 1:
        return (
            f"an array of shape {shape}. Gram matrices are passed as X, stacked along the last "
            'axis, with kernels="precomputed"'
        )
    return repr(source)


@dataclass(eq=False, repr=False)
class CallableKernel(Kernel):
    """Kernel from a function of two tables, without parameters to learn.

    Parameters
    ----------
    function : callable
        Takes arrays of shapes (n_x, d) and (n_z, d), and returns an array of shape (n_x, n_z).

    Examples
    --------
    >>> from sklearn.metrics.pairwise import linear_kernel
    >>> from mercer.kernels import CallableKernel
    >>> CallableKernel(linear_kernel)([[1.0], [2.0]])
    array([[1., 2.],
           [2., 4.]])
    """

    accepts_sparse = False

    function: Callable[[Array, Array], Array]

    def describe(self) -> str:
        """Return the function's name."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def _shifted(self, X: Features, Z: Features | None) -> Array:
        Z = X if Z is None else Z
        gram = np.array(self.function(X, Z), dtype=float)
        if gram.shape != (X.shape[0], Z.shape[0]):
            raise ValueError(
                f"The kernel {self.describe()} returned an array of shape {gram.shape} "
                f"where {(X.shape[0], Z.shape[0])} was expected."
            )
        return gram

    def _shifted_diag(self, X: Features) -> Array:
        return np.array([self._shifted(X[i : i + 1], None).item() for i in range(X.shape[0])])


@dataclass(eq=False, repr=False)
class SklearnKernel(Kernel):
    """Kernel from a Gaussian-process kernel of scikit-learn, with its parameters and bounds.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        The kernel, whose hyperparameters are searched unless their bounds are "fixed".

    Notes
    -----
    scikit-learn returns a gradient as a tensor of shape (n, n, n_theta). It is computed in blocks
    of 64 rows and columns, so that at most 128^2 n_theta of its entries are in memory at once.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from mercer.kernels import SklearnKernel
    >>> SklearnKernel(RBF(length_scale=2.0)).theta.round(3)
    array([0.693])
    """

    accepts_sparse = False

    kernel: GaussianProcessKernel

    @property
    def theta(self) -> Array:
        """Logarithms of the kernel's free hyperparameters."""
        return np.array(self.kernel.theta, dtype=float)

    @property
    def bounds(self) -> Array:
        """Bounds of the free hyperparameters, in their own units, shape (n_theta, 2)."""
        return np.exp(self.log_bounds(np.empty((0, 0))))

    def with_theta(self, theta: Array) -> Self:
        """Return the same kernel with other hyperparameters."""
        return type(self)(self.kernel.clone_with_theta(np.asarray(theta, dtype=float)))

    def width_groups(self) -> list[Array]:
        """Return the positions in `theta` of each free vector of length scales."""
        free = [each for each in self.kernel.hyperparameters if not each.fixed]
        names = np.repeat([each.name for each in free], [each.n_elements for each in free])
        groups = [np.flatnonzero(names == each.name) for each in free]
        return [g for g in groups if len(g) > 1 and names[g[0]].endswith("length_scale")]

    def log_bounds(self, X: Features) -> Array:
        """Return the kernel's own bounds, shape (n_theta, 2)."""
        return np.reshape(np.array(self.kernel.bounds, dtype=float), (-1, 2))

    def bind(self, X: Features) -> Self:
        """Return a copy that is independent of the given object."""
        return type(self)(clone(self.kernel))

    def relevance(self, n_features: int) -> Array:
        """Return the relevance of each feature, 1 / width^2, from the length scales.

        It is NaN for kernels of classes outside scikit-learn, and for pairwise kernels.
        """
        return _sklearn_relevance(self.kernel, n_features)[0]

    def describe(self) -> str:
        """Return the kernel's representation in scikit-learn."""
        return str(self.kernel)

    def _shifted(self, X: Features, Z: Features | None) -> Array:
        return np.array(self.kernel(X) if Z is None else self.kernel(X, Z), dtype=float)

    def _shifted_diag(self, X: Features) -> Array:
        return np.array(self.kernel.diag(X), dtype=float)

    def _contract(
        self, X: Features, P: Array, Z: Features, start: int | None
    ) -> tuple[float, Array]:
        value, gradient = 0.0, np.zeros(self.theta.size)
        size = BLOCK_ROWS // 4  # The gradient has three dimensions.
        for rows in gen_batches(X.shape[0], size):
            for columns in gen_batches(Z.shape[0], size):
                here, weights = X[rows], P[rows, columns]
                shared = start is not None and start + rows.start == columns.start
                shared = shared and len(here) == len(Z[columns])
                both = here if shared else np.vstack([here, Z[columns]])
                at = slice(None) if shared else slice(len(here), None)
                gram, tensor = self.kernel(both, eval_gradient=True)
                gram, tensor = gram[: len(here), at], tensor[: len(here), at]
                value += float(np.einsum("ij,ij->", weights, gram))
                gradient += np.einsum("ij,ijk->k", weights, tensor)
        return value, gradient


@dataclass(eq=False, repr=False)
class Precomputed(Kernel):
    """Kernel that takes its values from a stack of Gram matrices, passed in place of features.

    Parameters
    ----------
    index : int
        Position of the Gram matrix along the stack's last axis.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Precomputed
    >>> Precomputed(0)(np.eye(2)[:, :, None])
    array([[1., 0.],
           [0., 1.]])
    """

    accepts_sparse = False

    index: int

    def describe(self) -> str:
        """Return the position in the stack."""
        return f"kernel {self.index}"

    @property
    def structure(self) -> Structure:
        """Structure of the formula: a slice of the stack, as a view."""
        return PrecomputedGram(lambda stack: stack[:, :, self.index])


def as_dictionary(sources: KernelSource | Sequence[KernelSource], X: Features) -> list[Kernel]:
    """Convert a list of kernels, names or functions to kernels that are adapted to a table.

    Parameters
    ----------
    sources : sequence of kernels, names, callables or scikit-learn Gaussian-process kernels
        The entries; `Linear(per_feature=True)` stands for one kernel per feature.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The table from which the positions of named columns and the `"median"` widths are taken.

    Returns
    -------
    list of Kernel
        The base kernels.

    Raises
    ------
    ValueError
        If the list is empty.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear, as_dictionary
    >>> kernels = as_dictionary(
    ...     [Gaussian("median"), Linear(per_feature=True)], [[0.0, 1.0], [3.0, 5.0]]
    ... )
    >>> [kernel.describe() for kernel in kernels]
    ['Gaussian, width 5', 'Linear on [0]', 'Linear on [1]']
    """
    if isinstance(sources, str) or not isinstance(sources, Sequence):
        sources = [sources]
    if not sources:
        raise ValueError("The dictionary of kernels is empty.")
    return [kernel.bind(X) for source in sources for kernel in as_kernel(source).expand(X)]


def _sklearn_relevance(kernel: GaussianProcessKernel, n_features: int) -> tuple[Array, float]:
    """Return relevances of features, as mercer's kernels define them, and the value at zero.

    RBF, rational quadratic and Matern kernels have the relevance of mercer's kernels of these
    names. A periodic kernel has the relevance of the Gaussian kernel that it approaches at small
    distances, and an inner product has relevance one.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
    n_features : int

    Returns
    -------
    relevance : ndarray of shape (n_features,)
        NaN for a kernel of another class.
    value : float
        The kernel's value at distance zero, without noise; for an inner product, its constant.

    Raises
    ------
    ValueError
        If a kernel has length scales for another number of features.
    """
    from sklearn.gaussian_process import kernels as gp

    nothing = np.zeros(n_features)
    match kernel:
        case gp.KernelOperator():
            left, first = _sklearn_relevance(kernel.k1, n_features)
            right, second = _sklearn_relevance(kernel.k2, n_features)
            if isinstance(kernel, gp.Sum):
                return left + right, first + second
            # A part of value zero, such as an inner product, counts as one, as in `Product`.
            return (second or 1.0) * left + (first or 1.0) * right, first * second
        case gp.Exponentiation():
            relevance, value = _sklearn_relevance(kernel.kernel, n_features)
            power = kernel.exponent
            return power * (value or 1.0) ** (power - 1.0) * relevance, value**power
        case gp.WhiteKernel():
            return nothing, 0.0
        case gp.ConstantKernel():
            return nothing, float(kernel.constant_value)
        case gp.DotProduct():
            return nothing + 1.0, float(kernel.sigma_0) ** 2
        case gp.ExpSineSquared():
            return nothing + 2.0 * (np.pi / (kernel.periodicity * kernel.length_scale)) ** 2, 1.0
        case gp.Matern() if np.isfinite(kernel.nu):  # Matern is a subclass of RBF there.
            return nothing + _inverse_squares(kernel, n_features), 1.0
        case gp.RBF() | gp.RationalQuadratic():
            return nothing + 0.5 * _inverse_squares(kernel, n_features), 1.0
    return np.full(n_features, np.nan), 0.0


def _inverse_squares(kernel: GaussianProcessKernel, n_features: int) -> Array:
    lengths = np.asarray(kernel.length_scale, dtype=float)
    if lengths.size not in (1, n_features):
        raise ValueError(f"{kernel} has {lengths.size} length scales; got {n_features} features.")
    return np.asarray(lengths**-2.0)
