"""Encoding of tables with one number for each cell, for kernels of single columns."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from mercer._data.types import Features
from mercer.preprocessing._column_converter import ColumnConverter
from mercer.preprocessing._column_kinds import named_columns
from mercer.preprocessing._column_reader import ColumnReader, used_columns
from mercer.preprocessing._conversion import convert
from mercer.preprocessing._soft_clipping import SoftClippingScaler

Orders = Mapping[Any, Sequence[object]]
"""Ordered categories of columns, keyed by the name or position of the column."""


def column_encoder(table: Features, ordered: Orders | None = None) -> Pipeline:
    """Make a transformer that turns each column of a table into one column of numbers.

    Use it with kernels of single columns, which :func:`mercer.kernels.kernels_for` chooses for the
    same table. Missing values remain, as NaN.

    * Numbers are scaled by `SoftClippingScaler`.
    * Dates become days since 1970 by the local clock, and durations days.
    * Ordered categories become their ranks, starting from zero. These are the columns in `ordered`
      alone: files often mark categories as ordered that are not.
    * Text, booleans and other categories become codes in the order of their text, starting from
      zero. Categories that are absent from the training table become -1.
    * Columns without any known value, identifiers and long text are left out.

    The output columns are grouped by kind, in this order.

    Parameters
    ----------
    table : data frame or array of shape (n_samples, n_features)
        The contents of its columns determine how they are encoded; `fit` learns scales and codes.
    ordered : mapping, default=None
        Maps names or positions of columns to their categories, in order.

    Returns
    -------
    Pipeline
        Unfitted. `fit` and `transform` raise `ValueError` if an ordered column has a category that
        is not in its order. The output is an array, or with ``set_output(transform="pandas")`` a
        data frame whose columns keep their names.

    Raises
    ------
    ValueError
        If `ordered` names a column that the table does not have.

    See Also
    --------
    table_encoder : One-hot columns and indicators of missing values, for kernels of all columns.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.preprocessing import column_encoder
    >>> X = np.array([[1.0, "mid"], [2.0, "high"], [np.nan, "low"], [9.0, None]], dtype=object)
    >>> column_encoder(X, ordered={1: ["low", "mid", "high"]}).fit_transform(X).round(2)
    array([[-0.85,  1.  ],
           [-0.55,  2.  ],
           [  nan,  0.  ],
           [ 1.4 ,   nan]])
    """
    names, orders = columns_by_kind(table, ordered)
    categories = [[*order, np.nan] for order in orders]
    codes = {"encoded_missing_value": np.nan}
    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
    category = ColumnConverter("category")
    encoders = {
        "number": make_pipeline(ColumnConverter("number"), SoftClippingScaler()),
        "date": ColumnConverter("date"),
        "ordered": make_pipeline(category, OrdinalEncoder(categories=categories, **codes)),
        "category": make_pipeline(category, OrdinalEncoder(**codes, **unknown)),
    }
    parts = [(kind, encoder, names[kind]) for kind, encoder in encoders.items() if names[kind]]
    columns = ColumnTransformer(parts, sparse_threshold=0.0, verbose_feature_names_out=False)
    return make_pipeline(ColumnReader(), columns)


def columns_by_kind(
    table: Features, ordered: Orders | None = None
) -> tuple[dict[str, list[str | int]], list[list[str]]]:
    """Return names or positions of the encoded columns by kind, and the orders of categories.

    Parameters
    ----------
    table : data frame or array of shape (n_samples, n_features)
    ordered : mapping, default=None

    Returns
    -------
    names : dict of str to list
        The keys are "number", "date", "ordered" and "category".
    orders : list of list of str
        Categories of each ordered column, in order.

    Raises
    ------
    ValueError
        If `ordered` names a column that the table does not have.
    """
    table = ColumnReader().fit_transform(table)
    names = used_columns(table)
    known = dict(named_columns(table))
    orders = ordered or {}
    if unknown := [str(name) for name in orders if name not in known]:
        raise ValueError(f"ordered names columns that are absent: {', '.join(unknown)}.")
    days = [name for name in known if name in (*names["date"], *names["duration"])]
    kinds = {"number": names["number"], "date": days, "category": names["category"]}
    found = {kind: [n for n in own if n not in orders] for kind, own in kinds.items()}
    found["ordered"] = [name for name in known if name in orders]
    levels = [np.asarray(orders[name], dtype=object)[:, None] for name in found["ordered"]]
    return found, [convert(of_column, "text")[:, 0].tolist() for of_column in levels]
