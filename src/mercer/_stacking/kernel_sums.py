"""Sums of the kernels that a stack keeps, in whose place one predictor is fitted to many rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._data.sample import EncodedTarget
from mercer._gram.dense import unit_gram
from mercer._stacking.candidates import Candidate
from mercer._stacking.evaluation import Combine, Evaluation, ViewedSample
from mercer._stacking.ridges import evaluated_kernel
from mercer._typing import Array, Features
from mercer.kernels import Kernel, WeightedSum


def with_sums(
    kept: Sequence[Evaluation],
    deviations: Sequence[Array],
    table: ViewedSample,
    combine: Combine,
    tol: float = 0.02,
) -> list[Evaluation]:
    """Evaluations, and in place of those on the same view one of the sum of their kernels.

    The sum takes their place if it predicts left-out samples about as well.

    Parameters
    ----------
    kept : sequence of Evaluation
    deviations : sequence of ndarray of shape (n_samples, n_outputs)
        What each predicts for the samples.
    table : ViewedSample
        The samples that they were evaluated on.
    combine : callable
        From deviations and a target to a combination.
    tol : float, default=0.02
        A sum takes their place, and takes one fit in place of several, if it raises the squared
        error by at most this part.

    Notes
    -----
    Ridge regressions f_k with penalties a_k on kernels K_k, in a weighted sum, are a prediction by
    the sum of all w_k K_k / a_k if their functions do not overlap. Where they do, the sum of all
    w_k K_k may predict better, so that the better of both is taken.
    """
    found, known = list(kept), list(deviations)
    for parts in _on_same_view(kept):
        members = [k for k, e in enumerate(found) if any(e is part for part in parts)]
        shares = combine(known, table.target).shares(known, table.weights)[members]
        if not (sums := _sums(parts, shares, table)):
            continue
        best = min(sums, key=lambda e: e.loo_error)
        others = [k for k in range(len(found)) if k not in members]
        trial = [*(known[k] for k in others), best.deviations]
        if _error(trial, table, combine) <= (1.0 + tol) * _error(known, table, combine):
            found, known = [*(found[k] for k in others), best], trial
    return found


def _on_same_view(kept: Sequence[Evaluation]) -> list[list[Evaluation]]:
    """Several evaluations on a view.

    The leaves of trees, which memorize labels, are evaluated otherwise, and candidates that a user
    gives are on the table as it is, and have weights of their own.
    """
    groups: dict[str, list[Evaluation]] = {}
    for e in kept:
        if not e.candidate.memorizes_labels and e.candidate.view != "given":
            groups.setdefault(e.candidate.view, []).append(e)
    return [parts for parts in groups.values() if len(parts) > 1]


def _error(deviations: Sequence[Array], table: ViewedSample, combine: Combine) -> float:
    """Squared error of the combination of what several members predict."""
    target = table.target
    values = combine(deviations, target).combine(deviations, target.left_out_means)
    known = np.flatnonzero(np.isfinite(values).all(axis=1))
    errors = np.square(values - target.values)[known].sum(axis=1)
    return float(table.weights.take(known).sum(errors))


def _sums(parts: Sequence[Evaluation], shares: Array, table: ViewedSample) -> list[Evaluation]:
    """The sums of kernels whose weights are their shares, and shares divided by penalties.

    Kernels without a share are left out. No sum is one whose predictions are not finite.
    """
    parts = [e for e, share in zip(parts, shares, strict=True) if share]
    shares, found = shares[shares != 0.0], []
    if len(parts) < 2:
        return parts
    for weights in (shares, shares / [e.solver.alpha for e in parts]):
        # The penalties of noise may be infinite.
        if total := weights.sum():
            with suppress(ValueError):
                found.append(_sum(parts, weights / total, table))
    return found


def _sum(parts: Sequence[Evaluation], weights: Array, table: ViewedSample) -> Evaluation:
    first, description = parts[0].candidate, " + ".join(e.description for e in parts)
    candidate = Candidate(
        [description],
        first.view,
        _LearnSum([e.candidate for e in parts], [e.description for e in parts], weights),
        any(e.candidate.uses_labels for e in parts),
    )
    X = table.X[first.view]
    splits = next(([split for split, _ in e.unseen] for e in parts if e.unseen), [])
    unseen = [
        (split, unit_sum([e.unseen[k][1] if e.unseen else e.kernel for e in parts], weights, X))
        for k, split in enumerate(splits)
    ]
    kernel = unit_sum([e.kernel for e in parts], weights, X)
    return evaluated_kernel(candidate, description, table, kernel, unseen)


def unit_sum(
    kernels: Sequence[Kernel], weights: Array, X: Features, max_samples: int = 500
) -> WeightedSum:
    """The sum of kernels, each centered and at unit scale, times weights; not centered.

    Parameters
    ----------
    kernels : sequence of Kernel
    weights : ndarray of shape (n_kernels,)
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    max_samples : int, default=500
        Scales are means over at most this many: their errors change the weights by some percent.
    """
    rows = np.linspace(0, X.shape[0] - 1, min(X.shape[0], max_samples)).astype(int)
    scales = np.array([unit_gram(kernel, X[rows])[1].scale for kernel in kernels])
    return WeightedSum(list(kernels), weights / scales)


@dataclass(frozen=True)
class _LearnSum:
    """Learn the kernels of several candidates, and add them with given weights."""

    candidates: Sequence[Candidate]
    descriptions: Sequence[str]
    weights: Array

    def __call__(self, X: Features, y: Any, target: EncodedTarget) -> list[Kernel]:
        learned = {id(c): c for c in self.candidates}
        kernels = {key: c.learn(X, y, target) for key, c in learned.items()}
        parts = [
            kernels[id(c)][list(c.descriptions).index(name)]
            for c, name in zip(self.candidates, self.descriptions, strict=True)
        ]
        return [unit_sum(parts, self.weights, X)]
