"""Evidence of Gaussian processes as a function of the log-parameters of kernels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import cho_solve

from mercer._data.arrays import eye_like, like, namespace, to_numpy, triangular_inverse
from mercer._data.types import AnyArray, Array
from mercer._data.weights import SampleWeights
from mercer._gram.devices import current_device
from mercer._gram.factors import definite_factor, inverted, log_determinant, with_diagonal
from mercer._gram.kernel_products import base_grams
from mercer._gram.samples import KernelTile, Samples, kernel_tiles
from mercer._gram.tiles import Tile, assembled, kept, map_tiles
from mercer._search.device_sums import DeviceSum, device_for_sum
from mercer._search.width_sums import SAFE_NOISE, Contract, Precision, WidthSum, accepts
from mercer.kernels._distances import inner
from mercer.kernels._kernel import Kernel


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
    """

    value: float
    log_noise: float
    inverse: Array
    factor: Array


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

    def amplitude(self, K: Array, noise: float) -> tuple[float, Array, Array]:
        """Return tr(Y'A^-1 Y) / (m n), the Cholesky factor of A, and A^-1 Y, for A = K + noise I.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
        noise : float
        """
        factor, alpha = factored(K, noise / self.weights.values, self.Y)
        n_observations = (self.rank or self.Y.shape[1]) * self.weights.total
        return float(np.sum(self.Y * alpha)) / n_observations, factor, alpha

    def value(self, K: Array, noise: float) -> float:
        """Return tr(Y'A^-1 Y) + m (ln|A| + n ln 2 pi) for m targets.

        If the rank m is given, the value is ln(tr(Y'A^-1 Y) / (m n)) + ln|A| / n.
        """
        amplitude, factor, _ = self.amplitude(K, noise)
        return self._value(amplitude, log_determinant(factor), noise)

    def slopes(self, K: Array, noise: float) -> Slopes:
        """Return the objective and its derivatives; see :class:`GramObjective`."""
        amplitude, factor, alpha = self.amplitude(K, noise)
        value = self._value(amplitude, log_determinant(factor), noise)
        return self._slopes(value, amplitude, inverted(factor), alpha, noise)

    def slopes_on_device(self, K: AnyArray, noise: float) -> Slopes:
        """Return what `slopes` returns, for a matrix on a card and weights of one.

        Parameters
        ----------
        K : array of shape (n_samples, n_samples)
        noise : float
        """
        xp, Y = namespace(K), like(self.Y, K)
        factor = xp.linalg.cholesky(K + noise * eye_like(K))
        determinant = 2.0 * float(xp.sum(xp.log(xp.linalg.diagonal(factor))))
        root = triangular_inverse(factor)
        inverse = root.T @ root
        alpha = inverse @ Y
        n_observations = (self.rank or self.Y.shape[1]) * self.weights.total
        amplitude = float(xp.sum(Y * alpha)) / n_observations
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
        inverse *= multiple
        xp = namespace(inverse)
        by_sample = to_numpy(xp.linalg.diagonal(inverse) - xp.sum(alpha * alpha, axis=1))
        log_noise = noise * float((by_sample / self.weights.values).sum())
        log_noise += multiple * (total - n)
        return Slopes(value, log_noise, inverse, alpha)

    def _value(self, amplitude: float, determinant: float, noise: float) -> float:
        (n, m), total = self.Y.shape, self.weights.total
        determinant += float(np.log(self.weights.values).sum())
        determinant += (total - n) * np.log(noise)
        if self.rank is not None:
            return float(np.log(amplitude)) + determinant / total
        return m * (determinant + total * (amplitude + np.log(2.0 * np.pi)))


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
        Whether Gram matrices may be in single precision where the noise is large enough for it.
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
        self._is_plain = accepts(self.kernels, samples.X)
        self._sums = dict[Precision, WidthSum]()
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
        thetas, logs = np.split(x[: self.ends[-1]], self.ends[:-1]), x[self.ends[-1] :]
        n_free = len(self.kernels) - self.n_fixed
        weights = np.exp(np.append(np.zeros(self.n_fixed), logs[:n_free]))
        return thetas, weights, float(np.exp(logs[n_free])) if self.noise is None else self.noise

    def _evaluated(self, x: Array) -> tuple[Array, Contract]:
        """Return the Gram matrix and its derivatives, from arrays of all samples."""
        thetas, weights, noise = self._split(x)
        is_safe = noise >= SAFE_NOISE * self.samples.n_samples * weights.sum()
        dtype: Precision = np.float32 if self.in_single and is_safe else np.float64
        if dtype not in self._sums:
            self._sums[dtype] = WidthSum(self.kernels, self.samples.X, dtype)
        return self._sums[dtype](thetas, weights)

    def gram(self, x: Array) -> Array:
        """Return the Gram matrix of the weighted sum."""
        if self._is_plain and current_device() is None:
            return self._evaluated(x)[0].copy()
        kernels, weights, _ = self.read(x)
        device = device_for_sum(kernels, self.samples.X)
        if device is not None:
            return to_numpy(DeviceSum.of(kernels, weights, self.samples.X, device).gram)
        return base_grams(self.samples, kernels, centered=False).weighted_sum(weights)

    def value(self, x: Array) -> float:
        """Return the objective."""
        return self.of_gram.value(self.gram(x), self.read(x)[2])

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the objective and its gradient, which is computed tile by tile.

        Kernel values are kept for the gradient if three matrices for each kernel fit in memory. On
        a card, the Gram matrices of all samples are one tile.
        """
        if self._is_plain and current_device() is None:
            gram, contracted = self._evaluated(x)
            _, weights, noise = self._split(x)
            found = self.of_gram.slopes(gram, noise)
            P = found.inverse - found.factor @ found.factor.T
            return found.value, self._gradient(contracted(P), weights, found.log_noise)
        kernels, weights, noise = self.read(x)
        evidence, X = self.of_gram, self.samples.X
        if (
            isinstance(evidence, GaussianEvidence)
            and evidence.weights.is_unit
            and (device := device_for_sum(kernels, X))
        ):
            total = DeviceSum.of(kernels, weights, X, device)
            found = evidence.slopes_on_device(total.gram, noise)
            P = found.inverse - found.factor @ found.factor.T
            return found.value, self._gradient(total.contracted(P), weights, found.log_noise)
        samples = self.samples.unweighted
        sources = [kernel_tiles(kernel, samples, centered=False) for kernel in kernels]

        def computed(tile: Tile) -> list[KernelTile]:
            return [source(tile) for source in sources]

        tiles = kept(computed, samples.n_samples, 3 * len(kernels))

        def block(tile: Tile) -> Array:
            (first, *others), (one, *rest) = weights.tolist(), tiles(tile)
            total = first * one.values
            for weight, other in zip(others, rest, strict=True):
                total += weight * other.values
            return np.asarray(total)

        K = assembled(samples.plan, samples.n_samples, block)
        found = self.of_gram.slopes(K, noise)

        def contract(tile: Tile) -> Array:
            P = found.inverse[tile.rows, tile.columns] - (
                found.factor[tile.rows] @ found.factor[tile.columns].T
            )
            here = tiles(tile)
            slopes = [one.gradient(P) for one in here]
            return tile.count * np.concatenate([*slopes, [inner(P, one.values) for one in here]])

        total = np.sum(list(map_tiles(contract, samples.plan)), axis=0)
        return found.value, self._gradient(total, weights, found.log_noise)

    def _gradient(self, total: Array, weights: Array, log_noise: float) -> Array:
        """Return the gradient in x, from contractions of all slopes and of all kernels' values."""
        thetas = np.repeat(weights, self.sizes) * total[: self.ends[-1]]
        logs = (weights * total[self.ends[-1] :])[self.n_fixed :]
        return np.concatenate([thetas, logs, [log_noise] if self.noise is None else []])


def factored(K: Array, noise: float | Array, Y: Array) -> tuple[Array, Array]:
    """Return the Cholesky factor of A = K + noise I, and A^-1 Y.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
    noise : float or ndarray of shape (n_samples,)
    Y : ndarray of shape (n_samples, n_targets)

    Notes
    -----
    A trial step of a search may reach noise below the rounding errors of K, for which A is not
    positive definite if samples are equal. A small multiple of the trace is then added to the
    noise.
    """
    try:
        factor = definite_factor(with_diagonal(K, noise))
    except ValueError:
        rounding = len(K) * float(np.finfo(K.dtype).eps * np.trace(K))
        factor = definite_factor(with_diagonal(K, noise + rounding))
    return factor, cho_solve((factor, True), Y.astype(K.dtype, copy=False), check_finite=False)
