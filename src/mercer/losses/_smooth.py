"""Losses with closed-form derivatives: ridge and logistic regression, and interpolation."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_solve
from scipy.special import expit, xlogy

from mercer._data.types import Array
from mercer._data.validation import ARITHMETIC
from mercer._gram.factors import definite_factor, with_diagonal
from mercer._solvers.glm_fit import newton_step
from mercer._solvers.likelihoods import Derivatives
from mercer.losses._loss import Loss, Machine, QuadraticModel


@dataclass(frozen=True)
class Squared(Loss):
    """Squared loss (y - f)^2 / (2 alpha) of kernel ridge regression.

    Parameters
    ----------
    alpha : float
        Positive penalty of the norm.
    weights : ndarray of shape (n_samples,), default=None
        Positive weights of the samples, by which their losses are multiplied.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Squared
    >>> Squared(alpha=0.5).value(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    4.0
    """

    alpha: float
    weights: Array | None = None

    def value(self, y: Array, f: Array) -> float:
        """Return the sum of (y - f)^2 / (2 alpha); see :meth:`Loss.value`."""
        return 0.5 * self.total((y - f) ** 2) / self.alpha

    def quadratic_model(self, y: Array, f: Array, width: float) -> QuadraticModel:
        """Return the loss itself, which is quadratic; see :meth:`Loss.quadratic_model`."""
        curvature = np.full_like(f, self.weighted(1.0 / self.alpha))
        return QuadraticModel(0.5 * curvature * (y - f) ** 2, curvature * (f - y), curvature)

    def conjugate(self, y: Array, c: Array) -> float:
        """Return the sum of (alpha / 2) c^2 - y c; see :meth:`Loss.conjugate`."""
        return -float(y @ c) + 0.5 * float(c @ (self._penalties * c))

    def conjugate_curvature(self, y: Array, f: Array, width: float) -> Array:
        """Return alpha for every sample; see :meth:`Loss.conjugate_curvature`."""
        return np.full(len(f), self._penalties)

    @property
    def _penalties(self) -> float | Array:
        """The penalty of each sample's dual variable."""
        return self.alpha / self.weighted(1.0)

    def fit(
        self, K: Array, y: Array, *, intercept: bool, accuracy: float, start: Machine | None = None
    ) -> Machine:
        """Fit kernel ridge regression, (K + alpha I) c = y - b; see :meth:`Loss.fit`."""
        system = definite_factor(with_diagonal(K, self._penalties)), True
        if not intercept:
            return Machine(cho_solve(system, y, check_finite=False), 0.0)
        # If the mean is subtracted first, the intercept is a small correction, so that c sums to
        # zero up to rounding.
        mean = float(np.average(y, weights=self.weights))
        both = cho_solve(system, np.column_stack([y - mean, np.ones_like(y)]), check_finite=False)
        shift = float(both[:, 0].sum() / both[:, 1].sum())
        c = both[:, 0] - shift * both[:, 1]
        return Machine(c - c.mean(), mean + shift)


@dataclass(frozen=True)
class Interpolation(Loss):
    """The loss that is zero for f = y and infinite elsewhere, the limit of `Squared` at alpha = 0.

    Its kernel machine interpolates the responses. If the Gram matrix holds the noise of a Gaussian
    likelihood, as K + noise I, this loss replaces the likelihood.
    """

    weights: Array | None = None
    is_smooth: ClassVar[bool] = False

    def value(self, y: Array, f: Array) -> float:
        """Return zero, because predictions equal the responses; see :meth:`Loss.value`."""
        return 0.0

    def quadratic_model(self, y: Array, f: Array, width: float) -> QuadraticModel:
        """Return infinite curvatures; see :meth:`Loss.quadratic_model`."""
        zero = np.zeros_like(f)
        return QuadraticModel(zero, zero, np.full_like(f, np.inf))

    def conjugate(self, y: Array, c: Array) -> float:
        """Return the sum of -y c; see :meth:`Loss.conjugate`."""
        return -float(y @ c)

    def conjugate_curvature(self, y: Array, f: Array, width: float) -> Array:
        """Return zeros; see :meth:`Loss.conjugate_curvature`."""
        return np.zeros_like(f)

    def fit(
        self, K: Array, y: Array, *, intercept: bool, accuracy: float, start: Machine | None = None
    ) -> Machine:
        """Return K^-1 y; there is no intercept. See :meth:`Loss.fit`."""
        return Machine(cho_solve((definite_factor(K), True), y, check_finite=False), 0.0)


@dataclass(frozen=True)
class Logistic(Loss):
    """Logistic loss C log(1 + exp(-y f)), for y in {-1, 1}.

    Parameters
    ----------
    C : float
        Positive weight of the loss.
    weights : ndarray of shape (n_samples,), default=None
        Positive weights of the samples, by which their losses are multiplied.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Logistic
    >>> round(Logistic(C=2.0).value(np.array([1.0]), np.array([0.0])), 4)
    1.3863
    """

    C: float
    weights: Array | None = None
    for_labels: ClassVar[bool] = True

    def value(self, y: Array, f: Array) -> float:
        """Return the sum of C log(1 + exp(-y f)); see :meth:`Loss.value`."""
        return self.C * self.total(np.logaddexp(0.0, -y * f))

    def quadratic_model(self, y: Array, f: Array, width: float) -> QuadraticModel:
        """Expand the loss, with s = 1 / (1 + exp(y f)); see :meth:`Loss.quadratic_model`."""
        s, C = expit(-y * f), self.weighted(self.C)
        value = C * np.logaddexp(0.0, -y * f)
        return QuadraticModel(value, -C * y * s, C * s * (1.0 - s))

    def conjugate(self, y: Array, c: Array) -> float:
        """Return C sum (s log s + (1 - s) log(1 - s)), where s = y c / C; see the base class."""
        s = np.clip(y * c / self.weighted(self.C), 0.0, 1.0)
        return self.C * self.total(xlogy(s, s) + xlogy(1.0 - s, 1.0 - s))

    def conjugate_curvature(self, y: Array, f: Array, width: float) -> Array:
        """Return 1 / (C s (1 - s)), where s = 1 / (1 + exp(y f)); see the base class."""
        with np.errstate(divide="ignore"):
            return 1.0 / self.quadratic_model(y, f, width).curvature

    def feasible(self, y: Array, c: Array) -> Array:
        """Return the nearest c with y c in [0, C]; see :meth:`Loss.feasible`."""
        return y * np.clip(y * c, 0.0, self.weighted(self.C))

    def fit(
        self, K: Array, y: Array, *, intercept: bool, accuracy: float, start: Machine | None = None
    ) -> Machine:
        """Fit kernel logistic regression by Newton's method; see :meth:`Loss.fit`.

        Steps are halved until they decrease the objective. A step takes one Cholesky factorization.
        No division by the curvature of the loss is needed, which vanishes for samples far from the
        margin.
        """
        machine = Machine(np.zeros(len(y)), 0.0) if start is None else start
        primal = self.objective(K, y, machine)[0]
        for _ in range(100):
            # The minimum of the second-order expansion of the objective at the predictions.
            f = K @ machine.c
            model = self.quadratic_model(y, f + machine.intercept, 0.0)
            local = Derivatives.of_sums(model.slope, model.curvature, int(intercept))
            step = newton_step(K, f, local)
            target = Machine(step.dual, machine.intercept + float(step.levels.sum()))
            step_size, reached = 1.0, np.inf
            while not reached <= primal and step_size > ARITHMETIC:
                rest = 1.0 - step_size
                c = rest * machine.c + step_size * target.c
                trial = Machine(c, rest * machine.intercept + step_size * target.intercept)
                reached = self.objective(K, y, trial)[0]
                step_size *= 0.5
            if not reached <= primal:
                break
            machine, primal = trial, reached
            bounded = Machine(self._bounded(y, machine.c, intercept), machine.intercept)
            upper, lower = self.objective(K, y, bounded)
            if upper - lower <= accuracy * abs(upper):
                return bounded
        return Machine(self._bounded(y, machine.c, intercept), machine.intercept)

    def _bounded(self, y: Array, c: Array, intercept: bool) -> Array:
        """Clip dual variables to their bounds and, with an intercept, balance the two classes.

        The dual variables of a Newton step violate these conditions only by rounding and by the
        error of the last second-order expansion.
        """
        s = np.clip(y * c, 0.0, self.weighted(self.C))
        if intercept:
            sums = np.array([s[y < 0.0].sum(), s[y > 0.0].sum()])
            s *= (sums.min() / np.where(sums > 0.0, sums, 1.0))[(y > 0.0).astype(int)]
        return y * s
