"""An encoder of text of skrub whose saved state is arrays."""

from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from skrub import StringEncoder

from mercer._data.types import Array


class TextEncoder(StringEncoder):
    """A `skrub.StringEncoder` that is saved as arrays of its terms and components.

    A saved model then holds no vectorizer of scikit-learn, which could read files, and no object
    for each term. The encoder counts letter sequences, with the default settings.

    Parameters
    ----------
    n_components : int, default=30
        See `skrub.StringEncoder`, also for the other parameters.
    vectorizer, ngram_range, analyzer, stop_words, random_state, vocabulary : object
    """

    terms_: Array
    idf_: Array
    components_: Array

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        vectorizer, projection = state.pop("vectorizer_", None), state.pop("tsvd_", None)
        if vectorizer is not None:
            state["terms_"] = vectorizer.get_feature_names_out().astype(str)
            state["idf_"] = vectorizer.idf_
        if projection is not None:
            state["components_"] = projection.components_
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        terms, idf = state.pop("terms_", None), state.pop("idf_", None)
        components = state.pop("components_", None)
        super().__setstate__(state)
        if terms is not None:
            self.vectorizer_ = TfidfVectorizer(
                analyzer="char_wb", ngram_range=(3, 4), vocabulary=np.asarray(terms).tolist()
            )
            self.vectorizer_.idf_ = idf
        if components is not None:
            self.tsvd_ = TruncatedSVD(len(components))
            self.tsvd_.components_ = components
