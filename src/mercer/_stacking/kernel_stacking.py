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
    given_candidates,
    isotropic_candidates,
    learns_relevance,
    relevance_candidate,
)
from mercer._stacking.evaluation import Evaluation, evaluate
from mercer._stacking.table_views import TableViews
from mercer._typing import Array, Features
from mercer.kernels._distances import squared_distances


@dataclass(frozen=True)
class PricedCandidate:
    """A candidate as the fitted estimator reports it.

    Attributes
    ----------
    description : str
    kernel : Kernel
    alpha : float
        Ridge penalty for a kernel of unit scale, or 1 / C of a support vector machine.
    price : float
        Leave-one-out error: squared error relative to that of the mean.
    weight : float
        Its weight in the combination, zero if it was left out.
    """

    description: str
    kernel: Any
    alpha: float
    price: float
    weight: float


class KernelStacking(BaseEstimator):
    """Base class of the stacking estimators."""

    candidates: Any
    max_samples: int
    random_state: Any

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _priced(self, X: Features, y: Any, target: EncodedTarget) -> tuple[list[Evaluation], Array]:
        """Fit the views of the table and price the candidates, on a sample of many rows."""
        self._views = TableViews(X)
        self._stored = {name: self._views.transform(X, name) for name in self._view_names()}
        rows = sample_rows(X.shape[0], self.max_samples, target.codes, self.random_state)
        tables = {name: table[rows] for name, table in self._stored.items()}
        self._tables = tables
        inside = target.take(rows)
        labels = y[rows]
        if self.candidates is not None:
            candidates = given_candidates(self.candidates)
            found = evaluate(candidates, tables, labels, inside, self.random_state)
        else:
            names = self._views.names()
            found = evaluate(
                isotropic_candidates(names), tables, labels, inside, self.random_state
            )
            if found and learns_relevance(tables["scaled"]):
                learned = [relevance_candidate(name) for name in self._relevance_views(found)]
                found += evaluate(learned, tables, labels, inside, self.random_state)
        if not found:
            raise ValueError("No candidate could be fitted to this table; see the warnings.")
        return found, rows

    def _view_names(self) -> Sequence[Any]:
        return ["given"] if self.candidates is not None else self._views.names()

    def _relevance_views(self, found: Sequence[Evaluation]) -> list[Any]:
        """The view on which the isotropic kernels are better."""
        return [min(found, key=lambda evaluation: evaluation.price).candidate.view]

    def _closeness(self, X: Features) -> Array:
        """One for samples as near to training samples as these are to each other, less beyond."""
        name = self._view_names()[0]
        nearest = np.sqrt(squared_distances(self._views.transform(X, name), self._stored[name]).min(axis=1))
        ratio = nearest / self._reach
        return np.where(ratio <= 1.0, 1.0, 1.0 / np.maximum(ratio, 1.0) ** 2)

    def _checked(self, X: Features) -> Features:
        check_is_fitted(self)
        return validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32]
        )


def reach(X: Features) -> float:
    """Largest distance of a training sample to its nearest neighbor; one if there is none.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    """
    squared = squared_distances(X)
    np.fill_diagonal(squared, np.inf)
    nearest = squared.min(axis=1)
    finite = nearest[np.isfinite(nearest)]
    largest = float(np.sqrt(finite.max())) if finite.size else 0.0
    return largest or 1.0
