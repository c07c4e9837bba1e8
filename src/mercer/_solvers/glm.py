"""Generalized linear models on a kernel, and the penalty with the lowest leave-one-out loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from mercer._data.folds import sample_rows
from mercer._data.resampling import Indices, Resampling
from mercer._data.types import Array
from mercer._solvers.glm_fit import GeneralizedMachine, fit_machine
from mercer._solvers.glm_left_out import left_out_predictors
from mercer._solvers.left_out import MOST_ALPHA, descended
from mercer._solvers.likelihoods import GLMLikelihood

_RATIO = 10.0**0.5
"""Ratio of successive penalties that are tried."""

_FIRST_ROWS = 1000
"""The search starts at the best penalty for at most this many samples."""

Criterion: TypeAlias = Callable[[Sequence[Array], Indices], float]
"""Maps leave-one-out linear predictors of all machines, and the indices of their samples, to a
loss."""


@dataclass(frozen=True)
class GLMFit:
    """Machines at the penalty with the lowest leave-one-out loss, one for each likelihood.

    Attributes
    ----------
    machines : sequence of GeneralizedMachine
    left_out : sequence of ndarray of shape (n_samples, n_levels)
        Corrected leave-one-out linear predictors of each machine.
    loss : float
        Loss of these linear predictors.
    alphas, losses : ndarray of shape (n_alphas,)
        Penalties that were tried, ascending, and their losses without correction.
    """

    machines: Sequence[GeneralizedMachine]
    left_out: Sequence[Array]
    loss: float
    alphas: Array
    losses: Array

    @property
    def alpha(self) -> float:
        """The penalty."""
        return self.machines[0].alpha


@dataclass(frozen=True)
class GLM:
    """Penalized likelihoods on one Gram matrix, all with the same penalty.

    Attributes
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix of unit mean diagonal; zeros if the kernel is constant.
    likelihoods : sequence of GLMLikelihood
        One for each machine.
    resampling : Resampling
        Which samples are left out together.
    fitted : dict
        Fitted machines by penalty.
    """

    gram: Array
    likelihoods: Sequence[GLMLikelihood]
    resampling: Resampling
    fitted: dict[float, list[GeneralizedMachine]] = field(default_factory=dict, init=False)

    def fit(self, alpha: float) -> list[GeneralizedMachine]:
        """Fit machines at a penalty, starting from those at the nearest penalty fitted before."""
        if alpha not in self.fitted:
            near = min(self.fitted, key=lambda other: abs(np.log(other / alpha)), default=None)
            starts = [None] * len(self.likelihoods) if near is None else self.fitted[near]
            pairs = zip(self.likelihoods, starts, strict=True)
            self.fitted[alpha] = [fit_machine(self.gram, each, alpha, at) for each, at in pairs]
        return self.fitted[alpha]

    def left_out(self, alpha: float, *, corrected: bool = False) -> list[Array]:
        """Return leave-one-out linear predictors of the samples; see `left_out_predictors`.

        Parameters
        ----------
        alpha : float
        corrected : bool, default=False
        """
        return [
            left_out_predictors(self.gram, machine, given, self.resampling, corrected=corrected)
            for machine, given in zip(self.fit(alpha), self.likelihoods, strict=True)
        ]

    def best(self, criterion: Criterion, alphas: Array | None = None) -> GLMFit:
        """Return machines at the penalty with the lowest approximate leave-one-out loss.

        Parameters
        ----------
        criterion : callable
        alphas : ndarray of shape (n_alphas,), default=None
            The penalties to try. By default, the search goes downhill from the mean curvature of
            the constant model in steps of half a decade, between 1e-8 and 1e3 n times this
            curvature, until a step lowers the loss by less than one part in ten thousand.

        Raises
        ------
        ValueError
            If the Gram matrix has an eigenvalue below minus the penalty.

        Notes
        -----
        Each machine and penalty takes about four Newton steps and a matrix inverse, O(n^3), and
        memory for four n x n matrices. For more than 1,000 samples, the search starts at the best
        penalty for 1,000 of them.
        """
        losses, every = dict[float, float](), np.arange(len(self.gram))
        if alphas is None:
            unit = float(np.mean([given.mean_curvature for given in self.likelihoods]))
            self._descend(criterion, every, unit, losses)
        else:
            for alpha in np.sort(alphas)[::-1]:
                self._loss(float(alpha), criterion, every, losses)
        tried = sorted(alpha for alpha, loss in losses.items() if np.isfinite(loss))
        values = np.array([losses[alpha] for alpha in tried])
        alpha = tried[int(np.flatnonzero(values <= values.min())[-1])]
        found = self.left_out(alpha, corrected=True)
        return GLMFit(self.fit(alpha), found, criterion(found, every), np.array(tried), values)

    def _loss(
        self, alpha: float, criterion: Criterion, rows: Indices, losses: dict[float, float]
    ) -> float:
        """Return the loss at a penalty; infinite if rounding errors exceed the penalty."""
        if alpha not in losses:
            try:
                losses[alpha] = criterion(self.left_out(alpha), rows)
            except ValueError:
                if not losses:
                    raise
                losses[alpha] = np.inf
        return losses[alpha]

    def _descend(
        self, criterion: Criterion, rows: Indices, unit: float, losses: dict[float, float]
    ) -> int:
        """Fill in `losses` downhill from the best penalty of a subset; return the last step."""
        n, start = len(self.gram), 0
        some = sample_rows(n, _FIRST_ROWS, None, 0, self.resampling.ranks)
        likelihoods = [given.take(some) for given in self.likelihoods]
        if len(some) < n and all(given.is_estimable for given in likelihoods):
            few = GLM(self.gram[np.ix_(some, some)], likelihoods, self.resampling.take(some))
            start = few._descend(criterion, some, unit, {})
        limits = np.log([1e-8, MOST_ALPHA * n]) / np.log(_RATIO)

        def loss(step: float) -> float:
            return self._loss(unit * _RATIO**step, criterion, rows, losses)

        return descended(loss, start, (int(np.ceil(limits[0])), int(limits[1])), 1e-4)
