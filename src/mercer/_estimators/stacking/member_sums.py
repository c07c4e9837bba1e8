"""Sums of the kernels of a stack, so that one predictor is fitted in place of several."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import numpy as np

from mercer._data.encoded_targets import EncodedTarget
from mercer._data.types import Array, Features
from mercer._estimators.stacking.candidates import Candidate
from mercer._estimators.stacking.evaluation import Combine, Evaluation, ViewedSample
from mercer._estimators.stacking.ridges import evaluated_kernel
from mercer._gram.dense import unit_gram
from mercer.kernels import Kernel, WeightedSum


def with_sums(
    kept: Sequence[Evaluation],
    deviations: Sequence[Array],
    table: ViewedSample,
    combine: Combine,
    tol: float = 0.02,
) -> list[Evaluation]:
    """Replace evaluations on the same view by one with the sum of their kernels.

    They are replaced if the sum predicts left-out samples about as well.

    Parameters
    ----------
    kept : sequence of Evaluation
    deviations : sequence of ndarray of shape (n_samples, n_outputs)
        Deviations that each evaluation predicts for the samples.
    table : ViewedSample
        The samples on which they were evaluated.
    combine : callable
        Function from deviations and a target to a combination.
    tol : float, default=0.02
        A sum, which takes one fit instead of several, is used if it raises the squared error by at
        most this fraction.

    Notes
    -----
    A sum with weights w_k of ridge regressions f_k on kernels K_k with penalties a_k is a
    prediction with the kernel sum w_k K_k / a_k if their functions do not overlap. If they do, the
    kernel sum w_k K_k may predict better, so that the better of the two is used.
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
    """Return groups of several evaluations on the same view.

    Estimators are excluded, and kernels of trees, which memorize labels.
    Candidates given by a user, on the table as it is, are excluded because they have weights of
    their own.
    """
    groups: dict[str, list[Evaluation]] = {}
    for e in kept:
        is_kernel = e.kernel is not None and not e.candidate.memorizes_labels
        if is_kernel and e.candidate.view != "given":
            groups.setdefault(e.candidate.view, []).append(e)
    return [parts for parts in groups.values() if len(parts) > 1]


def _error(deviations: Sequence[Array], table: ViewedSample, combine: Combine) -> float:
    """Return the squared error of the combined predictions of several members."""
    target = table.target
    values = combine(deviations, target).combine(deviations, target.left_out_means)
    known = np.flatnonzero(np.isfinite(values).all(axis=1))
    errors = np.square(values - target.values)[known].sum(axis=1)
    return float(table.weights.take(known).sum(errors))


def _sums(parts: Sequence[Evaluation], shares: Array, table: ViewedSample) -> list[Evaluation]:
    """Evaluate sums of kernels, weighted by shares, and by shares divided by penalties.

    Kernels without a share, and sums whose predictions are not finite, are left out.
    """
    parts = [e for e, share in zip(parts, shares, strict=True) if share]
    shares, found = shares[shares != 0.0], []
    if len(parts) < 2:
        return parts
    for weights in (shares, shares / [e.solver.alpha for e in parts]):
        # Penalties may be infinite if the target is noise.
        if total := weights.sum():
            with suppress(ValueError):
                found.append(_sum(parts, weights / total, table))
    return found


def _sum(parts: Sequence[Evaluation], weights: Array, table: ViewedSample) -> Evaluation:
    first, description = parts[0].candidate, " + ".join(e.description for e in parts)
    candidate = Candidate(
        [description],
        first.view,
        partial(_learned_sum, [(e.candidate, e.description) for e in parts], weights),
        any(e.candidate.uses_labels for e in parts),
    )
    X = table.X[first.view]
    splits = next(([split for split, _ in e.unseen] for e in parts if e.unseen), [])
    unseen = [
        (split, unit_sum([e.unseen[k][1] if e.unseen else e.kernel for e in parts], weights, X))
        for k, split in enumerate(splits)
    ]
    kernel = unit_sum([e.kernel for e in parts], weights, X)
    return evaluated_kernel(candidate, table, description, kernel, unseen)


def _learned_sum(
    parts: Sequence[tuple[Candidate, str]],
    weights: Array,
    X: Features,
    y: Array,
    target: EncodedTarget,
) -> list[Kernel]:
    """Learn the kernels of several candidates, and add them with given weights."""
    learned = {id(c): c.learn(X, y, target) for c in {id(c): c for c, _ in parts}.values()}
    kernels = [learned[id(c)][list(c.descriptions).index(name)] for c, name in parts]
    return [unit_sum(kernels, weights, X)]


def unit_sum(
    kernels: Sequence[Kernel], weights: Array, X: Features, max_samples: int = 500
) -> WeightedSum:
    """Return the weighted sum of kernels, each divided by the scale of its centered Gram matrix.

    Parameters
    ----------
    kernels : sequence of Kernel
    weights : ndarray of shape (n_kernels,)
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    max_samples : int, default=500
        Maximum number of samples from which the scales of kernels are estimated. Sampling errors
        change the weights by a few percent.
    """
    rows = np.linspace(0, X.shape[0] - 1, min(X.shape[0], max_samples)).astype(int)
    scales = np.array([unit_gram(kernel, X[rows])[1].scale for kernel in kernels])
    return WeightedSum(list(kernels), weights / scales)
