"""Scorers of scikit-learn that are applied to predictions instead of an estimator."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Self
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import check_scoring, get_scorer, roc_auc_score

from mercer._data.types import Array, PerSample, Scoring, Table
from mercer._data.weights import SampleWeights


class LeftOutResponses(RegressorMixin, BaseEstimator):
    """A regressor that returns given predictions, and takes indices of samples as features.

    Parameters
    ----------
    predictions : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    """

    def __init__(self, predictions: Array) -> None:
        self.predictions = predictions

    def predict(self, X: Table) -> Array:
        """Return the predictions for samples, given their indices of shape (n_rows, 1)."""
        return np.asarray(self.predictions[np.ravel(X)])


@dataclass(eq=False, repr=False)
class LeftOutProbabilities(ClassifierMixin, BaseEstimator):
    """A classifier that returns given probabilities, and takes indices of samples as features.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
    classes : ndarray of shape (n_classes,)
        The labels.
    samples : ndarray of int of shape (n_samples,), default=None
        Indices of the samples in ascending order; None for 0, 1, ..., n_samples - 1.
    labels : ndarray of shape (n_samples,), default=None
        The true labels of the samples.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    samples_ : ndarray of int of shape (n_samples, 1)
        Indices of the samples, which are passed in place of features.
    labels_ : ndarray of shape (n_samples,)
        True labels of the samples, if they were given.

    Examples
    --------
    >>> given = LeftOutProbabilities(np.array([[0.2, 0.8], [0.7, 0.3]]), np.array(["a", "b"]))
    >>> given.predict([[1], [0], [1]])
    array(['a', 'b', 'a'], dtype='<U1')
    """

    probabilities: Array
    classes: Array
    samples: NDArray[np.intp] | None = None
    labels: Array | None = None

    def fit(self, X: Table, y: PerSample = None) -> Self:
        """Return the classifier unchanged.

        Parameters
        ----------
        X, y : object
            Ignored.
        """
        return self

    @property
    def classes_(self) -> Array:
        """The labels."""
        return self.classes

    @property
    def samples_(self) -> NDArray[np.intp]:
        """Indices of the samples that have probabilities."""
        samples = np.arange(len(self.probabilities)) if self.samples is None else self.samples
        return samples[:, None]

    @property
    def labels_(self) -> Array:
        """The true labels of the samples that have probabilities."""
        if self.labels is None:
            raise AttributeError("No true labels were given.")
        return self.labels

    def predict_proba(self, X: Table) -> Array:
        """Return the probabilities of samples.

        Parameters
        ----------
        X : array-like of int of shape (n_rows, 1)
            Indices of samples.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)

        Raises
        ------
        ValueError
            If X contains anything but indices of samples that have probabilities.
        """
        known, wanted = self.samples_[:, 0], np.asarray(X)
        if wanted.dtype.kind in "iu" and wanted.size == len(wanted):
            at = np.minimum(np.searchsorted(known, wanted.ravel()), len(known) - 1)
            if np.array_equal(known[at], wanted.ravel()):
                return np.asarray(self.probabilities[at])
        raise ValueError(
            "Probabilities of left-out samples are known only for the numbers in `samples_`. "
            "Predict new samples with the fitted classifier, or for a threshold with "
            "FixedThresholdClassifier(classifier, threshold=...)."
        )

    def predict(self, X: Table) -> Array:
        """Return the labels with the largest probabilities, shape (n_rows,).

        Parameters
        ----------
        X : array-like of int of shape (n_rows, 1)
            Indices of samples.
        """
        return np.asarray(self.classes[self.predict_proba(X).argmax(axis=1)])


@dataclass(frozen=True)
class PredictionScorer:
    """A scorer of scikit-learn that is applied to predictions.

    Attributes
    ----------
    scorer : callable
        A scorer with the signature of scikit-learn's scorers: estimator, X, y.
    """

    scorer: Callable[..., float]

    def __call__(
        self, y: Array, predictions: Array, weights: SampleWeights, classes: Array | None = None
    ) -> float:
        """Return the score of predictions; larger is better.

        Parameters
        ----------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        predictions : ndarray of shape (n_samples,) or (n_samples, n_columns)
            Responses, or probabilities of the classes.
        weights : SampleWeights
            Weights, passed to the scorer unless all are one or the scorer takes no weights.
        classes : ndarray of shape (n_classes,), default=None
            The labels, sorted. Classes whose probability is zero for all samples are omitted.

        Returns
        -------
        float
            NaN if the scorer returns NaN.

        Raises
        ------
        ValueError, TypeError, AttributeError
            If the scorer does not accept the predictions.

        Examples
        --------
        >>> from mercer._data.weights import UnitWeights
        >>> scorer = prediction_scorer("neg_mean_absolute_error")
        >>> scorer(np.array([1.0, 2.0]), np.array([1.0, 4.0]), UnitWeights(2))
        -1.0
        """
        given: LeftOutResponses | LeftOutProbabilities = LeftOutResponses(predictions)
        if classes is not None:
            possible = predictions.any(axis=0)
            given = LeftOutProbabilities(predictions[:, possible], classes[possible])
        known = {}
        if weights.given is not None and self._takes_weights:
            known["sample_weight"] = weights.values
        rows = np.arange(len(y))[:, None]
        with catch_warnings():
            # The precision of a class that is never predicted counts as zero.
            simplefilter("ignore", UndefinedMetricWarning)
            return float(self.scorer(given, rows, y, **known))

    @property
    def compares_samples(self) -> bool:
        """Whether the score is a mean over pairs of samples, as the area under the ROC curve is."""
        return getattr(self.scorer, "_score_func", None) is roc_auc_score

    @property
    def _takes_weights(self) -> bool:
        # Scorers of scikit-learn pass weights on to their metrics, whose signatures are inspected.
        metric = getattr(self.scorer, "_score_func", self.scorer)
        return "sample_weight" in signature(metric).parameters


def prediction_scorer(scoring: Scoring) -> PredictionScorer:
    """Return the scorer for a name or a callable.

    Raises
    ------
    ValueError
        If there is no scorer of this name, or `scoring` is a metric or several scorers.

    Examples
    --------
    >>> prediction_scorer("roc_auc").scorer
    make_scorer(roc_auc_score, response_method=('decision_function', 'predict_proba'))
    """
    return PredictionScorer(check_scoring(scoring=get_scorer(scoring)))


def checked_scorer(
    scoring: Scoring, y: Array, weights: SampleWeights, classes: Array | None = None
) -> PredictionScorer:
    """Return the scorer after checking that it can score the true values as predictions.

    Parameters
    ----------
    scoring : str or callable
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Labels, or responses.
    weights : SampleWeights
    classes : ndarray of shape (n_classes,), default=None
        The labels, sorted; None for responses.

    Raises
    ------
    ValueError
        If the scorer does not suit the target.

    Examples
    --------
    >>> from mercer._data.weights import UnitWeights
    >>> scorer = checked_scorer("r2", np.array([1.0, 2.0]), UnitWeights(2))
    """
    scorer, known = prediction_scorer(scoring), np.asarray(y)
    try:
        true = known if classes is None else (known[:, None] == classes).astype(float)
        scorer(known, true, weights, classes)
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"scoring={scoring!r} does not suit this target: {error}") from error
    return scorer
