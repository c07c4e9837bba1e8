"""Encoding of text by predictions of the target from words and from letter sequences."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from mercer._data.types import Array, Features, RandomState
from mercer.preprocessing._column_kinds import as_categories

_KINDS: dict[str, dict[str, Any]] = {
    "words": {"ngram_range": (1, 2), "token_pattern": r"(?u)\b\w+\b"},
    "letters": {"analyzer": "char_wb", "ngram_range": (2, 5), "min_df": 2},
}
"""Terms that are counted: words and pairs of words, or sequences of letters within words."""

_ALPHAS = (0.1, 0.3, 1.0, 3.0)
"""Penalties of ridge regression that are compared."""

_MOST_TERMS = 50_000
"""Largest number of terms; rarer words and sequences of letters are not counted."""


class TextScores(TransformerMixin, BaseEstimator):
    """Turn text into numbers that predict the target, from its words and its letter sequences.

    Words and letter sequences are weighted by TF-IDF. Ridge regression on the words, and another on
    the letter sequences, predicts the standardized response, or an indicator of each class. The
    training rows are represented by out-of-fold predictions, as in
    `sklearn.preprocessing.TargetEncoder`, so that their targets do not leak into their features.
    Missing text is empty text.

    Parameters
    ----------
    classification : bool, default=False
        Whether the target holds classes.
    cv : int or splitter, default=5
        Number of folds of the training rows, or a splitter that needs no groups, such as
        `PredefinedSplit` with folds of whole groups. Each fold is predicted by a fit to its
        training rows. Rows that are never held out, such as the first ones of `TimeSeriesSplit`,
        get the mean.
    random_state : int, RandomState instance or None, default=0
        Controls the division of the rows into folds, if `cv` is a number.

    Attributes
    ----------
    terms_ : list of list of str
        For each column, the words that are counted, and then the letter sequences.
    idf_ : list of ndarray of shape (n_terms,)
        Inverse document frequencies of the terms.
    coef_ : list of ndarray of shape (n_terms, n_outputs)
    intercept_ : list of ndarray of shape (n_outputs,)
    n_features_in_ : int

    See Also
    --------
    table_encoder : Its encoder of text needs no target.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.preprocessing import TextScores
    >>> said = np.array([["very good"], ["a good one"], ["rather bad"], ["bad, bad"]] * 5)
    >>> scores = TextScores(classification=True).fit(said, [1, 1, 0, 0] * 5).transform(said)
    >>> scores.shape, bool(scores[0, 0] > 0.0 > scores[3, 0])
    ((20, 2), True)
    """

    def __init__(
        self, classification: bool = False, *, cv: Any = 5, random_state: RandomState = 0
    ) -> None:
        self.classification = classification
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Features, y: npt.ArrayLike) -> Self:
        """Fit the ridge regressions to all rows.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)
            Text.
        y : array-like of shape (n_samples,)
            Classes or responses.

        Returns
        -------
        TextScores
            The fitted transformer.
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Features, y: npt.ArrayLike) -> Array:
        """Fit to all rows, and return their out-of-fold predictions.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
        """
        targets, columns = self._targets(np.asarray(y)), _texts_of(X)
        folds = self.cv
        if isinstance(folds, Integral):
            folds = KFold(
                min(int(folds), len(targets)), shuffle=True, random_state=self.random_state
            )
        splits = list(folds.split(targets))
        self.terms_: list[list[str]] = []
        self.idf_: list[Array] = []
        self.coef_: list[Array] = []
        self.intercept_: list[Array] = []
        found = [np.empty((len(targets), 0))]
        for texts in columns:
            for kind in _KINDS:
                found.append(self._fit_kind(kind, texts, targets, splits))
        self.n_features_in_, self.n_outputs_ = len(columns), targets.shape[1]
        return np.hstack(found)

    def _targets(self, y: Array) -> Array:
        """Return the standardized response or class indicators; two classes have one indicator."""
        values: Array = y.astype(float)[:, None] if not self.classification else np.empty(0)
        if self.classification:
            classes = np.unique(y)
            values = (y[:, None] == (classes[1:] if len(classes) == 2 else classes)).astype(float)
        scale = values.std(axis=0)
        return np.asarray((values - values.mean(axis=0)) / np.where(scale > 0.0, scale, 1.0))

    def _fit_kind(
        self, kind: str, texts: list[str], targets: Array, splits: Sequence[tuple[Array, Array]]
    ) -> Array:
        """Fit to one kind of terms of a column, and return out-of-fold predictions."""
        vectorizer = _vectorizer(kind, max_features=_MOST_TERMS)
        try:
            counts = vectorizer.fit_transform(texts)
        except ValueError:  # There are no words.
            self.terms_.append([])
            self.idf_.append(np.empty(0))
            self.coef_.append(np.empty((0, targets.shape[1])))
            self.intercept_.append(np.zeros(targets.shape[1]))
            return np.zeros_like(targets)
        best, held_out = np.inf, np.unique(np.concatenate([test for _, test in splits]))
        for alpha in _ALPHAS:
            ridge = Ridge(alpha, solver="sparse_cg", tol=1e-3)
            predicted = np.zeros_like(targets)
            for train, test in splits:
                fitted = ridge.fit(counts[train], targets[train])
                predicted[test] = fitted.predict(counts[test]).reshape(len(test), -1)
            if (loss := float(np.square(predicted - targets)[held_out].mean())) < best:
                best, chosen, left_out = loss, ridge, predicted
        chosen.fit(counts, targets)
        # A saved model needs only arrays and lists.
        self.terms_.append([str(term) for term in vectorizer.get_feature_names_out()])
        self.idf_.append(np.asarray(vectorizer.idf_))
        self.coef_.append(np.asarray(chosen.coef_).reshape(targets.shape[1], -1).T)
        self.intercept_.append(np.broadcast_to(chosen.intercept_, targets.shape[1:]).copy())
        return np.asarray(left_out)

    def transform(self, X: Features) -> Array:
        """Return predictions for new rows.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
        """
        check_is_fitted(self)
        pairs = [(kind, texts) for texts in _texts_of(X) for kind in _KINDS]
        fitted = zip(pairs, self.terms_, self.idf_, self.coef_, self.intercept_, strict=True)
        found = [np.empty((len(X), 0))]
        for (kind, texts), terms, idf, coef, intercept in fitted:
            part = np.tile(intercept, (len(X), 1))
            if terms:
                vectorizer = _vectorizer(kind, vocabulary=terms)
                vectorizer.idf_ = idf
                part += vectorizer.transform(texts) @ coef
            found.append(part)
        return np.hstack(found)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Array:
        """Return the names of the features.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns; x0, x1, ... by default.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        columns = _check_feature_names_in(self, input_features)
        numbers = [""] if self.n_outputs_ == 1 else [f"_{k}" for k in range(self.n_outputs_)]
        names = [f"{n}_{kind}{k}" for n in columns for kind in _KINDS for k in numbers]
        return np.asarray(names, dtype=object)


def _vectorizer(kind: str, **settings: object) -> TfidfVectorizer:
    return TfidfVectorizer(sublinear_tf=True, dtype=np.float64, **_KINDS[kind], **settings)


def _texts_of(X: Features, longest: int = 1000) -> list[list[str]]:
    """Return the text of each column, truncated to bound time and memory, and empty if missing."""
    cells = as_categories(X)
    return [[cell[:longest] if isinstance(cell, str) else "" for cell in c] for c in cells.T]
