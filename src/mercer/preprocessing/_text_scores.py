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
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from mercer._data.types import Array, Features, RandomState
from mercer.preprocessing._conversion import convert

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
    models_ : list of Pipeline or None
        For each column, the fitted `TfidfVectorizer` and `Ridge` of the words, and those of the
        letter sequences; None if there are none.
    n_outputs_ : int
        Number of scores of each: one for each class if there are more than two.
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
        pairs = [_fitted(kind, texts, targets, splits) for texts in columns for kind in _KINDS]
        self.models_ = [model for model, _ in pairs]
        self.n_features_in_, self.n_outputs_ = len(columns), targets.shape[1]
        return np.hstack([left_out for _, left_out in pairs])

    def _targets(self, y: Array) -> Array:
        """Return the standardized response or class indicators; two classes have one indicator."""
        values: Array = y.astype(float)[:, None] if not self.classification else np.empty(0)
        if self.classification:
            classes = np.unique(y)
            values = (y[:, None] == (classes[1:] if len(classes) == 2 else classes)).astype(float)
        scale = values.std(axis=0)
        return np.asarray((values - values.mean(axis=0)) / np.where(scale > 0.0, scale, 1.0))

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
        texts = [own for own in _texts_of(X) for _ in _KINDS]
        zeros = np.zeros((len(X), self.n_outputs_))
        scores = [
            zeros if model is None else model.predict(own).reshape(zeros.shape)
            for model, own in zip(self.models_, texts, strict=True)
        ]
        return np.hstack(scores)

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


def _fitted(
    kind: str, texts: list[str], targets: Array, splits: Sequence[tuple[Array, Array]]
) -> tuple[Pipeline | None, Array]:
    """Fit to one kind of terms of a column, and return out-of-fold predictions as well."""
    vectorizer = TfidfVectorizer(sublinear_tf=True, max_features=_MOST_TERMS, **_KINDS[kind])
    left_out = np.zeros_like(targets)
    try:
        counts = vectorizer.fit_transform(texts)
    except ValueError:  # There are no words.
        return None, left_out
    best, held_out = np.inf, np.unique(np.concatenate([test for _, test in splits]))
    for alpha in _ALPHAS:
        ridge = Ridge(alpha, solver="sparse_cg", tol=1e-3)
        predicted = np.zeros_like(targets)
        for train, test in splits:
            ridge.fit(counts[train], targets[train])
            predicted[test] = ridge.predict(counts[test]).reshape(len(test), -1)
        if (loss := float(np.square(predicted - targets)[held_out].mean())) < best:
            best, chosen, left_out = loss, ridge, predicted
    return make_pipeline(vectorizer, chosen.fit(counts, targets)), left_out


def _texts_of(X: Features, longest: int = 1000) -> list[list[str]]:
    """Return the text of each column, truncated to bound time and memory, and empty if missing."""
    cells = convert(X, "text")
    return [[cell[:longest] if isinstance(cell, str) else "" for cell in c] for c in cells.T]
