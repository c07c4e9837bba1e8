"""Leave-one-out predictions of candidates, by which they are priced and combined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from mercer._gram.sample_weights import representative_rows
from mercer._gram.tiles import map_tiles, serial_algebra
from mercer._gram.unit_scale import unit_gram
from mercer._model_selection.leave_one_out import (
    EncodedTarget,
    LeaveOneOut,
    leave_one_out,
    relative_loss,
)
from mercer._stacking.candidates import Candidate
from mercer._stacking.table_views import ViewName
from mercer._typing import Array, Features
from mercer._validation import warn
from mercer._weights.ridge import leave_one_out_residuals
from mercer.kernels import Kernel

_N_PARTS = 2
"""Kernels of learned relevance are learned anew on the complement of each of this many parts."""


_LEAST_ALPHA = 1e-8
"""Smaller penalties do not keep the Gram matrix of all samples positive definite."""


@dataclass(frozen=True)
class LabeledTable:
    """Samples in each view, their labels, and what is regressed in place of these.

    Attributes
    ----------
    views : mapping of str to ndarray or sparse matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    target : EncodedTarget
    """

    views: Mapping[ViewName, Features]
    y: Any
    target: EncodedTarget

    def learned(self, candidate: Candidate, rows: Array | None = None) -> Sequence[Kernel]:
        """The kernels that a candidate learns from the samples, or from some of them.

        They are learned from the rows that stand for the weighted ones.

        Parameters
        ----------
        candidate : Candidate
        rows : ndarray of int, default=None
        """
        X, y, target = self.views[candidate.view], self.y, self.target
        if rows is not None:
            X, y, target = X[rows], y[rows], target.take(rows)
        if target.weights is not None:
            rows = representative_rows(target.weights)
            X, y, target = X[rows], y[rows], target.representative
        return candidate.learn(X, y, target)


@dataclass(frozen=True)
class Evaluation:
    """A candidate, its kernel and its leave-one-out predictions.

    Attributes
    ----------
    description : str
    view : {"given", "scaled", "quantiles"}
    kernel : Kernel
        Learned from all samples that are priced.
    alpha : float
        The best ridge penalty, for a Gram matrix of unit scale.
    predictions : ndarray of shape (n_samples, n_outputs)
        Of each sample by ridge regression on all others, in the target's encoding, with a kernel
        that was learned without it.
    price : float
        Their mean squared error, relative to that of the mean.
    uses_labels : bool
        See :class:`Candidate`.
    """

    description: str
    view: ViewName
    kernel: Kernel
    alpha: float
    predictions: Array
    price: float
    uses_labels: bool = False


@serial_algebra()
def evaluate(
    candidates: Sequence[Candidate],
    table: LabeledTable,
    *,
    random_state: Any,
    others: LabeledTable | None = None,
    on_step: Callable[[], None] = lambda: None,
) -> list[Evaluation]:
    """Price candidates, in threads; those that fail are left out with a warning.

    Parameters
    ----------
    candidates : sequence of Candidate
    table : LabeledTable
        The samples that candidates are priced on.
    random_state : int, RandomState instance or None
        Divides the samples into parts.
    others : LabeledTable, default=None
        Other samples, from which kernels are learned. Without them, kernels are learned from those
        that they are priced on.
    on_step : callable, default=None
        Called after each candidate.

    Returns
    -------
    list of Evaluation
    """

    def attempt(candidate: Candidate) -> list[Evaluation] | Exception:
        try:
            return _evaluated(candidate, table, others, random_state)
        except Exception as error:
            return error

    found: list[Evaluation] = []
    for candidate, outcome in zip(candidates, map_tiles(attempt, candidates), strict=True):
        if isinstance(outcome, Exception):
            reason = str(outcome) if isinstance(outcome, ValueError) else repr(outcome)
            names = ", ".join(map(repr, candidate.descriptions))
            warn(f"The candidate {names} is left out: {reason}")
        else:
            found += outcome
        on_step()
    return found


def _evaluated(
    candidate: Candidate, table: LabeledTable, others: LabeledTable | None, random_state: Any
) -> list[Evaluation]:
    X, target = table.views[candidate.view], table.target
    weights = target.weights
    kernels = (table if others is None else others).learned(candidate)
    in_parts = candidate.uses_labels and others is None
    divided = parts(target, random_state) if in_parts else []
    learned = [table.learned(candidate, rows) for rows, _ in divided]
    found = []
    for position, (description, kernel) in enumerate(
        zip(candidate.descriptions, kernels, strict=True)
    ):
        fit = _leave_one_out(kernel, X, target)
        predictions = np.array(fit.best_predictions)
        for (_, part), unseen in zip(divided, learned, strict=True):
            # This kernel has not seen the part's labels; ridge regression has all other samples.
            gram, _ = unit_gram(unseen[position], X, weights)
            residuals = leave_one_out_residuals(gram, target.values, fit.alpha, weights)
            predictions[part] = (target.values - residuals)[part]
        price = relative_loss(target.values - predictions, target.values, weights)
        if not np.isfinite(price):
            raise ValueError("its predictions are not finite")
        found.append(
            Evaluation(
                description,
                candidate.view,
                kernel,
                fit.alpha,
                predictions,
                price,
                candidate.uses_labels,
            )
        )
    return found


def _leave_one_out(kernel: Kernel, X: Features, target: EncodedTarget) -> LeaveOneOut:
    gram, _ = unit_gram(kernel, X, target.weights)
    found = leave_one_out(gram, target.values, weights=target.weights)
    if found.alpha >= _LEAST_ALPHA:
        return found
    least = np.array([_LEAST_ALPHA])
    return leave_one_out(gram, target.values, least, extend=False, weights=target.weights)


def parts(
    target: EncodedTarget, random_state: Any, n_parts: int = _N_PARTS
) -> list[tuple[Array, Array]]:
    """Divide samples into parts, of every class in proportion where that is possible.

    Parameters
    ----------
    target : EncodedTarget
    random_state : int, RandomState instance or None
    n_parts : int, default=2

    Returns
    -------
    list of (ndarray of int, ndarray of int)
        Samples outside and inside each part.
    """
    n = len(target.values)
    stratified = target.codes is not None and np.bincount(target.codes).min() >= n_parts
    splitter = (StratifiedKFold if stratified else KFold)(
        min(n_parts, n), shuffle=True, random_state=random_state
    )
    return list(splitter.split(np.zeros(n), target.codes if stratified else None))
