"""Mapping from the columns of an encoded table to the columns that they are computed from."""

from copy import copy
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, TargetEncoder

from mercer.preprocessing._circles import Circles
from mercer.preprocessing._letter_codes import LetterCodes
from mercer.preprocessing._text_scores import TextScores

_BY_COLUMN = (
    *(OneToOneFeatureMixin, SelectorMixin, SimpleImputer, OneHotEncoder, TargetEncoder),
    *(FunctionTransformer, Circles, LetterCodes, TextScores),
)
"""Transformers that handle each column by itself, whose outputs have names that begin with the name
of the column, or end with it."""


@singledispatch
def encoded_columns(transformer: TransformerMixin, n_columns: int) -> NDArray[np.intp]:
    """Return the position of the column that each output of a transformer is computed from.

    Parameters
    ----------
    transformer : fitted transformer, "passthrough" or "drop"
        `table_encoder`, a transformer of scikit-learn that handles each column by itself, or a
        `Pipeline`, `FeatureUnion` or `ColumnTransformer` of these.
    n_columns : int
        Number of input columns.

    Returns
    -------
    ndarray of int of shape (n_outputs,)
        Positions of input columns.

    Raises
    ------
    TypeError
        If a transformer is not known to handle each column by itself, such as one that computes
        principal components.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.preprocessing import table_encoder
    >>> X = np.array([[1.0, "a"], [2.0, "b"], [np.nan, "a"]], dtype=object)
    >>> encoded_columns(table_encoder().fit(X), 2)
    array([0, 0, 1, 1])
    """
    if transformer is None or isinstance(transformer, str):
        return np.arange(0 if transformer == "drop" else n_columns)
    if hasattr(transformer, "output_to_input_"):  # skrub's `TableVectorizer` has it.
        names = getattr(transformer, "feature_names_in_", [f"x{z}" for z in range(n_columns)])
        places = {name: place for place, name in enumerate(names)}
        sources = map(transformer.output_to_input_.get, transformer.all_outputs_)
        return np.array([places[name] for name in sources], dtype=np.intp)
    if hasattr(transformer, "__single_column_transformer__"):  # Those of skrub have this mark.
        return np.zeros(len(transformer.get_feature_names_out()), dtype=np.intp)
    names = getattr(transformer, "feature_names_out", "one-to-one")
    if not isinstance(transformer, _BY_COLUMN) or names != "one-to-one":
        raise TypeError(
            f"{type(transformer).__name__} is not known to handle each column by itself, so that "
            "predictions cannot be explained by the columns before it. Explain the estimator after "
            "it by its outputs: pass model[-1] and model[:-1].transform(X)."
        )
    return _by_names(transformer, n_columns)


@encoded_columns.register
def _of_steps(transformer: Pipeline, n_columns: int) -> NDArray[np.intp]:
    found = np.arange(n_columns)
    for _, step in transformer.steps:
        found = found[encoded_columns(step, len(found))]
    return found


@encoded_columns.register
def _of_union(transformer: FeatureUnion, n_columns: int) -> NDArray[np.intp]:
    parts = [encoded_columns(part, n_columns) for _, part in transformer.transformer_list]
    return np.concatenate(parts)


@encoded_columns.register
def _of_parts(transformer: ColumnTransformer, _: int) -> NDArray[np.intp]:
    ends = [part.stop for part in transformer.output_indices_.values()]
    found = np.zeros(max(ends, default=0), dtype=np.intp)
    for name, step, _ in transformer.transformers_:
        part = transformer.output_indices_[name]
        if part.stop > part.start:
            columns = np.asarray(transformer._transformer_to_input_indices[name], dtype=np.intp)
            is_one = len(columns) == 1  # All outputs are computed from it.
            found[part] = columns[0] if is_one else columns[encoded_columns(step, len(columns))]
    return found


def _by_names(transformer: TransformerMixin, n_columns: int) -> NDArray[np.intp]:
    """Give columns names that are numbers, and find these in the names of the outputs."""
    unnamed = copy(transformer)
    vars(unnamed).pop("feature_names_in_", None)
    outputs = unnamed.get_feature_names_out([f"<{place}>" for place in range(n_columns)])
    places = [name.removeprefix("missingindicator_").partition(">")[0] for name in outputs]
    return np.array([int(place.removeprefix("<")) for place in places], dtype=np.intp)
