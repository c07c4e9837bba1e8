"""Ridge regression on the kernel between all rows, whose Gram matrix has to fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state, gen_batches

from mercer._blocks.tables import DrawnSample
from mercer._data.arrays import like, to_numpy
from mercer._data.encoded_targets import TargetEncoding
from mercer._data.folds import N_FOLDS, sample_rows
from mercer._data.types import AnyArray, Array, Features, RandomState
from mercer._gram.devices import TILE_BYTES, Device, device_with_room
from mercer._gram.symmetric import Symmetric, UpperTriangle, WholeMatrix
from mercer._gram.tiles import map_tiles, serial_algebra
from mercer._model_selection.calibration import calibrate
from mercer._nystroem.feature_ridge import LinearFit, RidgeChoice, best_penalty
from mercer._nystroem.features import KernelColumns, values_on_device
from mercer._solvers.conjugate_gradients import PreconditionedRidge
from mercer.kernels import Kernel

_PENALTIES = 10.0 ** np.arange(-1.0, 2.0)
"""Penalties that are compared first on a part of the rows, for a kernel of unit scale."""

_LEAST_PENALTY = 1e-3
"""Smaller penalties down to about this one are compared as long as costs fall. They take conjugate
gradients the most iterations."""

AROUND = 10.0 ** np.array([-0.5, 0.5])
"""Multiples of the best of `_PENALTIES`, which are compared next."""

_COMPARED_ROWS, _COMPARED_HELD_OUT = 5000, 900
"""Widths and penalties are compared on a sample of this many rows, by the errors of at least as
many held-out rows as the second number: those of one random fold. Widths chosen on half as many
rows would be too large for all rows: on 10,000 rows of pol, they raise the error by 5 %."""

_ROUNDING = 8.0
"""Four times the norm of a matrix of independent errors of unit size, divided by the square root of
its size."""

_TOLERANCE, _COMPARED_TOLERANCE = 1e-3, 1e-2
"""Tolerances of fits to all rows without noise, and of fits that are only compared; see
:meth:`PreconditionedRidge.solve`."""

_NEGLIGIBLE = 0.02
"""Tolerance of fits of responses, relative to the root mean square of their errors. The differences
from exact solutions, which are about as large as the tolerance, then raise errors by 2e-4."""

_PRECISE = 1e-3
"""Below this squared error of responses, relative to that of the mean, fits that are compared have
the smaller tolerance: the larger one would add as much error."""

_COMPARED_ITERATIONS = 100
"""Fits that need more iterations are compared without convergence."""

_ROWS_PER_COLUMN, _FEW_COLUMNS, _NOISE = 10, 500, 0.01
"""Number of rows for each column of the preconditioner, whose Cholesky factors then take as much
time as a few iterations. With penalties of at least the last number, ten iterations are enough, and
half of the columns, if these are at least the second number."""

ScoresOfValues = Callable[[Array, Array], Array]
"""Maps out-of-fold predictions, side by side for all penalties, and the penalties to scores."""


class AllRows:
    """The centered Gram matrix of all rows, at unit scale and in single precision, plus one.

    Parameters
    ----------
    kernel : Kernel
        Kernel that is bound to the table.
    data : DrawnSample
        All rows.
    encoding : TargetEncoding
    random_state : int, RandomState instance or None
        Draws the columns of the preconditioner.
    least_alpha : float, default=0.0
        The smallest penalty that will be used, for rows of weight one.

    Raises
    ------
    ValueError
        If the kernel has values that are not finite.

    Notes
    -----
    The matrix takes 2 n^2 bytes, or 4 n^2 on a card.
    """

    def __init__(
        self,
        kernel: Kernel,
        data: DrawnSample,
        encoding: TargetEncoding,
        random_state: RandomState,
        least_alpha: float = 0.0,
    ) -> None:
        self.data, self.encoding = data, encoding
        self.weights = np.asarray(data.weights.values, dtype=float)
        self.targets = encoding.encode(data.y)
        X = data.X.astype(np.float64, copy=False)
        self.shares = self.weights / self.weights.sum()
        gram, means, self.scale = paired_gram(kernel, X, self.shares)
        self.columns = KernelColumns(kernel, X, means)
        columns = check_random_state(random_state).permutation(len(data))
        n_columns = max(len(data) // _ROWS_PER_COLUMN, 1)
        if least_alpha >= _NOISE:
            n_columns = max(n_columns // 2, min(n_columns, _FEW_COLUMNS))
        some = columns[:n_columns]
        self._ridge = PreconditionedRidge(gram, some)

    def choose(
        self, alphas: Array, scores_of: ScoresOfValues | None = None, cost: float = 0.0
    ) -> tuple[RidgeChoice, Array]:
        """Fit at the best penalty, and predict each row out of fold.

        Parameters
        ----------
        alphas : ndarray of shape (n_alphas,)
        scores_of : callable, default=None
            Scores by which the penalty is chosen; by default, the squared error is minimized.
        cost : float, default=0.0
            An estimate of the squared errors of responses, relative to those of the mean. The less
            accurate the predictions, the fewer iterations are made.

        Returns
        -------
        choice : RidgeChoice
        held_out : ndarray of shape (n_rows, n_outputs)
            NaN for rows that no fold holds out.
        """
        alphas, (held_out, trained) = self._attainable(alphas), self._folds()
        everything = np.ones((1, len(self.data)), dtype=bool)
        tol = _TOLERANCE
        if self.encoding.classes is None:
            tol = float(np.clip(_NEGLIGIBLE * np.sqrt(cost), _TOLERANCE, _COMPARED_TOLERANCE))
        solved, means = self._solved(alphas, np.concatenate([trained, everything]), tol)
        values = self._predictions(solved[:-1], means[:-1], trained, held_out)
        losses = self._losses(values, means[:-1], held_out)
        scores = None
        if scores_of is not None:
            compared = self._compared(values, means[:-1], held_out)
            scores = scores_of(compared.reshape(len(values), -1), alphas)
        alpha = best_penalty(alphas, losses if scores is None else -scores)
        best = int(np.flatnonzero(alphas == alpha)[0])
        fit = self._fit(solved[-1, best], means[-1])
        without = _without(means[:-1], held_out)
        return RidgeChoice(alphas, losses, alpha, fit, [], scores, without), values[:, best]

    def best_alpha(self, alphas: Array | None = None) -> tuple[float, float]:
        """Return the penalty of least out-of-fold cost, for rows of weight one, and this cost.

        The cost is the squared error, or for classes the logarithmic loss of calibrated
        probabilities, because penalties that minimize the error of class indicators give poor
        decisions near the boundary.

        Parameters
        ----------
        alphas : ndarray of shape (n_alphas,), default=None
            Penalties to compare; by default, powers of ten, downhill from 0.1, 1 and 10, and two
            penalties around the best one. Larger and smaller penalties are tried as long as costs
            fall: up to the sum of the matrix's eigenvalues, at which predictions are at most half
            as far from the mean as without a penalty, and down to a thousandth.
        """
        held_out, trained = self._folds()
        # The last folds are used: if folds are ordered in time, they have the most training rows.
        n_held_out = np.cumsum(held_out[::-1].sum(axis=1))
        used = slice(-1 - int(np.searchsorted(n_held_out, _COMPARED_HELD_OUT)), None)
        costs: dict[float, float] = {}
        tol = _COMPARED_TOLERANCE

        def compare(found: Array) -> None:
            fresh = np.setdiff1d(self._attainable(found), list(costs))
            if fresh.size:
                solved, means = self._solved(
                    fresh,
                    trained[used],
                    tol=tol,
                    max_iter=_COMPARED_ITERATIONS,
                )
                values = self._predictions(solved, means, trained[used], held_out[used])
                compared = self._costs(values, means, held_out[used])
                costs.update(zip(fresh.tolist(), compared.tolist(), strict=True))

        def best() -> float:
            known = np.sort(list(costs))
            return best_penalty(known, np.array([costs[alpha] for alpha in known]))

        first = self._mean_weight * (_PENALTIES if alphas is None else alphas)
        compare(first)
        if self.encoding.classes is None and costs[best()] < _PRECISE:
            tol = _TOLERANCE
            costs.clear()
            compare(first)
        while best() == max(costs) < len(self.data):
            compare(best() * AROUND[-1:])
        least, n_known = 2.0 * self._mean_weight * _LEAST_PENALTY, 0
        downward = AROUND[:1] if alphas is not None else AROUND[:1] ** 2
        while best() == min(costs) > least and n_known < len(costs):
            n_known = len(costs)
            compare(best() * downward)
        if alphas is None:
            compare(best() * AROUND)
        return best() / self._mean_weight, costs[best()]

    @property
    def _mean_weight(self) -> float:
        return float(self.weights.mean())

    def _attainable(self, alphas: Array) -> Array:
        """Return ascending penalties, at least as large as rounding errors of single precision.

        The rounding errors of the matrix's values are independent, so that the norm of the matrix
        of errors is proportional to the square root of its size.
        """
        rounding = _ROUNDING * np.sqrt(len(self.data)) * float(np.finfo(np.float32).eps)
        least = rounding * self._mean_weight
        return np.unique(np.maximum(alphas, least))

    def _folds(self) -> tuple[Array, Array]:
        """Return the masks of held-out and training rows of the folds in which neither is empty."""
        held_out, trained = self.data.held_out(N_FOLDS), self.data.trained(N_FOLDS)
        used = trained.any(axis=1) & held_out.any(axis=1)
        return held_out[used], trained[used]

    def _solved(
        self, alphas: Array, trained: Array, tol: float = _TOLERANCE, max_iter: int = 1000
    ) -> tuple[Array, Array]:
        """Return the coefficients of fits to subsets of the rows, and the means of the targets."""
        roots = np.sqrt(self.weights) * trained
        means = (roots**2 @ self.targets) / (roots**2).sum(axis=1, keepdims=True)
        # Indicators of all classes sum to one, so that the last one follows from the others.
        n_solved = self.targets.shape[1] - (self.encoding.classes is not None)
        targets = (self.targets - means[:, None, :])[:, :, :n_solved]
        solved = self._ridge.solve(targets, roots, alphas, tol=tol, max_iter=max_iter)
        if n_solved < self.targets.shape[1]:
            solved = np.concatenate([solved, -solved.sum(axis=-1, keepdims=True)], axis=-1)
        return solved, means

    def _predictions(self, solved: Array, means: Array, trained: Array, held_out: Array) -> Array:
        """Return mean out-of-fold predictions, which are NaN for rows that no fold holds out.

        They have shape (n_rows, n_alphas, n_outputs). Intercepts are those at which the residuals
        of the training rows have the mean zero, which iterations reach slowly.
        """
        n_fits, n_alphas, n_rows, n_outputs = solved.shape
        vectors = solved.transpose(0, 1, 3, 2).reshape(-1, n_rows)
        fitted = self._ridge.products(vectors).reshape(n_fits, n_alphas, n_outputs, n_rows)
        total = np.zeros((n_rows, n_alphas, n_outputs))
        for of_fit, mean, known, inside in zip(fitted, means, trained, held_out, strict=True):
            shares = self.weights * known / (self.weights @ known)
            intercepts = mean - of_fit @ shares
            total[inside] += intercepts + of_fit[:, :, inside].transpose(2, 0, 1)
        counts = held_out.sum(axis=0)[:, None, None]
        return np.asarray(total / np.where(counts > 0, counts, np.nan))

    def _losses(self, values: Array, means: Array, held_out: Array) -> Array:
        """Return squared errors relative to those of the means, averaged over outputs."""
        if not len(held_out):
            return np.ones(values.shape[1])
        known = held_out.any(axis=0)
        w, Y = self.weights[known], self.targets[known]
        errors = np.einsum("i,iak->ak", w, (Y[:, None, :] - values[known]) ** 2)
        baseline = w @ (Y - _without(means, held_out)[known]) ** 2
        ratios = np.divide(errors, baseline, out=np.ones_like(errors), where=baseline > 0.0)
        return np.asarray(ratios.mean(axis=1))

    def _compared(self, values: Array, means: Array, held_out: Array) -> Array:
        """Return out-of-fold predictions, which for classes contain the frequencies in all rows.

        These replace the frequencies in the training rows of a fold. The latter fall as a held-out
        row's own indicator rises, so that its label would leak into a calibration.
        """
        if self.encoding.classes is None:
            return values
        mean = self.weights @ self.targets / self.weights.sum()
        return np.asarray(values + (mean - _without(means, held_out))[:, None, :])

    def _costs(self, values: Array, means: Array, held_out: Array) -> Array:
        """Return the costs of out-of-fold predictions, shape (n_alphas,)."""
        if self.encoding.classes is None:
            return self._losses(values, means, held_out)
        known, values = held_out.any(axis=0), self._compared(values, means, held_out)
        codes, w = self.encoding.codes_of(self.data.y[known]), self.weights[known]
        counts = self.weights @ self.targets

        def log_loss(indicators: Array) -> float:
            found = calibrate(indicators, codes, counts, w / w.mean()).probabilities(indicators)
            of_class = np.maximum(found[np.arange(len(codes)), codes], np.finfo(float).tiny)
            return -float(np.average(np.log(of_class), weights=w))

        return np.array([log_loss(found) for found in values[known].transpose(1, 0, 2)])

    def _fit(self, solved: Array, mean: Array) -> LinearFit:
        """Return the fit as a linear function of kernel values minus their means at the rows.

        The intercept is that at which residuals have the mean zero; see `_predictions`.
        """
        if np.isinf(self.scale):
            return LinearFit(np.zeros_like(solved, dtype=float), mean, mean)
        coefficients, fitted = np.asarray(solved, dtype=float), self._ridge.products(solved.T)
        total = coefficients.sum(axis=0)
        centered = coefficients - self.shares[:, None] * total
        return LinearFit(centered / self.scale, mean + total - fitted @ self.shares, mean)


def _without(means: Array, held_out: Array) -> Array:
    """Return mean targets of each row's training rows; NaN for rows that are never held out."""
    counts = held_out.sum(axis=0)[:, None]
    return np.asarray(held_out.T @ means / np.where(counts > 0, counts, np.nan))


def part_of(data: DrawnSample, encoding: TargetEncoding, random_state: RandomState) -> DrawnSample:
    """Return a sample of the rows, on which widths and penalties are compared."""
    covered = data.covered
    codes = None if encoding.classes is None else encoding.codes_of(data.y[covered])
    return data.take(covered[sample_rows(len(covered), _COMPARED_ROWS, codes, random_state)])


def penalties_for(alpha: float, data: DrawnSample, *, scored: bool) -> Array:
    """Return the penalties to compare in fits to all rows.

    Parameters
    ----------
    alpha : float
        The penalty of least error on a part of the rows, for rows of weight one.
    data : DrawnSample
    scored : bool
        Whether the penalty is chosen by a score. If so, two more penalties are compared.
    """
    factors = np.append(AROUND, 1.0) if scored else np.ones(1)
    return data.all_weights.average * alpha * factors


def ridge_on_all_rows(
    kernel: Kernel,
    data: DrawnSample,
    encoding: TargetEncoding,
    alphas: Array | None,
    *,
    random_state: RandomState,
    scores_of: ScoresOfValues | None = None,
    cost: float = 0.0,
) -> tuple[KernelColumns, RidgeChoice, Array]:
    """Fit ridge regression on the kernel between all rows, at a cross-validated penalty.

    Parameters
    ----------
    kernel : Kernel
        Kernel that is bound to the table.
    data : DrawnSample
        All rows of the table.
    encoding : TargetEncoding
    alphas : ndarray of shape (n_alphas,), or None
        Penalties that are compared on all rows. If None, the best penalty on a part of the rows is
        used; if there is a score, this penalty is compared with two others around it.
    random_state : int, RandomState instance or None
    scores_of, cost : object, default=None
        See :meth:`AllRows.choose`.

    Returns
    -------
    columns : KernelColumns
    choice : RidgeChoice
    held_out : ndarray of shape (n_rows, n_outputs)

    Notes
    -----
    Conjugate gradients take a few dozen iterations, each in O(n^2) time for each fold and penalty.
    The matrix takes 2 n^2 bytes. Exact left-out errors from a Cholesky factor in single precision,
    and the inverse of the factor, would take O(2 n^3 / 3) for each penalty: with 10,000 rows about
    as long as 100 iterations (benchmarks/cores.py), which only responses almost without noise need.
    """
    rows = None
    if alphas is None:
        rows = AllRows(kernel, part_of(data, encoding, random_state), encoding, random_state)
        alpha, cost = rows.best_alpha()
        alphas = penalties_for(alpha, data, scored=scores_of is not None)
    alphas = np.asarray(alphas, dtype=float)
    if rows is None or len(rows.data) < len(data):
        least = float(alphas.min()) / data.all_weights.average
        rows = AllRows(kernel, data, encoding, random_state, least)
    choice, held_out = rows.choose(alphas, scores_of, cost)
    return rows.columns, choice, held_out


_ARRAYS = 1.5
"""Size of all arrays of a fit on a card, in units of the size of the Gram matrix: of the matrix,
the factor and the inverses of preconditioners, and the vectors."""


class PairedGram(NamedTuple):
    """The centered Gram matrix of all rows, at unit scale, plus one.

    Attributes
    ----------
    values : UpperTriangle or WholeMatrix
        In single precision; as a whole on a card.
    means : ndarray of shape (n_rows,)
        Means of the kernel's values at each row, less its offset.
    scale : float
        The number by which the centered matrix was divided; infinite for a constant kernel.
    """

    values: Symmetric
    means: Array
    scale: float


def paired_gram(kernel: Kernel, X: Features, shares: Array) -> PairedGram:
    """Compute the centered Gram matrix of all rows in single precision.

    Parameters
    ----------
    kernel : Kernel
        Kernel that is bound to the table.
    X : ndarray or sparse matrix of shape (n_rows, n_features)
    shares : ndarray of shape (n_rows,)
        Weights of the rows, which sum to one.

    Raises
    ------
    ValueError
        If the kernel has values that are not finite.

    Warns
    -----
    UserWarning
        If the matrix does not fit into the memory of the card.

    Notes
    -----
    The matrix takes 2 n^2 bytes, or 4 n^2 on a card.
    """
    n_rows = X.shape[0]
    purpose = f"the kernel between {n_rows:,} rows"
    device = device_with_room(_ARRAYS * 4.0 * n_rows**2, purpose)
    gram = _in_memory(kernel, X) if device is None else WholeMatrix(_on_device(kernel, X, device))
    means = _means(gram, shares)
    if not np.isfinite(means).all():
        raise ValueError(f"Kernel returned NaN or infinity: {kernel.describe()}.")
    overall = float(shares @ means)
    scale = float(shares @ (gram.diagonal() - 2.0 * means + overall))
    if scale <= np.finfo(np.float32).eps * abs(overall):
        for _, _, block in gram.blocks():
            block[:, :] = 0.0
        _center(gram, np.zeros_like(means), 0.0, 1.0)
        return PairedGram(gram, means, np.inf)
    _center(gram, means, overall, scale)
    return PairedGram(gram, means, scale)


def _means(gram: Symmetric, shares: Array) -> Array:
    """Return weighted means of the values in each row."""
    reference = next(block for _, _, block in gram.blocks())
    weights = like(shares.astype(np.float32)[None], reference)
    return to_numpy(gram.product(weights))[0].astype(float)


@serial_algebra()
def _in_memory(kernel: Kernel, X: Features) -> UpperTriangle:
    """Return the kernel between all rows minus its offset."""
    return UpperTriangle(X.shape[0], kernel._value_tiles(X))


def _on_device(kernel: Kernel, X: Features, device: Device) -> AnyArray:
    """Return the kernel between all rows minus its offset, in single precision, on a device."""
    n_rows, xp = X.shape[0], device.xp
    gram = device.zeros((n_rows, n_rows), xp.float32)
    values = values_on_device(kernel, X, device)
    for rows in gen_batches(n_rows, max(TILE_BYTES // (8 * n_rows), 1)):
        gram[rows, :] = xp.astype(values(rows), xp.float32)
    return gram


def _center(gram: Symmetric, means: Array, overall: float, scale: float) -> None:
    """Center a Gram matrix, divide it by a scale and add one, in place.

    The constant is a feature of unit scale for the intercept, which each fold fits separately.
    """
    rest = np.float32(overall) - means + np.float32(scale)

    def fill(part: Iterable[tuple[slice, slice, AnyArray]]) -> None:
        for rows, columns, values in part:
            values[:, :] -= like(means[columns], values)
            values[:, :] += like(rest[rows, None], values)
            values[:, :] /= float(np.float32(scale))

    if not isinstance(gram, UpperTriangle):
        fill(gram.blocks())
        return
    for _ in map_tiles(fill, gram.in_parts()):
        pass
