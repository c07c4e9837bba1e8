"""A kernel for the columns of a table, chosen by their contents."""

from typing import Literal

import numpy as np

from mercer._data.types import Features
from mercer._data.validation import check_choice
from mercer.kernels._categorical import Categorical
from mercer.kernels._composition import Product, WeightedSum
from mercer.kernels._exponential_power import Laplacian
from mercer.kernels._kernel import Kernel
from mercer.kernels._missing import Missing
from mercer.kernels._on_columns import OnColumns
from mercer.kernels._ordinal import Ordinal
from mercer.kernels._radial import Stationary
from mercer.preprocessing._column_encoder import Orders, column_encoder, columns_by_kind


def kernels_for(
    table: Features,
    ordered: Orders | None = None,
    *,
    combine: Literal["product", "sum"] = "product",
) -> Kernel:
    """Choose a kernel for a table of mixed types, from the contents of its columns.

    Numbers, dates and durations get a :class:`Laplacian` of absolute differences, ordered
    categories :class:`Ordinal`, and other categories :class:`Categorical`, each with one width per
    column. The kernels of numbers and ordered categories with missing values are wrapped in
    :class:`Missing`; missing categories are categories of their own.

    Parameters
    ----------
    table : data frame or array of shape (n_samples, n_features)
        The table before it is encoded.
    ordered : mapping, default=None
        Maps names or positions of columns to their categories, in their order.
    combine : {"product", "sum"}, default="product"
        A product suits functions of all columns together, and a sum suits sums of functions of
        single columns.

    Returns
    -------
    Product or WeightedSum
        A kernel on the table as it is encoded by ``column_encoder(table, ordered)``.

    Raises
    ------
    ValueError
        If no column can be used, or if `ordered` names an absent column.

    See Also
    --------
    mercer.preprocessing.column_encoder : The encoder of the table.

    Notes
    -----
    On four tables of categories, :class:`mercer.KernelStackingClassifier` on the one-hot columns of
    :func:`mercer.preprocessing.table_encoder` has the lowest error, or an error within one standard
    error of it.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer import EvidenceMaximization, TwoStageClassifier
    >>> from mercer.kernels import kernels_for
    >>> from mercer.preprocessing import column_encoder
    >>> table = pd.DataFrame(
    ...     {"age": [20, 31, None, 60, 45, 52], "job": ["a", "b", "a", "c", "b", None]}
    ... )
    >>> kernel = kernels_for(table)
    >>> kernel.describe()
    '(Laplacian, norm 1, width 1, missing values at 0.368 on [0]) x (Categorical, width 1 on [1])'
    >>> learner, encoder = EvidenceMaximization(kernel), column_encoder(table)
    >>> model = TwoStageClassifier(learner, C=1.0, encoder=encoder)
    >>> model.fit(table, [0, 0, 0, 1, 1, 1]).predict(table).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    check_choice("combine", combine, ("product", "sum"))
    names, _ = columns_by_kind(table, ordered)
    encoded = column_encoder(table, ordered).set_output(transform="default").fit_transform(table)
    missing = np.isnan(encoded).any(axis=0)
    parts, start = list[Kernel](), 0
    for kind, kernel in _KERNELS.items():
        columns = list(range(start, start + len(names[kind])))
        start += len(columns)
        wrapped = [] if kernel.accepts_missing else [z for z in columns if missing[z]]
        alone = columns if combine == "sum" else wrapped
        if together := [z for z in columns if z not in alone]:
            parts.append(OnColumns(kernel._replaced(ard=True), together))
        parts += [OnColumns(Missing(kernel) if z in wrapped else kernel, [z]) for z in alone]
    return Product(parts) if combine == "product" else WeightedSum(parts, np.ones(len(parts)))


_KERNELS: dict[str, Stationary] = {
    "number": Laplacian(norm=1.0),
    "date": Laplacian(norm=1.0),
    "ordered": Ordinal(),
    "category": Categorical(),
}
"""The kernel of each kind of columns, in the order of the encoder."""
