"""Encoding of free text by the letters that its words share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from mercer._typing import Array, Features
from mercer.preprocessing._columns import as_categories

_GRAMS = (3, 4)
"""Lengths of the sequences of letters that are counted."""

_MAX_GRAMS = 4000
"""At most this many sequences are counted, the most frequent ones."""

_MAX_LENGTH = 1000
"""Only this many characters of a text are read, which bounds time and memory."""


class TextFeatures(TransformerMixin, BaseEstimator):
    """Represent text by the main directions of its counts of letter sequences.

    Sequences of three and four letters within words are counted, weighted by TF-IDF and projected
    on the leading singular vectors of the training rows (latent semantic analysis), as skrub's
    ``StringEncoder`` does [1]_. The features of a column have a total variance of one, as much as
    a standardized number. Missing text is empty text.

    Parameters
    ----------
    n_components : int, default=30
        The largest number of features of a column.

    Attributes
    ----------
    sequences_ : list of list of str
        For each column, the sequences of letters that are counted.
    idf_ : list of ndarray of shape (n_sequences,)
        Their inverse document frequencies.
    directions_ : list of ndarray of shape (n_sequences, n_directions)
        The leading singular vectors, scaled.
    n_features_in_ : int

    References
    ----------
    .. [1] skrub, ``StringEncoder``,
       https://skrub-data.org/stable/reference/generated/skrub.StringEncoder.html

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.preprocessing._text_features import TextFeatures
    >>> said = np.array([["very good"], ["a good one"], ["rather bad"], ["bad, bad"]])
    >>> features = TextFeatures(n_components=2).fit_transform(said)
    >>> bool(features[0] @ features[1] > features[0] @ features[3])
    True
    """

    def __init__(self, n_components: int = 30) -> None:
        self.n_components = n_components

    def fit(self, X: Features, y: Any = None) -> Self:
        """Find the main directions.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)
            Text.
        y : None
            Ignored.
        """
        found = [_fit_column(texts, self.n_components) for texts in _texts(X)]
        # Arrays and lists are all that a saved model needs.
        self.sequences_ = [sequences for sequences, _, _ in found]
        self.idf_ = [idf for _, idf, _ in found]
        self.directions_ = [directions for _, _, directions in found]
        self.n_features_in_ = len(found)
        return self

    def transform(self, X: Features) -> Array:
        """Project text on the main directions.

        Parameters
        ----------
        X : data frame or ndarray of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
        """
        check_is_fitted(self)
        parts = [np.empty((len(X), 0))]
        columns = zip(self.sequences_, self.idf_, self.directions_, _texts(X), strict=True)
        for sequences, idf, directions, texts in columns:
            if sequences:
                vectorizer = _vectorizer(vocabulary=sequences)
                vectorizer.idf_ = idf
                parts.append(vectorizer.transform(texts) @ directions)
        return np.hstack(parts)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
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
        input_features = _check_feature_names_in(self, input_features)
        names = [
            f"{name}_text_{direction}"
            for name, directions in zip(input_features, self.directions_, strict=True)
            for direction in range(directions.shape[1])
        ]
        return np.asarray(names, dtype=object)


def _texts(X: Features) -> list[list[str]]:
    """Return the text of each column, empty where it is missing."""
    cells = as_categories(X)
    return [[cell[:_MAX_LENGTH] if isinstance(cell, str) else "" for cell in c] for c in cells.T]


def _vectorizer(**settings: Any) -> TfidfVectorizer:
    return TfidfVectorizer(analyzer="char_wb", ngram_range=_GRAMS, dtype=np.float64, **settings)


def _fit_column(texts: list[str], n_components: int) -> tuple[list[str], Array, Array]:
    """Return the sequences of letters, their inverse document frequencies, and directions."""
    vectorizer = _vectorizer(max_features=_MAX_GRAMS)
    try:
        counts = vectorizer.fit_transform(texts)
    except ValueError:  # There are no words.
        return [], np.empty(0), np.empty((0, 0))
    projection = TruncatedSVD(min(n_components, *counts.shape), random_state=0)
    scale = float(np.sqrt(projection.fit_transform(counts).var(axis=0).sum())) or 1.0
    sequences = [str(name) for name in vectorizer.get_feature_names_out()]
    return sequences, vectorizer.idf_, projection.components_.T / scale
