"""Approximate leave-one-out values of generalized kernel machines, without refits."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer._data.resampling import Indices, Resampling, as_resampling
from mercer._data.types import Array
from mercer._data.validation import ROUNDING
from mercer._gram.factors import inverted
from mercer._solvers.glm_fit import GeneralizedMachine, fit_machine, newton_step
from mercer._solvers.likelihoods import Derivatives, GLMLikelihood

_AT_ONCE = 128
"""About this many left-out samples are processed at a time."""


def left_out_predictors(
    gram: Array,
    machine: GeneralizedMachine,
    likelihood: GLMLikelihood,
    resampling: Resampling | None = None,
    *,
    corrected: bool = False,
) -> Array:
    """Return linear predictors of samples, from machines fitted without them or their groups.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix.
    machine : GeneralizedMachine
        The machine fitted to all samples. Machines that leave out samples have the same penalty.
    likelihood : GLMLikelihood
    resampling : Resampling, default=None
        Which samples are left out together; by default each is left out alone.
    corrected : bool, default=False
        Whether to take five more steps, which account for the changes in the curvatures of the
        other samples when one is left out. Only used for likelihoods with one level.

    Returns
    -------
    ndarray of shape (n_samples, n_levels)
        NaN for samples that are never left out.

    Notes
    -----
    The loss is expanded to second order at the optimum. The machine is then a weighted ridge
    regression on a working response, from which samples are left out in closed form [1]_. Let V be
    the inverse of the second derivatives with respect to the values and levels of all samples, and
    s_G and H_GG the slopes and second derivatives of the left-out samples G. Leaving out G adds
    V_GG (I - H_GG V_GG)^-1 s_G to the values and levels. This takes one Cholesky factorization and
    a matrix inverse.

    The correction continues with the derivatives of the losses at the values without G, and the
    same second derivatives (chord steps of Newton's method for all G at once, with secants). Each
    step takes a product of two n x n matrices. If more than half of the samples are left out,
    machines are refitted. If all samples of a class are left out, the prediction is that this class
    does not occur.

    References
    ----------
    .. [1] G. Cawley, N. Talbot (2008). Efficient approximate leave-one-out cross-validation for
       kernel logistic regression. Machine Learning 71, section 3.
    """
    influence = _influence(gram, machine, likelihood)
    kinds = likelihood.kinds
    members = kinds[:, None] == np.unique(kinds[kinds >= 0])
    corrected = corrected and len(machine.levels) == 1
    of_parts = influence.corrected if corrected else influence.first_order

    def of_batches(batches: Sequence[Indices]) -> Iterator[Array]:
        for batch in batches:
            # Without the samples of a class, no machine can be fitted.
            anew = (members[batch].sum(axis=1) == members.sum(axis=0)).any(axis=1)
            anew |= 2 * batch.shape[1] > len(gram)
            found = np.empty((*batch.shape, len(machine.levels)))
            rest, size = np.flatnonzero(~anew), max(_AT_ONCE // batch.shape[1], 1)
            for some in (rest[at : at + size] for at in range(0, len(rest), size)):
                found[some] = of_parts(batch[some])
            for part in np.flatnonzero(anew):
                found[part] = _refitted(gram, machine, likelihood, batch[part])
            yield found

    resampling = as_resampling(resampling, len(gram))
    return likelihood.bounded(resampling.assembled(of_batches))


@dataclass(frozen=True)
class _Influence:
    """The inverse V of the second derivatives of a machine's objective at its optimum.

    If there is only one level, it is included in the values, which are then the sums of f and the
    level.

    Attributes
    ----------
    likelihood : GLMLikelihood
    eta : ndarray of shape (n_samples, n_levels)
        Linear predictors.
    local : Derivatives
        Derivatives of the losses, with positive curvatures.
    inverse : ndarray of shape (n_samples + n_levels, n_samples + n_levels)
        V, for the values followed by the levels.
    """

    likelihood: GLMLikelihood
    eta: Array
    local: Derivatives
    inverse: Array

    def _systems(self, parts: Indices) -> tuple[Array, Array]:
        """Return V_GG for the values of each part and all levels, and I - H_GG V_GG."""
        V, (n, size) = self.inverse, (len(self.eta), parts.shape[1])
        levels = np.broadcast_to(np.arange(n, len(V)), (len(parts), len(V) - n))
        at, every = np.hstack([parts, levels]), np.arange(size)
        within, hessian = V[at[:, :, None], at[:, None, :]], self.local.hessian[parts]
        removed = np.zeros_like(within)
        removed[:, every, every] = hessian[:, :, 0, 0]
        removed[:, :size, size:] = hessian[:, :, 0, 1:]
        removed[:, size:, :size] = hessian[:, :, 1:, 0].transpose(0, 2, 1)
        removed[:, size:, size:] = hessian[:, :, 1:, 1:].sum(axis=1)
        # The identity is enlarged slightly, to keep systems regular in spite of rounding.
        return within, (1.0 + ROUNDING) * np.eye(at.shape[1]) - removed @ within

    def first_order(self, parts: Indices) -> Array:
        """Return linear predictors without each part, by the ridge regression of the last step.

        Parameters
        ----------
        parts : ndarray of int of shape (n_parts, size)
            Samples that are left out together.

        Returns
        -------
        ndarray of shape (n_parts, size, n_levels)
        """
        (within, systems), size = self._systems(parts), parts.shape[1]
        gradient = self.local.gradient[parts]
        slopes = np.hstack([gradient[:, :, 0], gradient[:, :, 1:].sum(axis=1)])
        changes = (within @ np.linalg.solve(systems, slopes[:, :, None]))[:, :, 0]
        shift = changes[:, None, size:] if changes.shape[1] > size else 0.0
        return np.asarray(self.eta[parts] + changes[:, :size, None] + shift)

    def corrected(self, parts: Indices) -> Array:
        """Return predictors corrected for the curvatures of other samples, for a single level.

        Parameters
        ----------
        parts : ndarray of int of shape (n_parts, size)
        """
        eta, V, systems = self.eta[:, 0], self.inverse, self._systems(parts)[1]
        slope, curvature = self.local.gradient[:, 0], self.local.hessian[:, 0, 0]
        columns, own = V[parts], (np.arange(len(parts))[:, None], parts)

        def spread(slopes: Array) -> Array:
            """Return V_G (I - H_G V_GG)^-1 s_G of each part, shape (n_parts, n_samples)."""
            solved = np.linalg.solve(systems, slopes[:, :, None])
            return np.asarray((solved.transpose(0, 2, 1) @ columns)[:, 0])

        def improved(changes: Array) -> Array:
            """Return changes for which derivatives vanish, to first order around the given ones."""
            at = (eta + changes)[:, :, None]
            rest = self.likelihood.derivatives(at).gradient[:, :, 0] - slope - curvature * changes
            rest[own] = 0.0
            moved = rest @ V
            return spread(slope[parts] - curvature[parts] * moved[own]) - moved

        start = spread(slope[parts])
        # A correction that overflows, or exceeds the first-order change, is discarded.
        with np.errstate(invalid="ignore"):
            found, first = _fixed_point(improved, start)[own], start[own]
            changes = np.where(np.abs(found - first) <= np.abs(first), found, first)
        return np.asarray((eta[parts] + changes)[:, :, None])


def _influence(gram: Array, machine: GeneralizedMachine, likelihood: GLMLikelihood) -> _Influence:
    eta = machine.linear_predictors(gram)
    local = likelihood.derivatives(eta)
    local = replace(local, hessian=local.hessian.copy())
    curvatures = local.hessian[:, 0, 0]
    # Curvatures must be positive, because values are divided by them.
    curvatures[:] = np.maximum(curvatures, 1e-8 * curvatures.max() or 1.0)
    root = np.sqrt(curvatures)[:, None]
    step = newton_step(gram, eta[:, 0] - machine.levels[0], local, machine.alpha)
    # With B = I + R K R / alpha: for given levels, V = R^-1 (I - B^-1) R^-1.
    values = inverted(step.factor)
    values *= -1.0
    values[np.diag_indices_from(values)] += 1.0
    values /= root
    values /= root.T
    one_level = len(machine.levels) == 1
    effects = (step.through - step.along) / root + float(one_level)
    across = np.linalg.solve(step.schur, effects.T).T
    values += across @ effects.T
    if one_level:
        local = Derivatives(local.gradient[:, :1], local.hessian[:, :1, :1])
        return _Influence(likelihood, eta, local, values)
    of_levels = np.linalg.solve(step.schur, np.eye(len(step.schur)))
    inverse = np.block([[values, across], [across.T, of_levels]])
    return _Influence(likelihood, eta, local, inverse)


def _fixed_point(function: Callable[[Array], Array], at: Array, longest: float = 5.0) -> Array:
    """Approximate the fixed point of a function, row by row, by steps of the secant method.

    Five steps are enough at the selected penalty. A step extrapolates by at most `longest` times
    the last change.

    References
    ----------
    Anderson (1965), Iterative procedures for nonlinear integral equations, Journal of the ACM 12,
    with one previous step.
    """
    found = image = function(at)
    for _ in range(5 - 1):
        residual, (at, before), image = image - at, (found, image), function(found)
        difference = (image - at) - residual
        size = np.sum(np.square(difference), axis=1, keepdims=True)
        part = np.sum((image - at) * difference, axis=1, keepdims=True)
        part /= np.where(size > 0.0, size, 1.0)
        found = image - np.clip(part, -longest, longest) * (image - before)
    return found


def _refitted(
    gram: Array, machine: GeneralizedMachine, likelihood: GLMLikelihood, removed: Indices
) -> Array:
    """Return linear predictors of some samples from a machine refitted to the others."""
    rest = np.setdiff1d(np.arange(len(gram)), removed)
    others = likelihood.take(rest)
    if not others.is_estimable:
        return np.tile(others.start(), (len(removed), 1))
    found = fit_machine(gram[np.ix_(rest, rest)], others, machine.alpha)
    return found.linear_predictors(gram[np.ix_(removed, rest)])
