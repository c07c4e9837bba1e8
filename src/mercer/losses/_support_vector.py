"""Hinge and epsilon-insensitive losses: support vector machines by libsvm and an active set."""

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR

from mercer._data.types import Array
from mercer._data.validation import ARITHMETIC
from mercer._gram.factors import with_diagonal
from mercer.losses._loss import Boxes, Loss, Machine, QuadraticModel

EXACT_SAMPLES = 400
"""Machines of at most this many samples are exact up to rounding, which takes milliseconds, so that
the order of the samples does not matter, and a weight of two has the same effect as two samples."""


class SupportVector(Loss):
    """A loss that is linear except for kinks: most of its dual variables are at their bounds."""

    C: float
    is_smooth: ClassVar[bool] = False

    @property
    def _bounds(self) -> float | Array:
        """Upper bounds of the absolute dual variables."""
        return self.weighted(self.C)

    @abstractmethod
    def _estimator(self, **options: Any) -> SVC | SVR:
        """Return the unfitted machine of LIBSVM with an intercept, with other options."""

    def fitted(self, X: Array, y: Array, **options: Any) -> Machine:
        """Fit the machine with an intercept by LIBSVM.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features) or (n_samples, n_samples)
            A table, or a Gram matrix for the kernel "precomputed".
        y : ndarray of shape (n_samples,)
        **options : dict
            Tolerance and kernel, under scikit-learn's names.

        Notes
        -----
        Iterations are limited, since rounding may keep LIBSVM from reaching its tolerance.
        """
        return _fitted(self._estimator(**options), X, y, self.weights)

    @abstractmethod
    def _solve(self, K: Array, y: Array, *, intercept: bool, tol: float) -> Machine:
        """Find the machine by libsvm, up to its tolerance."""

    @abstractmethod
    def _pieces(self, y: Array, c: Array, residual: Array) -> tuple[Array, Array, Array]:
        """Return lower bounds, upper bounds and linear coefficients of the dual variables.

        The dual objective is linear on either side of c = 0; a variable that is zero belongs to the
        side given by the sign of its residual y - f.
        """

    @abstractmethod
    def _kink_distance(self, y: Array, f: Array) -> Array:
        """Return the distances of predictions from the nearest kink of the loss."""

    def quadratic_model(self, y: Array, f: Array, width: float) -> QuadraticModel:
        """Return the curvature of the smoothed kinks; see :meth:`Loss.quadratic_model`.

        Value and slope are zero, because the predictions of a machine of `fit` are optimal, so that
        a step needs only the curvature.
        """
        zero = np.zeros_like(f)
        return QuadraticModel(zero, zero, 1.0 / self.conjugate_curvature(y, f, width))

    def conjugate_curvature(self, y: Array, f: Array, width: float) -> Array:
        """Return 2 width / C near a kink; see :meth:`Loss.conjugate_curvature`."""
        return np.where(self._kink_distance(y, f) <= width, 2.0 * width / self._bounds, np.inf)

    def feasible(self, y: Array, c: Array) -> Array:
        """Return the nearest c in the box of the dual problem; see :meth:`Loss.feasible`."""
        low, high, _ = self._pieces(y, c, y)
        return np.clip(c, low, high)

    def fit(
        self, K: Array, y: Array, *, intercept: bool, accuracy: float, start: Machine | None = None
    ) -> Machine:
        """Fit a support vector machine by libsvm and an active-set method; see :meth:`Loss.fit`.

        The active-set method starts from the result of libsvm and ends at the optimum up to
        rounding. It follows for few samples, so that the result does not depend on their order, and
        where libsvm does not reach the duality gap. Each exchange takes a Cholesky factorization of
        the matrix of the free variables.
        """
        best, smallest_error = Machine(np.zeros(len(y)), 0.0), np.inf
        for tol in (1e-3, 1e-5):  # Until one of the two machines reaches the duality gap.
            rough = self._solve(K, y, intercept=intercept, tol=tol)
            for machine in self._refined(K, y, rough, intercept=intercept):
                primal, dual = self.objective(K, y, machine)
                # If c does not sum to zero, the dual objective is off by the intercept times the
                # sum, and may even exceed the primal one.
                error = max(abs(primal - dual), abs(machine.intercept * float(machine.c.sum())))
                if error < smallest_error:
                    best, smallest_error = machine, error
                if smallest_error <= accuracy * abs(primal):
                    return best
        return best

    def _refined(self, K: Array, y: Array, rough: Machine, *, intercept: bool) -> Iterator[Machine]:
        """Yield a machine and the one that the active-set method finds from it."""
        is_large = len(y) > EXACT_SAMPLES
        if is_large:
            yield rough
        yield self._active_set(K, y, rough, intercept=intercept)
        if not is_large:
            yield rough

    def _active_set(self, K: Array, y: Array, machine: Machine, *, intercept: bool) -> Machine:
        """Solve for the free variables, and exchange them with bound ones until all are optimal.

        There are at most three hundred exchanges, because rounding could make them cycle.
        """
        c, b = machine.c.copy(), machine.intercept
        # libsvm leaves variables that belong at a bound up to this fraction of C away from it.
        size, near = np.abs(c), 1e-9
        least = near * np.minimum(size.max(), self._bounds)
        free = np.asarray((size > least) & (size < (1.0 - near) * self._bounds))
        tolerance = ARITHMETIC * float(np.abs(y).max())
        highest = -np.inf
        for _ in range(300):
            residual = y - K @ c - b
            low, high, linear = self._pieces(y, c, residual)
            indices = np.flatnonzero(free)
            if indices.size > intercept:
                step, shift = _stationary(
                    K[np.ix_(indices, indices)],
                    (linear - y + residual)[indices],
                    intercept,
                    -float(c.sum()),
                )
                current = c[indices]
                to_bound = np.where(step > 0.0, high[indices] - current, current - low[indices])
                blocked = np.abs(step) > to_bound
                ratios = to_bound[blocked] / np.abs(step[blocked])
                step_size = float(ratios.min(initial=1.0))
                c[indices] = np.clip(current + step_size * step, low[indices], high[indices])
                b += shift
                if blocked.any():
                    free[indices] = (c[indices] > low[indices]) & (c[indices] < high[indices])
                    continue
                low, high, linear = self._pieces(y, c, y - K @ c - b)
            elif intercept:
                b = _middle(linear - K @ c, c < high, c > low)
            product = K @ c
            slope = linear - product - b
            improvable = ((slope > tolerance) & (c < high)) | ((slope < -tolerance) & (c > low))
            if not (improvable & ~free).any():
                break
            dual = float(linear @ c - 0.5 * c @ product)
            if dual > highest:
                free |= improvable
            else:
                # The variables that were released together returned to their bounds. The most
                # violating variables alone can always move.
                free = _most_violating(slope, c < high, c > low, intercept)
            highest = max(highest, dual)
        return Machine(c, b)


@dataclass(frozen=True)
class Hinge(SupportVector):
    """Hinge loss C max(0, 1 - y f) of support vector machines, for y in {-1, 1}.

    Parameters
    ----------
    C : float
        Positive weight of the loss.
    weights : ndarray of shape (n_samples,), default=None
        Positive weights of the samples, by which their losses are multiplied.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Hinge
    >>> Hinge(C=2.0).value(np.array([1.0, -1.0]), np.array([0.5, -3.0]))
    1.0
    """

    C: float
    weights: Array | None = None
    for_labels: ClassVar[bool] = True

    def value(self, y: Array, f: Array) -> float:
        """Return the sum of C max(0, 1 - y f); see :meth:`Loss.value`."""
        return self.C * self.total(np.maximum(0.0, 1.0 - y * f))

    def conjugate(self, y: Array, c: Array) -> float:
        """Return the sum of -y c, for 0 <= y c <= C; see :meth:`Loss.conjugate`."""
        return -float(y @ c)

    def _kink_distance(self, y: Array, f: Array) -> Array:
        """Return |1 - y f|."""
        return np.abs(1.0 - y * f)

    def _pieces(self, y: Array, c: Array, residual: Array) -> tuple[Array, Array, Array]:
        """Return the bounds of 0 <= y c <= C, and y."""
        return np.minimum(self._bounds * y, 0.0), np.maximum(self._bounds * y, 0.0), y

    def boxes(self, Y: Array, *, intercept: bool) -> Boxes:
        """Return the dual problem, for c = y a with the linear term -a; see :meth:`Loss.boxes`."""
        return Boxes(Y[None], -np.ones((1, *Y.shape)), self.C, intercept, self.weights)

    def _estimator(self, **options: Any) -> SVC:
        return SVC(C=self.C, **options)

    def _solve(self, K: Array, y: Array, *, intercept: bool, tol: float) -> Machine:
        """Run SVC or, without an intercept, SVR on the responses y (1 + e) with epsilon = e.

        If e is so large that no prediction is outside the tube on the far side, the
        epsilon-insensitive losses of these responses are the hinge losses. Powers of ten are tried
        in turn.
        """
        if intercept:
            return self.fitted(K, y, tol=tol, kernel="precomputed")
        for tube in 10.0 ** np.arange(1, 10):
            machine = EpsilonInsensitive(self.C, tube, self.weights)._solve(
                K, y * (1.0 + tube), intercept=False, tol=tol
            )
            if (y * machine.c >= 0.0).all():
                break
        return Machine(y * np.maximum(y * machine.c, 0.0), 0.0)


@dataclass(frozen=True)
class EpsilonInsensitive(SupportVector):
    """Epsilon-insensitive loss C max(0, |y - f| - epsilon) of support vector regression.

    Parameters
    ----------
    C : float
        Positive weight of the loss.
    epsilon : float
        Largest error without a loss, in the unit of the response.
    weights : ndarray of shape (n_samples,), default=None
        Positive weights of the samples, by which their losses are multiplied.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(C=1.0, epsilon=0.5).value(np.array([1.0, 2.0]), np.array([1.2, 4.0]))
    1.5
    """

    C: float
    epsilon: float
    weights: Array | None = None

    def value(self, y: Array, f: Array) -> float:
        """Return the sum of C max(0, |y - f| - epsilon); see :meth:`Loss.value`."""
        return self.C * self.total(np.maximum(0.0, np.abs(y - f) - self.epsilon))

    def conjugate(self, y: Array, c: Array) -> float:
        """Return the sum of epsilon |c| - y c, for |c| <= C; see :meth:`Loss.conjugate`."""
        return -float(y @ c) + self.epsilon * float(np.abs(c).sum())

    def _kink_distance(self, y: Array, f: Array) -> Array:
        """Return ||y - f| - epsilon|."""
        return np.abs(np.abs(y - f) - self.epsilon)

    def _pieces(self, y: Array, c: Array, residual: Array) -> tuple[Array, Array, Array]:
        """Return 0 <= c <= C or -C <= c <= 0, and y minus or plus epsilon."""
        side = np.where(c == 0.0, residual, c)
        return (
            np.where(side > 0.0, 0.0, -self._bounds),
            np.where(side > 0.0, self._bounds, 0.0),
            y - np.where(side > 0.0, self.epsilon, -self.epsilon),
        )

    def boxes(self, Y: Array, *, intercept: bool) -> Boxes:
        """Return the dual problem, for c = a_1 - a_2 at costs of epsilon - y and epsilon + y."""
        signs = np.stack([np.ones(Y.shape), -np.ones(Y.shape)])
        return Boxes(signs, self.epsilon - signs * Y, self.C, intercept, self.weights)

    def _estimator(self, **options: Any) -> SVR:
        return SVR(C=self.C, epsilon=self.epsilon, **options)

    def _solve(self, K: Array, y: Array, *, intercept: bool, tol: float) -> Machine:
        """Run SVR, whose intercept requires that the dual variables sum to zero.

        Without an intercept, two samples are added whose kernel is zero and whose dual variables
        have no cost: they absorb the sum of the other variables, which is then free.
        """
        if intercept:
            return self.fitted(K, y, tol=tol, kernel="precomputed")
        n = len(y)
        matrix = np.zeros((n + 2, n + 2))
        matrix[:n, :n] = K
        target = np.append(y, [self.epsilon, -self.epsilon])
        own = np.full(n, self.weighted(1.0))
        weights = np.append(own, np.full(2, own.sum() + 1.0))
        svr = self._estimator(tol=tol, kernel="precomputed")
        return Machine(_fitted(svr, matrix, target, weights).c[:n], 0.0)


def _most_violating(slope: Array, rising: Array, falling: Array, intercept: bool) -> Array:
    """Return a mask of the variables along which the dual objective grows fastest.

    With an intercept, they are a pair: one variable rises by as much as the other falls (the
    working set of sequential minimal optimization). Otherwise, there is a single variable.
    """
    up, down = np.where(rising, slope, -np.inf), np.where(falling, -slope, -np.inf)
    mask = np.zeros(slope.size, dtype=bool)
    if intercept:
        mask[[up.argmax(), down.argmax()]] = True
    else:
        mask[np.maximum(up, down).argmax()] = True
    return mask


def _fitted(machine: SVC | SVR, X: Array, target: Array, weights: Array | None) -> Machine:
    """Fit by LIBSVM; see :meth:`SupportVector.fitted`."""
    machine.max_iter = 1000 * max(len(X), 100)
    known = config_context(assume_finite=True, skip_parameter_validation=True)
    with known, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(X, target, sample_weight=weights)
    c = np.zeros(len(target))
    c[machine.support_] = machine.dual_coef_[0]
    return Machine(c, float(machine.intercept_[0]))


def _middle(slope: Array, rising: Array, falling: Array) -> float:
    """Return the intercept in the middle of the interval in which no variable can improve.

    The interval is from the largest slope of a variable that can rise to the smallest slope of one
    that can fall.
    """
    highest = slope[rising].max() if rising.any() else slope[falling].min()
    lowest = slope[falling].min() if falling.any() else highest
    return 0.5 * float(highest + lowest)


def _stationary(K: Array, slope: Array, intercept: bool, total: float) -> tuple[Array, float]:
    """Solve K d + b = slope for d and b; with an intercept, sum d = total, and otherwise, b = 0.

    With an intercept, K is centered, because it may only then be positive semi-definite. The ridge
    that is added to K is the smallest of three fractions of its largest diagonal element that makes
    K positive definite.
    """
    if intercept:
        means = K.mean(axis=0)
        K = K - means - means[:, None] + means.mean()
        level = float(np.abs(np.diag(K)).max())
        d, b = _stationary_definite(K + level, slope, intercept, total)
        return d, b + level * total - float(means @ d)
    return _stationary_definite(K, slope, intercept, total)


def _stationary_definite(
    K: Array, slope: Array, intercept: bool, total: float
) -> tuple[Array, float]:
    """Solve K d + b = slope for a positive semi-definite K; see `_stationary`."""
    size = float(np.abs(np.diag(K)).max())
    for jitter in (ARITHMETIC, 1e-10, 1e-7):
        try:
            system = cho_factor(with_diagonal(K, jitter * size), lower=True, check_finite=False)
            break
        except LinAlgError:
            continue
    else:
        return np.zeros_like(slope), 0.0
    by_one = cho_solve(system, np.ones_like(slope), check_finite=False) if intercept else None

    def improved(d: Array, b: float) -> tuple[Array, float]:
        step = cho_solve(system, slope - K @ d - b, check_finite=False)
        if by_one is None:
            return d + step, b
        shift = (float(step.sum()) - total + float(d.sum())) / float(by_one.sum())
        d = d + step - shift * by_one
        # Terms of d may be much larger than their sum, which only this correction makes exact.
        return d + (total - d.sum()) / len(d), b + shift

    def error(d: Array, b: float) -> float:
        return float(np.abs(slope - K @ d - b).max())

    best = improved(np.zeros_like(slope), 0.0)
    # The ridge perturbs the first solution. Refinement ends when it no longer halves the residual.
    for _ in range(5):
        refined = improved(*best)
        if not error(*refined) < 0.5 * error(*best):
            break
        best = refined
    return best
