"""Base class of the stacking estimators: candidates, views of the table, and predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._model_selection.leave_one_out import EncodedTarget, sample_rows
from mercer._stacking.candidates import (
    Candidate,
    given_candidates,
    isotropic_candidates,
    learns_relevance,
    relevance_candidates,
)
from mercer._stacking.evaluation import Evaluation, evaluate
from mercer._stacking.table_views import TableViews, ViewName
from mercer._typing import Array, Features
from mercer._validation import check_number
from mercer.kernels import Kernel
from mercer.kernels._distances import squared_distances

_BLOCK_VALUES = 2**24
"""New samples are predicted in blocks of so many values of a kernel."""

_ROUNDING = 1e-12
"""Samples whose squared distance is a smaller fraction of the largest one are equal."""


@dataclass(frozen=True)
class PricedCandidate:
    """A candidate of a stack, as the fitted estimator reports it.

    Attributes
    ----------
    description : str
    kernel : Kernel
    alpha : float
        Penalty of ridge regression, or 1 / C of a support vector machine, for a kernel of unit
        scale.
    price : float
        Of ridge regression, the mean squared leave-one-out error relative to that of the mean; of a
        machine, the fraction of samples that it misclassifies out of fold.
    weight : float
        Its weight in the stack; zero if it was left out.
    """

    description: str
    kernel: Kernel
    alpha: float
    price: float
    weight: float


class KernelStacking(BaseEstimator):
    """Base class of the stacking estimators: candidates, and views of the table."""

    def __init__(
        self,
        candidates: Any = None,
        *,
        max_samples: int = 1500,
        random_state: Any = 0,
    ) -> None:
        self.candidates = candidates
        self.max_samples = max_samples
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_settings(self) -> None:
        """Refuse settings that cannot work, before any work."""
        check_number("max_samples", self.max_samples, whole=True, low=2)

    def _fit_views(self, X: Features, table: Any) -> list[Candidate]:
        """Store the training samples in each view, and return the candidates with one width."""
        self._views = TableViews(X)
        if self.candidates is None:
            names: Sequence[ViewName] = self._views.names()
            candidates = isotropic_candidates(names)
        else:
            names, candidates = ["given"], given_candidates(self.candidates, table)
        self._training = {name: self._views.transform(X, name) for name in names}
        first = self._training[names[0]]
        self._reach = largest_gap(first)
        return candidates

    def _evaluate(
        self, candidates: Sequence[Candidate], rows: Array, y: Any, target: EncodedTarget
    ) -> list[Evaluation]:
        """Price the candidates on some rows, and those of learned relevance on the better view."""
        tables = {name: table[rows] for name, table in self._training.items()}
        labels, inside = y[rows], target.take(rows)
        found = evaluate(candidates, tables, labels, inside, self.random_state)
        if self.candidates is None and found and learns_relevance(tables["scaled"]):
            best = min(found, key=lambda evaluation: evaluation.price)
            learned = relevance_candidates(best.view)
            found += evaluate(learned, tables, labels, inside, self.random_state)
        if not found:
            raise ValueError("No candidate could be evaluated on this table; see the warnings.")
        return found

    def _priced_rows(self, target: EncodedTarget) -> Array:
        """Rows that candidates are priced on: all, or a sample of many."""
        n = len(target.values)
        return sample_rows(n, self.max_samples, target.codes, self.random_state)

    def _new_views(self, X: Features) -> dict[ViewName, Features]:
        """Validated new samples in each view."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        return {name: self._views.transform(X, name) for name in self._training}

    def _predictions(self, members: Sequence[Any], views: dict[ViewName, Features]) -> list[Array]:
        """Predictions of each member, shape (n_rows, n_outputs), in blocks of rows."""
        return [
            np.concatenate(
                [
                    member.predict(views[member.view][rows], self._training[member.view])
                    for rows in self._blocks(views)
                ]
            )
            for member in members
        ]

    def _closeness(self, views: dict[ViewName, Features]) -> Array:
        """How far predictions are to be trusted, shape (n_rows, 1).

        One for samples at most as far from their nearest training sample as any training sample is
        from its own; beyond that, the square of the ratio of these distances.
        """
        name = next(iter(self._training))
        squared = np.concatenate(
            [
                squared_distances(views[name][rows], self._training[name]).min(axis=1)
                for rows in self._blocks(views)
            ]
        )
        return np.asarray(1.0 / np.maximum(squared / self._reach**2, 1.0))[:, None]

    def _blocks(self, views: dict[ViewName, Features]) -> list[slice]:
        """Blocks of new rows whose kernel values fit in memory."""
        name = next(iter(self._training))
        n_rows, n_samples = views[name].shape[0], self._training[name].shape[0]
        size = max(_BLOCK_VALUES // n_samples, 1)
        return [slice(start, start + size) for start in range(0, max(n_rows, 1), size)]

    def _relevance(self, members: Sequence[Any], weights: Array) -> Array:
        """Weighted mean of the members' relevances, each with a sum of one; equal without any."""
        total = np.zeros(self.n_features_in_)
        for member, weight in zip(members, weights, strict=True):
            relevance = member.kernel.relevance(self.n_features_in_)
            total += weight * relevance / (relevance.sum() or 1.0)
        equal = np.full(total.shape, 1.0 / total.size)
        return total / total.sum() if total.sum() > 0.0 else equal


def largest_gap(X: Features) -> float:
    """Largest distance of a sample to the nearest one that differs; one if all samples are equal.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    """
    size = max(_BLOCK_VALUES // X.shape[0], 1)
    largest = 0.0
    for start in range(0, X.shape[0], size):
        part = X[start : start + size]
        squared = squared_distances(part, X, start)
        squared[squared <= _ROUNDING * squared.max()] = np.inf
        nearest = squared.min(axis=1)
        largest = max(largest, float(nearest[nearest < np.inf].max(initial=0.0)))
    return float(np.sqrt(largest)) if largest > 0.0 else 1.0
