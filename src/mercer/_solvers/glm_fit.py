"""Generalized kernel machines: Newton's method for penalized likelihoods on a Gram matrix.

A machine minimizes sum_i l_i(f_i + levels) + alpha / 2 |f|^2 over functions f = K c, and over
levels that are not penalized: intercepts, or the thresholds between grades. Each step is a ridge
regression whose weights are the curvatures of the losses.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve
from sklearn.exceptions import ConvergenceWarning

from mercer._data.types import Array
from mercer._data.validation import ROUNDING, warn
from mercer._gram.factors import definite_factor, scaled_system
from mercer._solvers.likelihoods import Derivatives, GLMLikelihood

_TOLERANCE = 1e-8
"""The search ends with a step that is expected to lower the objective by at most this fraction.
Newton's method converges quadratically, so that the coefficients are accurate to about this
fraction after the step."""

_MAX_STEPS = 100
"""Maximum number of Newton steps; five are usual, and about twice as many for small penalties."""

_MAX_HALVINGS = 40
"""Maximum number of times that a step is halved, which leaves about 1e-12 of its length."""


@dataclass(frozen=True)
class NewtonStep:
    """The minimum of the second-order expansion of a machine's objective.

    Attributes
    ----------
    dual : ndarray of shape (n_samples,)
        Coefficients of the samples, which sum to zero if there are levels.
    levels : ndarray of shape (n_levels,)
        Changes of the levels.
    factor : ndarray of shape (n_samples, n_samples)
        Lower Cholesky factor of B = I + R K R / alpha, with the square roots R of the curvatures.
    along : ndarray of shape (n_samples, n_levels)
        Mixed second derivatives with respect to the value and each level, divided by R.
    through : ndarray of shape (n_samples, n_levels)
        B^-1 times `along`.
    schur : ndarray of shape (n_levels, n_levels)
        Second derivatives of the minimum over f with respect to the levels.
    """

    dual: Array
    levels: Array
    factor: Array
    along: Array
    through: Array
    schur: Array


def newton_step(gram: Array, f: Array, local: Derivatives, alpha: float = 1.0) -> NewtonStep:
    """Minimize the second-order expansion of a penalized loss over functions and levels.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
    f : ndarray of shape (n_samples,)
        K c at the point of expansion.
    local : Derivatives
        Derivatives of the losses at this point.
    alpha : float, default=1.0

    Raises
    ------
    ValueError
        If the Gram matrix has an eigenvalue below minus the penalty.

    Notes
    -----
    With slopes s, curvatures h, R = diag(h)^(1/2), B = I + R K R / alpha, and mixed second
    derivatives R S with respect to values and levels, the coefficients are c = (R q - s) / alpha.
    Here, q is the solution of B q = R (f + K s / alpha) - S d for the changes d of the levels.
    There is no division by the curvatures, which vanish if classes are far apart. One Cholesky
    factorization is computed.

    References
    ----------
    Cawley, Janacek, Talbot (2007), Generalised kernel machines, IJCNN, section II.
    """
    slope, root = local.gradient[:, 0], np.sqrt(local.hessian[:, 0, 0])
    factor = definite_factor(scaled_system(gram, root / np.sqrt(alpha), 1.0))
    along = local.hessian[:, 0, 1:] / np.where(root > 0.0, root, 1.0)[:, None]
    sides = np.column_stack([root * (f + gram @ slope / alpha), along])
    solved = cho_solve((factor, True), sides, check_finite=False)
    q, through = solved[:, 0], solved[:, 1:]
    schur = local.hessian[:, 1:, 1:].sum(axis=0) - along.T @ along + along.T @ through
    # If all curvatures vanish, levels do not change.
    change = along.T @ q - local.gradient[:, 1:].sum(axis=0)
    levels = np.linalg.lstsq(schur, change, rcond=None)[0]
    dual = (root * (q - through @ levels) - slope) / alpha
    if along.shape[1]:
        # Remove the rounding error of the sum.
        dual -= dual.mean()
    return NewtonStep(dual, levels, factor, along, through, schur)


@dataclass(frozen=True)
class GeneralizedMachine:
    """A fitted generalized kernel machine.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,)
        Coefficients of the training samples, which sum to zero.
    levels : ndarray of shape (n_levels,)
        The intercept, or thresholds between grades.
    alpha : float
        The penalty.
    """

    dual_coef_: Array
    levels: Array
    alpha: float

    def linear_predictors(self, rows: Array) -> Array:
        """Return values plus levels, shape (n_rows, n_levels).

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_samples)
            Kernel between new and training samples, centered.
        """
        return np.asarray((rows @ self.dual_coef_)[:, None] + self.levels)


def fit_machine(
    gram: Array, likelihood: GLMLikelihood, alpha: float, start: GeneralizedMachine | None = None
) -> GeneralizedMachine:
    """Fit a generalized kernel machine by Newton's method.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix.
    likelihood : GLMLikelihood
    alpha : float
        Penalty, positive.
    start : GeneralizedMachine, default=None
        A machine with another penalty, from which the search starts if the constant model has a
        larger objective.

    Raises
    ------
    ValueError
        If the Gram matrix has an eigenvalue below minus the penalty.

    Warns
    -----
    ConvergenceWarning
        If the search ends although another step is expected to lower the objective by more than a
        fraction of 1e-4.

    Notes
    -----
    Steps are halved until the convex objective decreases. Each step takes a Cholesky factorization,
    O(n^3 / 3).

    Examples
    --------
    >>> from mercer._data.weights import UnitWeights
    >>> from mercer._solvers.likelihoods import Bernoulli
    >>> gram, y = np.array([[0.5, -0.5], [-0.5, 0.5]]), np.array([0.0, 1.0])
    >>> fit_machine(gram, Bernoulli(y, UnitWeights(2)), 0.1).dual_coef_.round(3)
    array([-1.634,  1.634])
    """
    w, none = likelihood.weights.values, np.zeros(len(gram))
    dual, f, levels = none, none, likelihood.start()

    def objective(dual: Array, f: Array, levels: Array) -> float:
        loss = float(w @ likelihood.losses(f[:, None] + levels))
        return loss + 0.5 * alpha * float(dual @ f)

    reached = objective(dual, f, levels)
    if start is not None:
        near = start.dual_coef_, gram @ start.dual_coef_, start.levels
        if (value := objective(*near)) < reached:
            (dual, f, levels), reached = near, value
    for _ in range(_MAX_STEPS):
        local = likelihood.derivatives(f[:, None] + levels)
        found = newton_step(gram, f, local, alpha)
        change = found.dual - dual
        f_change = gram @ change
        slope = float((local.gradient[:, 0] + alpha * dual) @ f_change)
        slope += float(local.gradient[:, 1:].sum(axis=0) @ found.levels)
        before = reached
        for size in 0.5 ** np.arange(_MAX_HALVINGS):
            trial = dual + size * change, f + size * f_change, levels + size * found.levels
            reached = objective(*trial)
            if reached <= before + ROUNDING * abs(before):
                break
        else:
            break
        dual, f, levels = trial
        if -slope <= _TOLERANCE * (abs(before) + _TOLERANCE):
            return GeneralizedMachine(dual, levels, alpha)
    if not -slope <= np.sqrt(_TOLERANCE) * abs(before):
        warn(
            f"A machine of the penalty {alpha:.3g} did not converge: scale the features, or raise "
            "alpha.",
            ConvergenceWarning,
        )
    return GeneralizedMachine(dual, levels, alpha)
