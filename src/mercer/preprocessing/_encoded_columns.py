"""Mapping from the columns of an encoded table to the columns that they are computed from."""

from functools import singledispatch

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, TargetEncoder

from mercer.preprocessing._circles import Circles
from mercer.preprocessing._letter_codes import LetterCodes
from mercer.preprocessing._text_scores import TextScores


def encoded_columns(transformer: TransformerMixin, n_columns: int) -> NDArray[np.intp]:
    """Return the position of the column that each output of a transformer is computed from.

    Parameters
    ----------
    transformer : fitted transformer, "passthrough" or "drop"
        `table_encoder`, a transformer of scikit-learn that handles each column by itself, or a
        `Pipeline` or `ColumnTransformer` of these.
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
    if isinstance(transformer, str):
        return np.arange(n_columns if transformer == "passthrough" else 0)
    return _encoded(transformer, n_columns)


@singledispatch
def _encoded(transformer: TransformerMixin, n_columns: int) -> NDArray[np.intp]:
    if hasattr(transformer, "__single_column_transformer__"):  # Those of skrub have this mark.
        return np.zeros(len(transformer.get_feature_names_out()), dtype=np.intp)
    if hasattr(transformer, "output_to_input_"):  # So have those that skrub applies to each column.
        names = getattr(transformer, "feature_names_in_", [f"x{z}" for z in range(n_columns)])
        places = {name: place for place, name in enumerate(names)}
        sources = map(transformer.output_to_input_.get, transformer.all_outputs_)
        return np.array([places[name] for name in sources], dtype=np.intp)
    raise TypeError(
        f"{type(transformer).__name__} is not known to handle each column by itself, so that "
        "predictions cannot be explained by the columns before it. Explain the estimator after it "
        "by its outputs: pass model[-1] and model[:-1].transform(X)."
    )


@_encoded.register(OneToOneFeatureMixin)
def _(transformer: TransformerMixin, n_columns: int) -> NDArray[np.intp]:
    return np.arange(n_columns)


@_encoded.register
def _(transformer: FunctionTransformer, n_columns: int) -> NDArray[np.intp]:
    if transformer.func is not None and transformer.feature_names_out != "one-to-one":
        return _encoded.dispatch(object)(transformer, n_columns)
    return np.arange(n_columns)


@_encoded.register
def _(transformer: Pipeline, n_columns: int) -> NDArray[np.intp]:
    found = np.arange(n_columns)
    for _, step in transformer.steps:
        found = found[encoded_columns("passthrough" if step is None else step, len(found))]
    return found


@_encoded.register
def _(transformer: ColumnTransformer, n_columns: int) -> NDArray[np.intp]:
    ends = [part.stop for part in transformer.output_indices_.values()]
    found = np.zeros(max(ends, default=0), dtype=np.intp)
    for name, step, _ in transformer.transformers_:
        part = transformer.output_indices_[name]
        if part.stop > part.start:
            columns = np.asarray(transformer._transformer_to_input_indices[name], dtype=np.intp)
            found[part] = columns[encoded_columns(step, len(columns))]
    return found


@_encoded.register
def _(transformer: SimpleImputer, n_columns: int) -> NDArray[np.intp]:
    """Columns without any known value are left out; indicators of missing values follow."""
    known = np.array([value == value for value in transformer.statistics_])  # noqa: PLR0124
    kept = np.flatnonzero(known | bool(transformer.keep_empty_features))
    marked = transformer.indicator_.features_ if transformer.add_indicator else []
    return np.concatenate([kept, np.asarray(marked, dtype=np.intp)])


@_encoded.register
def _(transformer: OneHotEncoder, n_columns: int) -> NDArray[np.intp]:
    rare = transformer.infrequent_categories_ if transformer._infrequent_enabled else None
    counts = []
    for column, categories in enumerate(transformer.categories_):
        count = len(categories)
        if rare is not None and rare[column] is not None:
            count += 1 - len(rare[column])
        if transformer.drop_idx_ is not None and transformer.drop_idx_[column] is not None:
            count -= 1
        counts.append(count)
    return np.repeat(np.arange(n_columns), counts)


@_encoded.register
def _(transformer: TargetEncoder, n_columns: int) -> NDArray[np.intp]:
    """With more than two classes, each column becomes one column per class."""
    return np.repeat(np.arange(n_columns), len(transformer.encodings_) // n_columns)


@_encoded.register(SelectorMixin)
def _(transformer: TransformerMixin, n_columns: int) -> NDArray[np.intp]:
    return np.flatnonzero(transformer.get_support())


@_encoded.register
def _(transformer: Circles, n_columns: int) -> NDArray[np.intp]:
    seconds = np.zeros(2 * len(transformer.cycles_), dtype=np.intp)
    return np.concatenate([seconds, transformer.others_])


@_encoded.register
def _(transformer: LetterCodes, n_columns: int) -> NDArray[np.intp]:
    return np.zeros(transformer.length_, dtype=np.intp)


@_encoded.register
def _(transformer: TextScores, n_columns: int) -> NDArray[np.intp]:
    return np.repeat(
        np.arange(n_columns), len(transformer.coef_) // n_columns * transformer.n_outputs_
    )
