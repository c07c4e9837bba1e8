"""Generalized linear models on a kernel, and the penalty at which they predict left-out samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from mercer._data.folds import sample_rows
from mercer._data.resampling import Indices, Resampling
from mercer._solvers.glm_fit import GeneralizedMachine, fit_machine
from mercer._solvers.glm_left_out import left_out_predictors
from mercer._solvers.left_out import MOST_ALPHA, descended
from mercer._solvers.likelihoods import Likelihood
from mercer._typing import Array

_RATIO = 10.0**0.5
"""Penalties are tried in steps of this ratio."""

_FIRST_ROWS = 1000
"""The search starts at the best penalty of at most this many samples."""

Criterion: TypeAlias = Callable[[Sequence[Array], Indices], float]
"""From left-out linear predictors of all machines, and the numbers of the samples that they are of,
to their loss."""


@dataclass(frozen=True)
class GLMFit:
    """Machines of the penalty of lowest left-out loss, one for each likelihood.

    Attributes
    ----------
    machines : sequence of GeneralizedMachine
    left_out : sequence of ndarray of shape (n_samples, n_levels)
        Their left-out linear predictors, corrected.
    loss : float
        Of these.
    alphas, losses : ndarray of shape (n_alphas,)
        Penalties that were tried, ascending, and their losses, which are not corrected.
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
    """Penalized likelihoods on one Gram matrix, with one penalty for all.

    Attributes
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix of unit mean diagonal; of a constant kernel, zeros.
    likelihoods : sequence of Likelihood
        One for each machine.
    resampling : Resampling
        Which samples are left out together.
    fitted : dict
        Machines by penalty.
    """

    gram: Array
    likelihoods: Sequence[Likelihood]
    resampling: Resampling
    fitted: dict[float, list[GeneralizedMachine]] = field(default_factory=dict, init=False)

    def fit(self, alpha: float) -> list[GeneralizedMachine]:
        """Machines of a penalty; searches start from those of the nearest one that was fitted.

        Parameters
        ----------
        alpha : float
        """
        if alpha not in self.fitted:
            near = min(self.fitted, key=lambda other: abs(np.log(other / alpha)), default=None)
            starts = [None] * len(self.likelihoods) if near is None else self.fitted[near]
            pairs = zip(self.likelihoods, starts, strict=True)
            self.fitted[alpha] = [fit_machine(self.gram, each, alpha, at) for each, at in pairs]
        return self.fitted[alpha]

    def left_out(self, alpha: float, *, corrected: bool = False) -> list[Array]:
        """Linear predictors of samples under machines without them; see `left_out_predictors`.

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
        """Machines of the penalty at which their approximate left-out loss is lowest.

        Parameters
        ----------
        criterion : callable
        alphas : ndarray of shape (n_alphas,), default=None
            The penalties to try. By default those downhill from one times the mean curvature of the
            constant model, in half decades from 1e-8 on, until a step lowers the loss by less than
            one in ten thousand.

        Raises
        ------
        ValueError
            If the Gram matrix has a negative eigenvalue below the penalty.

        Notes
        -----
        Each machine and penalty takes some four Newton steps and an inverse, O(n^3), and memory for
        four n x n matrices. Of more than 1,000 samples, the search starts at the best penalty of
        1,000.
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
        """The left-out loss at a penalty, by these samples; infinite where rounding exceeds it."""
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
        """Losses of these samples from the best penalty of some of them downhill, and the end."""
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
