"""Scorers of scikit-learn, for predictions that are given in place of an estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import check_scoring, get_scorer

from mercer._data.weights import SampleWeights
from mercer._typing import Array


class LeftOutResponses(RegressorMixin, BaseEstimator):
    """Predicts what it was given, for samples that are named by their numbers.

    Parameters
    ----------
    predictions : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    """

    def __init__(self, predictions: Array) -> None:
        self.predictions = predictions

    def predict(self, X: Any) -> Array:
        """Responses of samples, from their numbers, of shape (n_rows, 1)."""
        return np.asarray(self.predictions[np.ravel(X)])


class LeftOutProbabilities(ClassifierMixin, BaseEstimator):
    """Predicts probabilities that it was given, for samples that are named by their numbers.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
    classes : ndarray of shape (n_classes,)
    """

    def __init__(self, probabilities: Array, classes: Array) -> None:
        self.probabilities = probabilities
        self.classes = classes

    @property
    def classes_(self) -> Array:
        """The labels."""
        return self.classes

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of samples, from their numbers, of shape (n_rows, 1)."""
        return np.asarray(self.probabilities[np.ravel(X)])

    def predict(self, X: Any) -> Array:
        """Labels of the largest probabilities."""
        return np.asarray(self.classes[self.predict_proba(X).argmax(axis=1)])


@dataclass(frozen=True)
class PredictionScorer:
    """A scorer of scikit-learn that is called on predictions.

    Attributes
    ----------
    scorer : callable
        With the signature of scikit-learn's scorers: estimator, X, y.
    """

    scorer: Callable[..., Any]

    def __call__(
        self, y: Array, predictions: Array, weights: SampleWeights, classes: Array | None = None
    ) -> float:
        """The score of predictions, which is better the larger it is.

        Parameters
        ----------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        predictions : ndarray of shape (n_samples,) or (n_samples, n_columns)
            Responses, or probabilities of the classes.
        weights : SampleWeights
            Passed on, unless all are one or the scorer takes none.
        classes : ndarray of shape (n_classes,), default=None
            The labels, sorted. Those that no sample could have had, with probabilities of zero,
            are left out.

        Returns
        -------
        float
            NaN where the scorer returns that.

        Raises
        ------
        ValueError, TypeError, AttributeError
            If the scorer cannot judge such predictions.

        Examples
        --------
        >>> from mercer._data.weights import UnitWeights
        >>> scorer = prediction_scorer("neg_mean_absolute_error")
        >>> scorer(np.array([1.0, 2.0]), np.array([1.0, 4.0]), UnitWeights(2))
        -1.0
        """
        given: Any = LeftOutResponses(predictions)
        if classes is not None:
            possible = predictions.any(axis=0)
            given = LeftOutProbabilities(predictions[:, possible], classes[possible])
        known = {}
        if weights.given is not None and self._takes_weights:
            known["sample_weight"] = weights.values
        rows = np.arange(len(y))[:, None]
        with catch_warnings():
            # Where no sample is predicted to be of a class, its precision counts as zero.
            simplefilter("ignore", UndefinedMetricWarning)
            return float(self.scorer(given, rows, y, **known))

    @property
    def _takes_weights(self) -> bool:
        # What scikit-learn's scorers pass on is in the signature of their metrics.
        metric = getattr(self.scorer, "_score_func", self.scorer)
        return "sample_weight" in signature(metric).parameters


def prediction_scorer(scoring: Any) -> PredictionScorer:
    """The scorer that a name or a callable stands for.

    Parameters
    ----------
    scoring : str or callable

    Raises
    ------
    ValueError
        If there is no scorer of this name, or if it is a metric or no single scorer.

    Examples
    --------
    >>> prediction_scorer("roc_auc").scorer
    make_scorer(roc_auc_score, response_method=('decision_function', 'predict_proba'))
    """
    return PredictionScorer(check_scoring(scoring=get_scorer(scoring)))
