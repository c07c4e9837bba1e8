"""Evidence of Gaussian processes as a function of the log-parameters of kernels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from scipy.linalg import cho_solve

from mercer._data.arrays import (
    eye_like,
    is_foreign,
    like,
    namespace,
    to_numpy,
    triangular_inverse,
)
from mercer._data.types import AnyArray, Array, Features
from mercer._data.weights import SampleWeights
from mercer._gram.devices import LEAST_ROWS, Device, current_device, device_with_room
from mercer._gram.factors import definite_factor, inverted, log_determinant, with_diagonal
from mercer._gram.memory import working_memory
from mercer._gram.samples import Samples, kernel_tiles
from mercer._gram.tiles import Tile, assembled, kept, map_tiles
from mercer.kernels._distances import center_of, inner
from mercer.kernels._kernel import Kernel

SAFE_MEAN = 1e-6
"""If the harmonic mean of the eigenvalues of K + noise I, divided by the sum of the weights and the
number of rows, is lower than this, rounding in single precision may change the log marginal
likelihood per observation by more than 2e-4."""


@dataclass(frozen=True)
class Slopes:
    """Value and derivatives of an objective that depends on a Gram matrix and the noise variance.

    Attributes
    ----------
    value : float
    log_noise : float
        Derivative with respect to the logarithm of the noise variance.
    inverse : ndarray of shape (n_samples, n_samples)
    factor : ndarray of shape (n_samples, n_columns)
        The derivative with respect to the matrix is `inverse` - `factor` `factor`'.
    harmonic_mean : float, default=nan
        Harmonic mean of the eigenvalues of the matrix with the noise.
    """

    value: float
    log_noise: float
    inverse: Array
    factor: Array
    harmonic_mean: float = np.nan


class GramObjective(Protocol):
    """An objective, to be minimized, that depends on a Gram matrix and the noise variance."""

    def value(self, K: Array, noise: float) -> float:
        """Return the objective."""

    def slopes(self, K: Array, noise: float) -> Slopes:
        """Return the objective and its derivatives."""


@dataclass(frozen=True)
class GaussianEvidence:
    """-2 log marginal likelihood of a Gaussian process with Gaussian noise.

    Attributes
    ----------
    Y : ndarray of shape (n_samples, n_targets)
    weights : SampleWeights
        A sample of weight w stands for w samples with independent noise. The mean of their noise
        has the variance noise / w, which is added to the diagonal; the remainder of the
        log-determinant is sum ln w + (sum w - n) ln noise.
    rank : int, default=None
        The rank m of Y. If given, the kernel and the noise are relative to a common amplitude,
        which is optimized, and the objective is divided by the number of observations, up to a
        constant.
    """

    Y: Array
    weights: SampleWeights
    rank: int | None = None

    def amplitude(
        self, K: Array, noise: float, *, raise_noise: bool = True
    ) -> tuple[float, Array, Array]:
        """Return tr(Y'A^-1 Y) / (m n), the Cholesky factor of A, and A^-1 Y, for A = K + noise I.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
        noise : float
        raise_noise : bool, default=True
            See :func:`factored`.
        """
        factor, alpha = factored(K, noise / self.weights.values, self.Y, raise_noise=raise_noise)
        return float(np.sum(self.Y * alpha)) / self._n_observations, factor, alpha

    @property
    def _n_observations(self) -> float:
        return (self.rank or self.Y.shape[1]) * self.weights.total

    def value(self, K: Array, noise: float) -> float:
        """Return tr(Y'A^-1 Y) + m (ln|A| + n ln 2 pi) for m targets.

        If the rank m is given, the value is ln(tr(Y'A^-1 Y) / (m n)) + ln|A| / n.
        """
        amplitude, factor, _ = self.amplitude(K, noise)
        return self._value(amplitude, log_determinant(factor), noise)

    def slopes(self, K: AnyArray, noise: float) -> Slopes:
        """Return the objective and its derivatives; see :class:`GramObjective`.

        If the matrix is on a card, weights must be one.
        """
        if isinstance(K, np.ndarray):
            raise_noise = K.dtype != np.float32
            amplitude, factor, alpha = self.amplitude(K, noise, raise_noise=raise_noise)
            determinant, inverse = log_determinant(factor), inverted(factor, overwrite=True)
        else:
            xp, Y = namespace(K), like(self.Y, K)
            root = triangular_inverse(xp.linalg.cholesky(K + noise * eye_like(K)))
            determinant = -2.0 * float(xp.sum(xp.log(xp.linalg.diagonal(root))))
            inverse = root.T @ root
            alpha = inverse @ Y
            amplitude = float(xp.sum(Y * alpha)) / self._n_observations
        value = self._value(amplitude, determinant, noise)
        return self._slopes(value, amplitude, inverse, alpha, noise)

    def _slopes(
        self, value: float, amplitude: float, inverse: AnyArray, alpha: AnyArray, noise: float
    ) -> Slopes:
        """Return the derivatives, given A^-1, which is overwritten, and A^-1 Y."""
        (n, multiple), total = self.Y.shape, self.weights.total
        if self.rank is not None:
            # The derivative with respect to the amplitude is zero at its optimum.
            multiple = 1.0 / total
            alpha = alpha / float(np.sqrt(amplitude * self.rank * total))
        xp = namespace(inverse)
        mean = n / float(xp.sum(xp.linalg.diagonal(inverse)))
        inverse *= multiple
        by_sample = to_numpy(xp.linalg.diagonal(inverse) - xp.sum(alpha * alpha, axis=1))
        log_noise = noise * float((by_sample / self.weights.values).sum())
        log_noise += multiple * (total - n)
        return Slopes(value, log_noise, inverse, alpha, mean)

    def _value(self, amplitude: float, determinant: float, noise: float) -> float:
        (n, m), total = self.Y.shape, self.weights.total
        determinant += float(np.log(self.weights.values).sum())
        determinant += (total - n) * np.log(noise)
        if self.rank is not None:
            return float(np.log(amplitude)) + determinant / total
        return m * (determinant + total * (amplitude + np.log(2.0 * np.pi)))


_Part: TypeAlias = tuple[AnyArray, Callable[[AnyArray], Array]]
"""Values of a kernel on a tile, and a function from a matrix P to the derivatives of <P, K>."""


class KernelSums:
    """Weighted sums of kernels between all samples, and their derivatives, tile by tile.

    Parameters
    ----------
    kernels : sequence of Kernel
        Bound to the samples; their parameters are ignored.
    samples : Samples
        With unit weights.
    table : array of shape (n_samples, n_features), sparse matrix, or stack of Gram matrices
        The samples, in the precision and on the device in which kernels with one width per feature
        are evaluated. On a card, all samples are one tile.

    Notes
    -----
    Kernel values are kept for the derivatives if two matrices for each kernel fit in memory. Their
    arrays are used again: to provide new memory takes as long as to fill it.
    """

    def __init__(self, kernels: Sequence[Kernel], samples: Samples, table: AnyArray) -> None:
        self.samples, self.table, self.n_kernels = samples, table, len(kernels)
        n, on_card = samples.n_samples, is_foreign(table)
        self._pairs = [None if samples.stacked else kernel._pairs(table) for kernel in kernels]
        self._plan = [Tile(slice(0, n), slice(0, n), 1.0)] if on_card else samples.plan
        self._share = np.inf if on_card else 0.5
        uses_again = not on_card and 8.0 * n**2 * len(kernels) <= 0.5 * working_memory()
        self._arrays: dict[object, Array] | None = {} if uses_again else None

    def __call__(
        self, kernels: Sequence[Kernel], weights: Array
    ) -> tuple[AnyArray, Callable[[Slopes], Array]]:
        """Return the Gram matrix of a sum, and a function for its derivatives.

        Both are valid until the next call. The function returns the derivatives of <P, K> in all
        log-parameters, then <P, K>, of each kernel, for the matrix P = `inverse` - `factor`
        `factor`'.

        Parameters
        ----------
        kernels : sequence of Kernel
            The kernels with some parameters.
        weights : ndarray of shape (n_kernels,)
        """
        n, are_short = self.samples.n_samples, [pairs is not None for pairs in self._pairs]
        offsets = np.where(are_short, [kernel.offset for kernel in kernels], 0.0)
        parts = [self._part(k, kernel) for k, kernel in enumerate(kernels)]
        tiles = kept(lambda t: [part(t) for part in parts], n, 2 * len(parts), self._share)
        constant = float(weights @ offsets)

        def block(tile: Tile) -> AnyArray:
            (first, *others), ((values, _), *rest) = weights.tolist(), tiles(tile)
            total = constant + first * values
            for weight, (values, _) in zip(others, rest, strict=True):
                total += weight * values
            return total

        def contracted(slopes: Slopes) -> Array:
            def contract(tile: Tile) -> Array:
                here, there = slopes.factor[tile.rows, :], slopes.factor[tile.columns, :]
                P = slopes.inverse[tile.rows, tile.columns] - here @ there.T
                values, total = tiles(tile), float(namespace(P).sum(P))
                gradients = [gradient(P) for _, gradient in values]
                products = np.array([inner(P, one) for one, _ in values])
                return tile.count * np.concatenate([*gradients, products + offsets * total])

            return np.sum(list(map_tiles(contract, self._plan)), axis=0)

        if len(self._plan) == 1:
            return block(self._plan[0]), contracted
        return assembled(self._plan, n, block, self._array("gram", (n, n))), contracted

    def _part(self, position: int, kernel: Kernel) -> Callable[[Tile], _Part]:
        """Return values, less the offset if there are pairs, and derivatives of a kernel."""
        pairs = self._pairs[position]
        if pairs is None:
            source = kernel_tiles(kernel, self.samples, centered=False)

            def part(tile: Tile) -> _Part:
                found = source(tile)
                return found.values, found.gradient

            return part
        tiles = kernel._gram_tiles(pairs)
        return lambda tile: tiles(
            tile.rows, tile.columns, self._array((position, tile.start), (2, *tile.shape))
        )

    def _array(self, key: object, shape: tuple[int, ...]) -> Array | None:
        """Return an array to be overwritten, if there is one."""
        if self._arrays is None:
            return None
        if key not in self._arrays:
            self._arrays[key] = np.empty(shape, self.table.dtype)
        return self._arrays[key]


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
        if X.ndim != 2 or not kernel.accepts_array_api or kernel._pairs(X[:2]) is None:
            return None
    # The sum, its factor, their inverses and a temporary matrix, and four for each kernel.
    size = (5.0 + 4.0 * len(kernels)) * 8.0 * len(X) ** 2
    return device_with_room(size, f"the marginal likelihood of {len(X):,} rows")


class KernelParameters:
    """An objective of a Gram matrix and the noise as a function of log-parameters.

    The argument x holds the log-parameters of the kernels, the logarithms of their weights and, if
    the noise is free, the logarithm of its variance.

    Parameters
    ----------
    samples : Samples
    kernels : list of Kernel
        Kernels bound to the samples.
    of_gram : GramObjective
    noise : float, default=None
        The variance of the noise; None if it is free.
    n_fixed : int, default=0
        Number of leading weights that are fixed to one and left out of x.
    in_single : bool, default=False
        Whether Gram matrices may be in single precision where their eigenvalues are large enough
        for it.
    """

    def __init__(
        self,
        samples: Samples,
        kernels: Sequence[Kernel],
        of_gram: GramObjective,
        *,
        noise: float | None = None,
        n_fixed: int = 0,
        in_single: bool = False,
    ) -> None:
        self.samples, self.kernels, self.of_gram = samples, list(kernels), of_gram
        self.noise, self.n_fixed, self.in_single = noise, n_fixed, in_single
        self._sums, self._above_noise = dict[object, KernelSums](), 1.0
        self.sizes = [kernel.theta.size for kernel in self.kernels]
        self.ends = np.cumsum(self.sizes)

    def widths(self) -> list[slice]:
        """Return the positions of each kernel's log-widths in x."""
        begins = (self.ends - self.sizes).tolist()
        return [
            slice(begin, begin + kernel.structure.n_widths)
            for begin, kernel in zip(begins, self.kernels, strict=True)
        ]

    def width_groups(self) -> list[Array]:
        """Return the positions in x of each kernel's log-widths, if it has one per feature."""
        begins = (self.ends - self.sizes).tolist()
        pairs = zip(begins, self.kernels, strict=True)
        return [begin + group for begin, kernel in pairs for group in kernel.width_groups()]

    def read(self, x: Array) -> tuple[list[Kernel], Array, float]:
        """Return the kernels, their weights, and the variance of the noise."""
        thetas, weights, noise = self._split(x)
        kernels = [part.with_theta(t) for part, t in zip(self.kernels, thetas, strict=True)]
        return kernels, weights, noise

    def _split(self, x: Array) -> tuple[list[Array], Array, float]:
        """Return the log-parameters of the kernels, their weights, and the noise variance."""
        thetas = [x[end - size : end] for end, size in zip(self.ends, self.sizes, strict=True)]
        logs = x[self.ends[-1] :]
        n_free = len(self.kernels) - self.n_fixed
        weights = np.exp(np.append(np.zeros(self.n_fixed), logs[:n_free]))
        return thetas, weights, float(np.exp(logs[n_free])) if self.noise is None else self.noise

    def _summed(
        self, x: Array, *, slopes: bool = False
    ) -> tuple[AnyArray, Callable[[Slopes], Array]]:
        """Return the Gram matrix, on a card if the objective accepts it, and its derivatives."""
        kernels, weights, noise = self.read(x)
        samples, X, evidence, device = self.samples.unweighted, self.samples.X, self.of_gram, None
        if not slopes or (isinstance(evidence, GaussianEvidence) and evidence.weights.is_unit):
            device = device_for_sum(kernels, X)
        is_single = device is None and self.in_single and isinstance(X, np.ndarray)
        mean = noise * (self._above_noise if slopes else 1.0)
        is_single = is_single and mean >= SAFE_MEAN * samples.n_samples * weights.sum()
        if (key := (device, is_single)) not in self._sums:
            single = (X - center_of(X)).astype(np.float32) if is_single else X
            table = single if device is None else device.put(X)
            self._sums[key] = KernelSums(self.kernels, samples, table)
        return self._sums[key](kernels, weights)

    def gram(self, x: Array) -> Array:
        """Return the Gram matrix of the weighted sum."""
        return to_numpy(self._summed(x)[0]).copy()

    def value(self, x: Array) -> float:
        """Return the objective."""
        return self.of_gram.value(to_numpy(self._summed(x)[0]), self._split(x)[2])

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the objective and its gradient."""
        found, contracted = self._slopes(x)
        _, weights, _ = self._split(x)
        return found.value, self._gradient(contracted(found), weights, found.log_noise)

    def _slopes(self, x: Array) -> tuple[Slopes, Callable[[Slopes], Array]]:
        """Return the derivatives, and the function that contracts them with those of kernels.

        Rough kernels have larger eigenvalues than the noise. Single precision is tried if their
        mean is large enough at the last point, and its result is used if it is here.
        """
        gram, contracted = self._summed(x, slopes=True)
        _, weights, noise = self._split(x)
        try:
            found = self.of_gram.slopes(gram, noise)
        except ValueError:
            if not self.in_single or gram.dtype != np.float32:
                raise
            self._above_noise = 0.0
            return self._slopes(x)
        if self.in_single and not is_foreign(gram):
            self._above_noise = found.harmonic_mean / noise
            is_safe = found.harmonic_mean >= SAFE_MEAN * len(gram) * weights.sum()
            if gram.dtype == np.float32 and not is_safe:
                return self._slopes(x)
        return found, contracted

    def _gradient(self, total: Array, weights: Array, log_noise: float) -> Array:
        """Return the gradient in x, from contractions of all slopes and of all kernels' values."""
        thetas = np.repeat(weights, self.sizes) * total[: self.ends[-1]]
        logs = (weights * total[self.ends[-1] :])[self.n_fixed :]
        return np.concatenate([thetas, logs, [log_noise] if self.noise is None else []])


def factored(
    K: Array, noise: float | Array, Y: Array, *, raise_noise: bool = True
) -> tuple[Array, Array]:
    """Return the Cholesky factor of A = K + noise I, and A^-1 Y.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
    noise : float or ndarray of shape (n_samples,)
    Y : ndarray of shape (n_samples, n_targets)
    raise_noise : bool, default=True
        Whether the noise is raised if A is not positive definite.

    Raises
    ------
    ValueError
        If A is not positive definite.

    Notes
    -----
    A trial step of a search may reach noise below the rounding errors of K, for which A is not
    positive definite if samples are equal. A small multiple of the trace is then added to the
    noise.
    """
    try:
        factor = definite_factor(with_diagonal(K, noise))
    except ValueError:
        if not raise_noise:
            raise
        rounding = len(K) * float(np.finfo(K.dtype).eps * np.trace(K))
        factor = definite_factor(with_diagonal(K, noise + rounding))
    return factor, cho_solve((factor, True), Y.astype(K.dtype, copy=False), check_finite=False)
