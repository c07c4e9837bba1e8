"""Approximate leave-one-out values of generalized kernel machines, without refits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from mercer._data.resampling import Indices, Resampling, as_resampling
from mercer._gram.dense import inverted
from mercer._solvers.generalized_machines import GeneralizedMachine, fit_machine, newton_step
from mercer._solvers.likelihoods import Likelihood, LocalModel
from mercer._typing import Array
from mercer._validation import ROUNDING


@dataclass(frozen=True)
class LeftOutValues:
    """Values and levels of samples under machines that were fitted without them.

    Attributes
    ----------
    f : ndarray of shape (n_samples,)
        NaN for samples that are never left out.
    levels : ndarray of shape (n_samples, n_levels)
    """

    f: Array
    levels: Array

    def take(self, rows: Indices) -> LeftOutValues:
        """Those of some of the samples."""
        return LeftOutValues(self.f[rows], self.levels[rows])


@dataclass(frozen=True)
class _Influence:
    """The inverse V of the second derivatives of a machine's objective at its optimum.

    Of likelihoods with one level, values are the sums of f and the level, and there are no others.

    Attributes
    ----------
    f : ndarray of shape (n_samples,)
    levels : ndarray of shape (n_levels,)
    local : LocalModel
        Of positive curvatures.
    values : ndarray of shape (n_samples, n_samples)
        The block of the values.
    across : ndarray of shape (n_samples, n_levels)
        The block between values and levels.
    of_levels : ndarray of shape (n_levels, n_levels)
    """

    f: Array
    levels: Array
    local: LocalModel
    values: Array
    across: Array
    of_levels: Array


def left_out_values(
    gram: Array,
    machine: GeneralizedMachine,
    likelihood: Likelihood,
    resampling: Resampling | None = None,
    *,
    corrected: bool = False,
) -> LeftOutValues:
    """Values of samples under machines without them, or their groups, of the same penalty.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix.
    machine : GeneralizedMachine
        Fitted to it.
    likelihood : Likelihood
    resampling : Resampling, default=None
        Which samples are left out together; by default each is left out alone.
    corrected : bool, default=False
        Whether five more steps account for the curvatures of the other samples, which change as one
        is left out. For likelihoods with one level.

    Notes
    -----
    At the optimum, the loss is expanded to second order: the machine is weighted ridge regression
    of a working response, and samples are left out of it in closed form [1]_. With the inverse V of
    the second derivatives in values and levels of all samples, slopes s_G and second derivatives
    H_G of what is left out, values and levels without G are those with it plus V_GG (I - H_GG
    V_GG)^-1 s_G. That takes one Cholesky factorization and an inverse.

    A correction goes on with the derivatives of the losses at the values without G, and the same
    second derivatives (chord steps of Newton's method for all G at once, with secants): a product
    of two n x n matrices. Where more than half of the samples are left out, machines are fitted
    anew; where all samples of a class are, the others say that there is none.

    References
    ----------
    .. [1] G. Cawley, N. Talbot (2008). Efficient approximate leave-one-out cross-validation for
       kernel logistic regression. Machine Learning 71, section 3.
    """
    resampling = as_resampling(resampling, len(gram))
    influence, n_levels = _influence(gram, machine, likelihood), len(machine.levels)

    def approximate(batch: Indices) -> Array:
        if n_levels > 1:
            return _first_order(influence, batch)
        sums = _corrected_sums if corrected else _first_order
        found = sums(influence, batch, likelihood)
        level = np.full_like(found, machine.levels[0])
        return np.concatenate([found - level, level], axis=2)

    def of_batches(batches: Sequence[Indices]) -> Iterator[Array]:
        for batch in batches:
            anew = np.flatnonzero(_of_whole_kinds(batch, likelihood.kinds))
            if 2 * batch.shape[1] > len(gram):
                anew = np.arange(len(batch))
            found = np.empty((*batch.shape, 1 + n_levels))
            if len(rest := np.setdiff1d(np.arange(len(batch)), anew)):
                found[rest] = approximate(batch[rest])
            for part in anew:
                found[part] = _refitted(gram, machine, likelihood, batch[part])
            yield found

    found = resampling.assembled(of_batches)
    f, levels = found[:, 0], found[:, 1:]
    return LeftOutValues(likelihood.bounded(f, levels), levels)


def _influence(gram: Array, machine: GeneralizedMachine, likelihood: Likelihood) -> _Influence:
    f, levels = machine.values(gram), machine.levels
    local = likelihood.model(f, levels)
    largest = local.curvature.max()
    # Values are divided by curvatures.
    h = np.maximum(local.curvature, 1e-8 * largest if largest > 0.0 else 1.0)
    local = replace(local, curvature=h)
    root = np.sqrt(h)
    step = newton_step(gram, f, local, machine.alpha)
    # With B = I + R K R / alpha: for given levels, V = R^-1 (I - B^-1) R^-1.
    values = inverted(step.factor)
    along = root[:, None] * local.shares
    through = values @ along
    values *= -1.0
    values[np.diag_indices_from(values)] += 1.0
    sums = len(levels) == 1
    across = np.linalg.solve(step.schur, (through if sums else through - along).T).T
    values += across @ step.schur @ across.T
    values /= root
    values /= root[:, None]
    if not sums:
        of_levels = np.linalg.solve(step.schur, np.eye(len(levels)))
        return _Influence(f, levels, local, values, across / root[:, None], of_levels)
    none = {"shares": local.shares[:, :0], "level_slopes": local.level_slopes[:, :0]}
    local = replace(local, **none, level_curvatures=local.level_curvatures[:, :0, :0])
    return _Influence(f + levels[0], levels[:0], local, values, across[:, :0], np.zeros((0, 0)))


def _first_order(
    influence: _Influence, batch: Indices, likelihood: Likelihood | None = None
) -> Array:
    """Values and levels without the samples of each part, shape (n_parts, size, 1 + n_levels)."""
    local, across = influence.local, influence.across
    (n_parts, size), m = batch.shape, len(influence.levels)
    covariance = np.zeros((n_parts, size + m, size + m))
    covariance[:, :size, :size] = influence.values[batch[:, :, None], batch[:, None, :]]
    covariance[:, :size, size:] = across[batch]
    covariance[:, size:, :size] = across[batch].transpose(0, 2, 1)
    covariance[:, size:, size:] = influence.of_levels
    hessian = np.zeros_like(covariance)
    every = np.arange(size)
    hessian[:, every, every] = local.curvature[batch]
    cross = local.curvature[batch][:, :, None] * local.shares[batch]
    hessian[:, :size, size:], hessian[:, size:, :size] = cross, cross.transpose(0, 2, 1)
    hessian[:, size:, size:] = local.level_curvatures[batch].sum(axis=1)
    slopes = np.concatenate([local.slope[batch], local.level_slopes[batch].sum(axis=1)], axis=1)
    change = covariance @ _solved(np.eye(size + m) - hessian @ covariance, slopes)[:, :, None]
    found = np.empty((n_parts, size, 1 + m))
    found[:, :, 0] = influence.f[batch] + change[:, :size, 0]
    found[:, :, 1:] = influence.levels + change[:, None, size:, 0]
    return found


def _corrected_sums(
    influence: _Influence, batch: Indices, likelihood: Likelihood, at_once: int = 128
) -> Array:
    """Sums of value and level without the samples of each part, shape (n_parts, size, 1).

    About `at_once` samples that are left out are corrected at a time.
    """
    found = np.empty((*batch.shape, 1))
    for tile in gen_batches(len(batch), max(at_once // batch.shape[1], 1)):
        left_out = _LeftOutParts(influence, likelihood, batch[tile])
        found[tile, :, 0] = influence.f[batch[tile]] + left_out.changes().T
    return found


@dataclass(frozen=True)
class _LeftOutParts:
    """How sums of all samples change as each of some parts is left out, with one level.

    Attributes
    ----------
    influence : _Influence
    likelihood : Likelihood
    parts : ndarray of int of shape (n_parts, size)
    """

    influence: _Influence
    likelihood: Likelihood
    parts: Indices

    @cached_property
    def inside(self) -> tuple[Indices, Indices]:
        """Where the left-out samples are in an array of shape (n_samples, n_parts)."""
        return self.parts.T, np.arange(len(self.parts))

    @cached_property
    def systems(self) -> Array:
        """I - H_G V_GG of each part, shape (n_parts, size, size)."""
        parts, V = self.parts, self.influence.values
        within = V[parts[:, :, None], parts[:, None, :]]
        curvatures = self.influence.local.curvature[parts]
        return np.asarray(np.eye(parts.shape[1]) - curvatures[:, :, None] * within)

    def changes(self) -> Array:
        """Changes of the left-out samples, shape (size, n_parts)."""
        first = self._spread(self.influence.local.slope[self.parts])
        found, first = _fixed_point(self._corrected, first)[self.inside], first[self.inside]
        # A correction that exceeds what it corrects is none.
        with np.errstate(invalid="ignore"):
            return np.where(np.abs(found - first) <= np.abs(first), found, first)

    def _spread(self, slopes: Array) -> Array:
        """V_G (I - H_G V_GG)^-1 s_G of each part, shape (n_samples, n_parts)."""
        solved, V = _solved(self.systems, slopes), self.influence.values
        pairs = zip(self.parts.T, solved.T, strict=True)
        return np.asarray(sum(V[:, rows] * x for rows, x in pairs))

    def _corrected(self, changes: Array) -> Array:
        """Changes by which the derivatives at given changes vanish, to first order."""
        local, parts = self.influence.local, self.parts
        at = self.influence.f[:, None] + changes
        rest = self.likelihood.slopes(at, np.zeros(1)) - local.slope[:, None]
        rest -= local.curvature[:, None] * changes
        rest[self.inside] = 0.0
        moved = self.influence.values @ rest
        slopes = local.slope[parts] - local.curvature[parts] * moved[self.inside].T
        return np.asarray(self._spread(slopes) - moved)


def _fixed_point(
    function: Callable[[Array], Array], start: Array, longest: float = 5.0, n_steps: int = 5
) -> Array:
    """Where a function returns its argument, column by column, after some steps of the secant.

    Five steps are enough at the penalty that is chosen.

    A step goes beyond the last change by at most `longest` times it.

    References
    ----------
    Anderson (1965), Iterative procedures for nonlinear integral equations, Journal of the ACM 12,
    with one former step.
    """
    at, image = start, function(start)
    found = image
    for _ in range(n_steps - 1):
        residual, (at, before), image = image - at, (found, image), function(found)
        difference = (image - at) - residual
        size = np.sum(np.square(difference), axis=0)
        part = np.sum((image - at) * difference, axis=0) / np.where(size > 0.0, size, 1.0)
        found = image - np.clip(part, -longest, longest) * (image - before)
    return found


def _of_whole_kinds(batch: Indices, kinds: Indices) -> NDArray[np.bool_]:
    """Whether each part holds all samples of a kind, without which there is no machine."""
    found = np.zeros(len(batch), dtype=bool)
    for kind, count in zip(*np.unique(kinds[kinds >= 0], return_counts=True), strict=True):
        if count <= batch.shape[1]:
            found |= np.sum(kinds[batch] == kind, axis=1) == count
    return found


def _solved(systems: Array, sides: Array) -> Array:
    """Solutions of a system, regular up to rounding, for each part, shape (n_parts, size)."""
    regular = systems + ROUNDING * np.eye(systems.shape[1])
    return np.asarray(np.linalg.solve(regular, sides[:, :, None])[:, :, 0])


def _refitted(
    gram: Array, machine: GeneralizedMachine, likelihood: Likelihood, removed: Indices
) -> Array:
    """Values and levels of some samples by a machine that is fitted to the others anew."""
    rest = np.setdiff1d(np.arange(len(gram)), removed)
    others, values = likelihood.take(rest), np.zeros(len(removed))
    if others.is_estimable:
        found = fit_machine(gram[np.ix_(rest, rest)], others, machine.alpha)
        values, levels = found.values(gram[np.ix_(removed, rest)]), found.levels
    else:
        levels = others.start()
    if len(levels) == 1:
        values, levels = values + levels - machine.levels, machine.levels
    return np.column_stack([values, np.tile(levels, (len(removed), 1))])
