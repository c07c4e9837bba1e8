"""Estimators as members of a stack, which are combined by their predictions of rows out of fold."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from mercer._data.encoded_targets import EncodedTarget
from mercer._data.folds import N_FOLDS, Splits
from mercer._data.types import Array, Features, RandomState, own_fields
from mercer._data.validation import warn
from mercer._solvers.svm import class_decisions, machine_coefficients, pair_votes
from mercer.kernels._leaves import openmp_threads
from mercer.kernels._tree_arrays import TreeArrays, as_tree_arrays

_FEW_ROWS = 100
"""scikit-learn's trees take milliseconds for one row, and half the time of arrays for many rows."""


@dataclass(frozen=True)
class OutOfFold:
    """An estimator that is fitted in folds of rows; see :class:`Solver`.

    Attributes
    ----------
    estimator : estimator
        If it takes precomputed kernels, it is fitted to a Gram matrix, and otherwise to a table.
    random_state : int, RandomState instance or None
        Divides the rows into folds.
    """

    estimator: BaseEstimator
    random_state: RandomState

    @property
    def alpha(self) -> float:
        """1 / C of a support vector machine; NaN for other estimators."""
        return 1.0 / getattr(self.estimator, "C", np.nan)

    def fit(self, rows: Features, target: EncodedTarget) -> FittedEstimator:
        """Fit to all rows, of a table or of a Gram matrix."""
        y = target.values[:, 0] if target.n_outputs == 1 else target.values
        if target.codes is not None and not is_regressor(self.estimator):
            y = target.codes
        weights = target.weights.fit_params
        if weights and not has_fit_parameter(self.estimator, "sample_weight"):
            warn(f"The candidate {self.estimator!r} takes no sample_weight: it is fitted without.")
            weights = {}
        model = clone(self.estimator)
        with warnings.catch_warnings(), openmp_threads(1):
            # Left-out predictions judge fits that stop early; folds have few rows of rare classes.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%")
            model.fit(rows, y, **weights)
        return FittedEstimator.of(model, rows, target)

    def left_out(self, rows: Features, target: EncodedTarget) -> Array:
        """Return the deviations of all rows, each by a fit without its fold."""
        splits = target.folds(N_FOLDS, self.random_state)
        return self.scores(rows, target, rows, splits)[0]

    def fit_left_out(self, rows: Features, target: EncodedTarget) -> tuple[FittedEstimator, Array]:
        """Return the fit to all rows, and the deviations by fits in folds."""
        return self.fit(rows, target), self.left_out(rows, target)

    def scores(
        self, rows: Features, target: EncodedTarget, predicted: Features, splits: Splits
    ) -> tuple[Array, Array]:
        """Predict rows by fits in folds.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features) or (n_rows, n_rows)
            Rows to fit to, of a table or of a Gram matrix.
        target : EncodedTarget
            Their target.
        predicted : ndarray of shape (n_predicted, n_features) or (n_predicted, n_rows)
        splits : list of (ndarray, ndarray)
            For each fold, indices of the rows to fit to, and of the rows to predict.

        Returns
        -------
        deviations : ndarray of shape (n_predicted, n_outputs)
            They are means over folds, zero where nothing can be learned from the rows of the fold,
            and NaN for rows that no fold holds out.
        scores : ndarray of shape (n_predicted, n_outputs)
            Deviations plus the levels of the fits; the predicted class has the largest score.
        """
        pairwise = get_tags(self.estimator).input_tags.pairwise
        shape = predicted.shape[0], target.n_outputs
        found, levels, counts = np.zeros(shape), np.zeros(shape), np.zeros((shape[0], 1))
        for train, test in splits:
            counts[test] += 1.0
            known = target.take(train)
            has_classes = known.codes is None or np.ptp(known.codes) > 0
            if not len(test) or len(train) < 2 or not has_classes:
                levels[test] += known.mean if len(train) else target.mean
                continue
            part, across = rows[train], predicted[test]
            if pairwise:
                part, across = part[:, train], across[:, train]
            fitted = self.fit(part, known)
            found[test] += fitted.deviations(across)
            levels[test] += fitted.level
        counts = np.where(counts > 0.0, counts, np.nan)
        return found / counts, (found + levels) / counts


@dataclass(frozen=True)
class FittedEstimator:
    """An estimator that was fitted to rows, as a :class:`Predictor` of deviations.

    Attributes
    ----------
    estimator : estimator
        Saved models hold the nodes of scikit-learn's trees as arrays.
    method : {"decision_function", "predict_proba", "predict"}
        The first of these methods that the estimator has.
    known : ndarray of int of shape (n_known,), or None
        Indices of the classes that it was fitted to; None for responses, and for regressors that
        are fitted to indicators of classes.
    level : ndarray of shape (n_outputs,)
        Scores of an estimator that predicts the same for all rows.
    n_rows : int
        Number of rows that it was fitted to. Probabilities are at least 1 / (n_rows + 2), by the
        rule of succession.
    """

    estimator: Any
    method: str
    known: Array | None
    level: Array
    n_rows: int

    @classmethod
    def of(cls, estimator: BaseEstimator, rows: Features, target: EncodedTarget) -> FittedEstimator:
        """Return a fitted estimator with the level of its scores.

        The level is the mean decision value over the rows of the fit, the log-odds of the class
        frequencies for probabilities, or the mean of the target for other predictions.
        """
        methods = ("decision_function", "predict_proba")
        method = next((name for name in methods if hasattr(estimator, name)), "predict")
        known, mean = None, target.mean
        if target.codes is not None and not is_regressor(estimator):
            known = getattr(estimator, "classes_", np.unique(target.codes))
        found = cls(estimator, method, known, mean, len(target))
        if method == "decision_function":
            mean = target.weights.mean(found._scores(rows))
        elif method == "predict_proba":
            mean = _log_odds(mean[None], len(target))[0]
        return replace(found, level=mean)

    def deviations(self, rows: Features) -> Array:
        """Return predictions minus the mean, from rows of a table or of a Gram matrix."""
        return self._scores(rows) - self.level

    def linear(self, n_fitted: int) -> tuple[Array, Array] | None:
        """See :class:`Predictor`; None unless this is a machine on a kernel for two classes."""
        if not hasattr(self.estimator, "dual_coef_") or len(self.level) != 2:
            return None
        coefficients, intercept = machine_coefficients(self.estimator, n_fitted)
        signs = np.array([-1.0, 1.0])
        return np.outer(coefficients, signs), intercept * signs - self.level

    def pairs(self, n_fitted: int) -> tuple[Array, Array] | None:
        """Return the machines of pairs of classes; see :class:`Voting`."""
        if self.known is None or len(self.known) < 3 or not isinstance(self.estimator, SVC):
            return None
        return machine_coefficients(self.estimator, n_fitted)

    def of_pairs(self, values: Array) -> Array:
        """Return the deviations from the votes of machines; see :class:`Voting`."""
        assert self.known is not None
        votes = pair_votes(values, len(self.known))
        scores = class_decisions(votes, self.known, len(self.level))
        return np.asarray(scores - self.level)

    def trees(self) -> TreeArrays | None:
        """Return the nodes of trees, whose mean values are deviations up to a constant."""
        arrays = self._arrays
        if arrays is None or self.method == "predict_proba":
            return None
        if self.method == "predict":
            return arrays
        matrix = np.eye(len(self.level))[self.known]
        matrix = np.array([[-1.0, 1.0]]) if len(self.level) == 2 else matrix
        return replace(arrays, value=arrays.value @ matrix)

    def _scores(self, rows: Features) -> Array:
        """Return decision values, log-odds, predictions, or indicators of predicted labels."""
        n_outputs = len(self.level)
        if self.known is not None and (values := self._machine_values(rows)) is not None:
            return class_decisions(values, self.known, n_outputs)
        model = (self._arrays if rows.shape[0] < _FEW_ROWS else None) or self.estimator
        with openmp_threads(1):
            found = getattr(model, self.method, model.predict)(rows)
        if self.known is None:
            return np.asarray(found, dtype=float).reshape(len(found), n_outputs)
        if self.method == "predict":
            return np.eye(n_outputs)[np.ravel(found).astype(int)]
        if self.method == "decision_function":
            return class_decisions(found, self.known, n_outputs)
        probabilities = np.zeros((len(found), n_outputs))
        probabilities[:, self.known] = found
        return _log_odds(probabilities, self.n_rows)

    def _machine_values(self, rows: Features) -> Array | None:
        """Return decision values for rows of a Gram matrix; None unless this is a machine on it.

        Products take less time than LIBSVM, which evaluates row by row.
        """
        machine = self.estimator
        if not isinstance(machine, SVC) or machine.kernel != "precomputed":
            return None
        coefficients, intercepts = machine_coefficients(machine, rows.shape[1])
        values, n_known = rows @ coefficients + intercepts, len(machine.classes_)
        return pair_votes(values, n_known) if n_known > 2 else values

    @cached_property
    def _arrays(self) -> TreeArrays | None:
        """The nodes of trees, if they are known."""
        return as_tree_arrays(self.estimator)

    def __getstate__(self) -> dict[str, object]:
        return {**own_fields(self), "estimator": self._arrays or self.estimator}


def _log_odds(probabilities: Array, n_rows: int) -> Array:
    """Return logarithms of probabilities minus their mean over the classes."""
    logarithms = np.log(np.maximum(probabilities, 1.0 / (n_rows + 2.0)))
    return np.asarray(logarithms - logarithms.mean(axis=1, keepdims=True))
