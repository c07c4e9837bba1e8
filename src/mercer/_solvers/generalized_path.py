"""The penalty of generalized kernel machines, chosen by approximate leave-one-out losses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from mercer._data.folds import sample_rows
from mercer._data.resampling import Indices, Resampling, as_resampling
from mercer._solvers.generalized_left_out import LeftOutValues, left_out_values
from mercer._solvers.generalized_machines import GeneralizedMachine, fit_machine
from mercer._solvers.left_out import MOST_ALPHA, descended
from mercer._solvers.likelihoods import Likelihood
from mercer._typing import Array

_RATIO = 10.0**0.5
"""Penalties are tried in steps of this ratio."""

_FIRST_ROWS = 1000
"""The search starts at the best penalty of at most this many samples."""

Criterion: TypeAlias = Callable[[Sequence[LeftOutValues], Indices], float]
"""From left-out values of all machines, and the numbers of the samples that they are of, to their
loss."""


@dataclass(frozen=True)
class GeneralizedFit:
    """Machines of the penalty of lowest left-out loss, one for each likelihood.

    Attributes
    ----------
    machines : sequence of GeneralizedMachine
    left_out : sequence of LeftOutValues
        Of the machines, corrected.
    loss : float
        Of these values.
    alphas, losses : ndarray of shape (n_alphas,)
        Penalties that were tried, ascending, and their losses, which are not corrected.
    """

    machines: Sequence[GeneralizedMachine]
    left_out: Sequence[LeftOutValues]
    loss: float
    alphas: Array
    losses: Array

    @property
    def alpha(self) -> float:
        """The penalty."""
        return self.machines[0].alpha


class _Path:
    """Machines along a path of penalties; each starts from one that was fitted before."""

    def __init__(
        self,
        gram: Array,
        likelihoods: Sequence[Likelihood],
        criterion: Criterion,
        resampling: Resampling,
        rows: Indices,
    ) -> None:
        self.gram, self.likelihoods, self.criterion = gram, likelihoods, criterion
        self.resampling, self.rows = resampling, rows
        self.fitted: dict[float, list[GeneralizedMachine]] = {}
        self.losses: dict[float, float] = {}

    def left_out(self, alpha: float, *, corrected: bool = False) -> list[LeftOutValues]:
        """Values of the samples under machines without them."""
        pairs = zip(self.fitted[alpha], self.likelihoods, strict=True)
        return [
            left_out_values(self.gram, machine, given, self.resampling, corrected=corrected)
            for machine, given in pairs
        ]

    def loss(self, alpha: float) -> float:
        """The left-out loss at a penalty; infinite where rounding exceeds the penalty."""
        if alpha not in self.losses:
            try:
                self.fitted[alpha] = self._machines(alpha)
                self.losses[alpha] = self.criterion(self.left_out(alpha), self.rows)
            except ValueError:
                if not self.losses:
                    raise
                self.losses[alpha] = np.inf
        return self.losses[alpha]

    def _machines(self, alpha: float) -> list[GeneralizedMachine]:
        near = min(self.fitted, key=lambda other: abs(np.log(other / alpha)), default=None)
        starts = [None] * len(self.likelihoods) if near is None else self.fitted[near]
        pairs = zip(self.likelihoods, starts, strict=True)
        return [fit_machine(self.gram, given, alpha, start) for given, start in pairs]

    def best(self) -> GeneralizedFit:
        """The machines of the lowest loss, of the largest penalty among equal ones."""
        tried = sorted(alpha for alpha, loss in self.losses.items() if np.isfinite(loss))
        losses = np.array([self.losses[alpha] for alpha in tried])
        alpha = tried[int(np.flatnonzero(losses <= losses.min())[-1])]
        found = self.left_out(alpha, corrected=True)
        loss = self.criterion(found, self.rows)
        return GeneralizedFit(self.fitted[alpha], found, loss, np.array(tried), losses)


def best_machines(
    gram: Array,
    likelihoods: Sequence[Likelihood],
    criterion: Criterion,
    *,
    alphas: Array | None = None,
    resampling: Resampling | None = None,
) -> GeneralizedFit:
    """Fit machines of the penalty at which their approximate left-out loss is lowest.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix of unit mean diagonal; of a constant kernel, zeros.
    likelihoods : sequence of Likelihood
        One for each machine; they share the penalty.
    criterion : callable
    alphas : ndarray of shape (n_alphas,), default=None
        The penalties to try. By default those downhill from one times the mean curvature of the
        constant model, in half decades from 1e-8 on, until a step lowers the loss by less than one
        in ten thousand.
    resampling : Resampling, default=None
        Which samples are left out together; by default each is left out alone.

    Raises
    ------
    ValueError
        If the Gram matrix has a negative eigenvalue below the penalty.

    Notes
    -----
    Each machine and penalty takes some four Newton steps and an inverse, O(n^3), and memory for
    four n x n matrices. Of more than 1,000 samples, the search starts at the best penalty of 1,000.
    """
    resampling = as_resampling(resampling, len(gram))
    path = _Path(gram, likelihoods, criterion, resampling, np.arange(len(gram)))
    if alphas is not None:
        for alpha in np.sort(alphas)[::-1]:
            path.loss(float(alpha))
        return path.best()
    unit, start, gain = _mean_curvature(likelihoods), 0, 1e-4
    steps = np.log([1e-8, MOST_ALPHA * len(gram)]) / np.log(_RATIO)
    limits = int(np.ceil(steps[0])), int(steps[1])
    rows = sample_rows(len(gram), _FIRST_ROWS, None, 0, resampling.ranks)
    parts = [likelihood.take(rows) for likelihood in likelihoods]
    if len(rows) < len(gram) and all(part.is_estimable for part in parts):
        few = _Path(gram[np.ix_(rows, rows)], parts, criterion, resampling.take(rows), rows)
        start = descended(lambda step: few.loss(unit * _RATIO**step), 0, limits, gain)
    descended(lambda step: path.loss(unit * _RATIO**step), start, limits, gain)
    return path.best()


def _mean_curvature(likelihoods: Sequence[Likelihood]) -> float:
    """Mean second derivative of the losses, in the values of the constant model."""
    found = []
    for likelihood in likelihoods:
        local = likelihood.model(np.zeros(len(likelihood)), likelihood.start())
        found.append(float(local.curvature.sum()) / likelihood.weights.total)
    return float(np.mean(found))
