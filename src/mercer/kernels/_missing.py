"""A kernel of features with missing values."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing

from mercer._data.types import Array, Features
from mercer._data.validation import are_positive
from mercer.kernels._composition import Composite
from mercer.kernels._distances import log_interval
from mercer.kernels._kernel import N_STARTS, Kernel


@dataclass(eq=False, repr=False)
class Missing(Composite):
    """Kernel for features with missing values, which learns how similar they are to known values.

    For a kernel k and a learned similarity r = exp(-1 / s^2) between zero and one, it is

    * r + (1 - r) k(x, x') if both samples are known,
    * r if exactly one of them is missing,
    * 1 if both are missing.

    A sample is missing if one of its features is missing (NaN). For columns that are missing
    independently of each other, use one such kernel per column:
    ``Product([OnColumns(Missing(Gaussian()), [z]) for z in columns])``.

    Parameters
    ----------
    kernel : Kernel
        Kernel k, evaluated on known samples only.
    bandwidth : float, default=1.0
        Dimensionless width s. If it is large, missing values are similar to all others.
    bandwidth_bounds : (float, float), default=(0.1, 100.0)
        Interval in which s is searched.

    Notes
    -----
    The kernel is positive semi-definite: it is the sum of the constant r and of 1 - r times a
    kernel with a block-diagonal Gram matrix. Its two blocks, the Gram matrix of k on the known
    samples and a matrix of ones on the missing samples, are positive semi-definite.

    With k itself in place of r + (1 - r) k, it would in general not be positive semi-definite. If a
    sample has the similarity r > 0 to all known samples, K - r^2 1 1' must be positive
    semi-definite. A Gaussian kernel of samples far from each other, however, falls to zero.

    Evaluation takes at most as much time as the evaluation of k, which is evaluated on the known
    samples only. Replacing missing values by a median would make them equal to the value of some
    sample.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian, Missing
    >>> Missing(Gaussian())([[0.0], [1.0], [np.nan], [np.nan]]).round(4)
    array([[1.    , 0.6004, 0.3679, 0.3679],
           [0.6004, 1.    , 0.3679, 0.3679],
           [0.3679, 0.3679, 1.    , 1.    ],
           [0.3679, 0.3679, 1.    , 1.    ]])
    """

    accepts_sparse = False
    accepts_missing = True
    accepts_array_api = False

    kernel: Kernel
    bandwidth: float = 1.0
    _: KW_ONLY
    bandwidth_bounds: tuple[float, float] = (0.1, 100.0)

    @property
    def offset(self) -> float:
        """Limit of the kernel for large widths, which is one."""
        return 1.0

    @property
    def theta(self) -> Array:
        """Log-parameters of the kernel, then log s."""
        return np.append(self.kernel.theta, np.log(self._width()))

    def with_theta(self, theta: Array) -> Self:
        """Return the same kernel with other parameters."""
        theta = np.asarray(theta, dtype=float)
        width = float(np.exp(theta[-1]))
        return replace(self, kernel=self.kernel.with_theta(theta[:-1]), bandwidth=width)

    def log_bounds(self, X: Features) -> Array:
        """Return intervals of the kernel's log-parameters on known samples, and of log s."""
        return np.vstack([self.kernel.log_bounds(self._known(X)), self._interval()])

    def starts(self, X: Features) -> Array:
        """Return starting points of the kernel on known samples, each with a value of log s."""
        starts, (low, high) = self.kernel.starts(self._known(X)), self._interval()
        return np.column_stack([starts, np.linspace(low, high, N_STARTS + 2)[1:-1][: len(starts)]])

    def bind(self, X: Features) -> Self:
        """Return the kernel with the inner kernel adapted to the known samples."""
        return self._with_parts([self.kernel.bind(self._known(X))])

    def relevance(self, n_features: int) -> Array:
        """Return the relevances of the kernel of known samples, times 1 - r."""
        return (1.0 - self._similarity()) * self.kernel.relevance(n_features)

    def describe(self) -> str:
        """Return the kernel's description and the similarity of missing values."""
        return f"{self.kernel.describe()}, missing values at {self._similarity():.3g}"

    def _check_missing(self, X: Features) -> None:
        """Accept all values, because known samples have no missing ones."""

    def _parts(self) -> Sequence[Kernel]:
        return [self.kernel]

    def _with_parts(self, parts: list[Kernel]) -> Self:
        return replace(self, kernel=parts[0])

    def _width(self) -> float:
        if np.ndim(self.bandwidth) or not are_positive(self.bandwidth):
            raise ValueError(f"bandwidth must be positive and finite; got {self.bandwidth!r}.")
        return float(self.bandwidth)

    def _interval(self) -> Array:
        given = log_interval(self.bandwidth_bounds)
        return np.log([0.1, 100.0]) if given is None else given

    def _similarity(self) -> float:
        return float(np.exp(-(self._width() ** -2.0)))

    def _is_known(self, X: Features) -> Array:
        """Return which samples are known, shape (n_samples,)."""
        if sp.issparse(X):  # Sparse tables are rejected once the kernel is bound.
            return np.ones(X.shape[0], dtype=bool)
        return ~np.isnan(np.asarray(X, dtype=float)).any(axis=1)

    def _known(self, X: Features) -> Features:
        """Return the known samples, or a sample of zeros if there are none."""
        known = np.flatnonzero(self._is_known(X))
        if known.size == 0:
            return np.zeros((1, X.shape[1]))
        return X if known.size == X.shape[0] else _safe_indexing(X, known)

    def _shifted(self, X: Features, Z: Features | None) -> Array:
        fall = np.expm1(-(self._width() ** -2.0))
        known = self._is_known(X)
        others = known if Z is None else self._is_known(Z)
        gram = np.full((len(known), len(others)), fall)
        gram[np.ix_(~known, ~others)] = 0.0
        if known.any() and others.any():
            inside = self.kernel._shifted(X[known], None if Z is None else Z[others])
            inside += self.kernel.offset - 1.0
            gram[np.ix_(known, others)] = -fall * inside
        return gram

    def _shifted_diag(self, X: Features) -> Array:
        known, diagonal = self._is_known(X), np.zeros(X.shape[0])
        if known.any():
            inside = self.kernel._shifted_diag(X[known]) + (self.kernel.offset - 1.0)
            diagonal[known] = -np.expm1(-(self._width() ** -2.0)) * inside
        return diagonal

    def _contract(
        self, X: Features, P: Array, Z: Features, start: int | None
    ) -> tuple[float, Array]:
        known, others = self._is_known(X), self._is_known(Z)
        similarity = self._similarity()
        total, value = float(P.sum()), 0.0
        inner_gradient = np.zeros(self.kernel.theta.size)
        if known.any() and others.any():
            # The known rows of X are consecutive among the known rows of Z, too.
            before = None if start is None else int(others[:start].sum())
            part = P[np.ix_(known, others)]
            value, inner_gradient = self.kernel._contract(X[known], part, Z[others], before)
        value += float(P[np.ix_(~known, ~others)].sum())
        # K = r 11' + (1 - r) B, and dr / d log s = 2 r / s^2.
        slope = 2.0 * similarity * self._width() ** -2.0 * (total - value)
        rest = 1.0 - similarity
        return similarity * total + rest * value, np.append(rest * inner_gradient, slope)
