"""Rows on which functions of few centers are fitted, and compared with the model's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_array

from mercer._deployment.few_centers import KernelPart, cluster_means
from mercer._expansion import KernelExpansion, Views
from mercer._typing import Array
from mercer._validation import check_target_values
from mercer.inspection._compression_loss import (
    CompressionLoss,
    compression_loss,
    has_probabilities,
)

FOLDS = 8
"""Each row is compared by a function that is fitted to all rows but those of its fold. With fewer
folds, functions of thousands of centers err more than that of all rows (benchmarks/compression.py).
"""

LEAST_ROWS = 4
"""Clusters of at least two rows are to be told apart."""


@dataclass(frozen=True)
class ComparedRows:
    """Rows, with the values and predictions of the model.

    Attributes
    ----------
    model : estimator
    part : KernelPart
    views : dict of str to ndarray of shape (n_rows, n_features)
    values : ndarray of shape (n_rows, n_outputs)
        Of the part of the model that depends on centers.
    predicted : ndarray of shape (n_rows, n_outputs)
        Predictions of the model, in the unit of its expansion.
    truth : ndarray of shape (n_rows, n_outputs) or (n_rows,), or None
        Responses, or positions of classes, where these are known.
    random_state : int
        Draws the first centers of k-means.
    """

    model: Any
    part: KernelPart
    views: Views
    values: Array
    predicted: Array
    truth: Array | None
    random_state: int

    @classmethod
    def of(
        cls, model: Any, part: KernelPart, views: Views, truth: Array | None, random_state: int
    ) -> ComparedRows:
        """Evaluate the model."""
        values = part.values(views)
        predicted = part.predicted(views, values)
        return cls(model, part, views, values, predicted, truth, random_state)

    def __len__(self) -> int:
        return len(self.values)

    def on_centers(
        self, n_centers: int, rows: NDArray[np.intp] | slice = slice(None)
    ) -> tuple[KernelExpansion, Array]:
        """The function with at most a number of centers, chosen by some rows.

        Returns
        -------
        function : KernelExpansion
        n_rows : ndarray of int of shape (n_centers,)
            Number of rows that each center is the mean of.
        """
        views = {name: view[rows] for name, view in self.views.items()}
        values, part = self.values[rows], self.part
        number = min(n_centers, max(len(values) // 2, 1))
        centers = cluster_means(views, part.relevance, number, self.random_state, part.codes)
        return part.on_centers(centers, views, values), centers.n_rows

    def left_out_loss(self, n_centers: int, most: float) -> CompressionLoss:
        """The loss on rows that had no part in the function.

        Parameters
        ----------
        n_centers : int
        most : float
            Where it exceeds this by two standard errors, no further folds are looked at.
        """
        n_folds = min(FOLDS, len(self))
        fold_of = np.arange(len(self)) % n_folds
        found, theirs = np.flatnonzero(fold_of < 0), np.empty((0, self.predicted.shape[1]))
        for fold in range(n_folds):
            function, _ = self.on_centers(n_centers, np.flatnonzero(fold_of != fold))
            rows = np.flatnonzero(fold_of == fold)
            views = {name: view[rows] for name, view in self.views.items()}
            found = np.append(found, rows)
            theirs = np.concatenate([theirs, function.predicted(views)])
            loss = self.loss(theirs, found)
            if loss.criterion - 3.0 * (loss.standard_error or 0.0) > most:
                break
        return loss

    def loss(self, theirs: Array, rows: NDArray[np.intp] | slice = slice(None)) -> CompressionLoss:
        """The loss of predictions of some of the rows."""
        truth = None if self.truth is None else self.truth[rows]
        mine = self.predicted[rows]
        return compression_loss(self.part.expansion, mine, theirs, self.model, truth)


def truth_of(model: Any, y: Any, n_rows: int) -> Array:
    """Responses, or positions of classes, of rows that a model is compressed on.

    Parameters
    ----------
    model : estimator
        Fitted.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs)
    n_rows : int

    Returns
    -------
    ndarray of shape (n_rows, n_outputs) or (n_rows,)

    Raises
    ------
    TypeError
        If the model predicts neither responses nor probabilities of classes.
    ValueError
        If their number or the classes do not match, or responses are not finite.
    """
    expansion: KernelExpansion = model.kernel_expansion()
    if expansion.scale != "response" and not has_probabilities(expansion):
        raise TypeError(
            f"y counts for responses and for probabilities of classes; {type(model).__name__} "
            f"predicts a {expansion.scale}: compress it without y."
        )
    check_target_values(y)
    given = np.asarray(y)
    if len(given) != n_rows:
        raise ValueError(f"X has {n_rows:,} rows, and y has {len(given):,}.")
    if is_classifier(model):
        unseen = np.setdiff1d(given, model.classes_)
        if unseen.size:
            raise ValueError(
                f"y contains previously unseen labels: {unseen.tolist()}. The model knows no such "
                "classes."
            )
        return np.asarray(np.searchsorted(model.classes_, given.ravel()))
    checked = check_array(given, dtype=float, ensure_2d=False, input_name="y")
    responses = np.asarray(checked).reshape(n_rows, -1)
    n_outputs = len(expansion.intercept)
    if responses.shape[1] != n_outputs:
        raise ValueError(f"y must have {n_outputs} column(s); got {responses.shape[1]}.")
    return responses
