"""Updates of ridge regressions on Nyström features with new rows."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from mercer._blocks import tables
from mercer._blocks.own_encoders import encoded, on_numbers
from mercer._data.classes import fitted_classes
from mercer._data.sample import Sample
from mercer._data.types import Array, ClassWeight, Features, PerSample, Table
from mercer._data.validation import check_target_values, check_weights
from mercer._data.weights import UnitWeights, as_weights, with_class_weights
from mercer._gram.devices import on_device

SUMS_NEEDED = (
    "The rows of a fit on Nyström features are not kept: call prepare_updates with them first."
)
"""Error message for updates without sums over the rows of the fit."""

NOT_SUMS = (
    "This {} does not depend on sums over rows, which update adds to: fit it again to all rows, or "
    "fit with approximation='nystroem' and fewer components than rows."
)
"""Error message for updates of fits to the Gram matrix of all rows; the name is filled in."""


class UpdatesMixin:
    """Methods that add new rows to ridge regressions on Nyström features."""

    class_weight: ClassWeight
    classes_: Array
    predict: Callable[[Features], Array]
    _check_updates: Callable[[], None]
    """Raises an error if the model does not depend on sums over rows."""
    _sum_rows: Callable[[Sample], None]
    """Computes the sums over the rows of the fit that updates need."""
    _add_rows: Callable[[Sample], None]
    """Fits to the old and new rows; the estimator is unchanged if this fails."""
    _sums: Any = None

    @on_device
    def update(self, X: Features, y: npt.ArrayLike, sample_weight: PerSample = None) -> Self:
        """Fit the model to additional rows, without choosing kernels and penalties again.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_new, n_features)
            At least one row, with the columns of the fit. The rows must be new: rows that the model
            has learned from before are counted twice; see the notes.
        y : array-like of shape (n_new,) or (n_new, n_outputs)
            Responses, or labels of the classes that a classifier was fitted to.
        sample_weight : array-like of shape (n_new,), default=None
            Weights of the rows, relative to the weights of the fit, or to their mean for stacks.

        Returns
        -------
        self : object
            The updated estimator. It predicts exactly as a fit to the old and new rows with the
            same kernels, centers, penalties and stacking weights would.

        Raises
        ------
        ValueError
            If columns differ from the columns of the fit, a class is new, or `prepare_updates` was
            not called.
        TypeError
            If the fit was not on Nyström features of fewer centers than rows.

        Notes
        -----
        Sums over the new rows are added to the sums of `prepare_updates` in O(n_new m^2 + m^3) time
        for m centers, and no rows are stored. The rows are assumed not to be among those of the fit
        or of earlier updates, which is not checked: rows that are given again count twice. Kernels,
        centers, estimators such as trees, transformations of the table, penalties and stacking
        weights are not updated, nor are the calibration of probabilities, intervals, prediction
        sets and `loo_predictions_`. A fit to the Gram matrix of all rows cannot be updated: fit it
        again. There is no `partial_fit`, because it would have to start without a fit, and kernels
        are learned from rows.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from mercer import TwoStageRegressor
        >>> X, y = make_friedman1(300, noise=1.0, random_state=0)
        >>> model = TwoStageRegressor(approximation="nystroem", n_components=50)
        >>> model = model.fit(X[:200], y[:200]).prepare_updates(X[:200], y[:200])
        >>> model.update(X[200:], y[200:]).predict(X[200:]).shape
        (100,)
        """
        check_is_fitted(self)
        if isinstance(getattr(self, "class_weight", None), str):
            raise ValueError(
                f"class_weight={self.class_weight!r} depends on all rows: give weights by class."
            )
        self._check_updates()
        if self._sums is None:
            raise ValueError(SUMS_NEEDED)
        rows = self._new_rows(X, y, sample_weight)
        self._add_rows(rows)
        return self

    @on_device
    def prepare_updates(
        self, X: Features, y: npt.ArrayLike, sample_weight: PerSample = None
    ) -> Self:
        """Prepare a model that was fitted on Nyström features for later calls of `update`.

        The rows of the fit are read once more, and sums over them are stored.

        Parameters
        ----------
        X, y, sample_weight : array-like
            The arguments of `fit`.

        Returns
        -------
        self : object
            The estimator. For each kernel with m centers, it stores a few m x m matrices,
            which are saved with the model.

        Raises
        ------
        ValueError
            If the model was fitted to other rows.
        TypeError
            If the fit was not on Nyström features of fewer centers than rows.
        MemoryError
            If the sums do not fit into memory.
        """
        check_is_fitted(self)
        self._check_updates()
        self._sum_rows(self._new_rows(X, y, sample_weight))
        return self

    def _new_rows(self, X: Table, y: npt.ArrayLike, sample_weight: PerSample) -> Sample:
        """Validate new rows, and return those of positive weight."""
        classifies = is_classifier(self)
        checks = {} if classifies else {"multi_output": True, "y_numeric": True}
        check_target_values(y, self)
        known, X = on_numbers(self), encoded(self, X)
        table, target = validate_data(known, X, y, reset=False, **tables.checks_of(known), **checks)
        class_weight = getattr(self, "class_weight", None)
        if classifies:
            _check_known(target, self.classes_)
            sample_weight = with_class_weights(sample_weight, class_weight, target)
        elif (shape := (len(target), *known.predict(X[:1]).shape[1:])) != target.shape:
            raise ValueError(f"y must have shape {shape}; got {target.shape}.")
        n = len(target)
        found = Sample(table, target, UnitWeights(n), n_given=n)
        if sample_weight is not None:
            given = _check_sample_weight(sample_weight, table, ensure_non_negative=True)
            check_weights(given)
            rows = np.flatnonzero(given)
            if not rows.size:
                raise ValueError("No row has a positive sample_weight.")
            weights = as_weights(given[rows], len(rows))
            found = replace(found.take(rows), weights=weights, kept=rows)
        if classifies:
            _check_known(found.y, fitted_classes(self))
        return found


def _check_known(labels: Array, classes: Array) -> None:
    """Raise an error if a label is not among the classes."""
    unseen = np.setdiff1d(labels, classes)
    if unseen.size:
        raise ValueError(
            f"y contains previously unseen labels: {unseen.tolist()}. Fit again to all rows to "
            "learn new classes."
        )
