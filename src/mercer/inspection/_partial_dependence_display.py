"""scikit-learn's display of partial dependence, with exact curves of columns of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from mercer._data.types import Array, Table
from mercer._data.validation import check_choice
from mercer.inspection._partial_dependence import PartialDependence, partial_dependence
from mercer.kernels._on_columns import Columns

if TYPE_CHECKING:
    from sklearn.inspection import PartialDependenceDisplay


def partial_dependence_display(
    model: BaseEstimator,
    X: Table,
    features: Columns | Sequence[Columns],
    *,
    kind: Literal["average", "individual", "both"] = "average",
    target: str | int | None = None,
    **kwargs: Any,
) -> PartialDependenceDisplay:
    """Return scikit-learn's display of partial dependence, with the curves of `partial_dependence`.

    Draw it with its method `plot`, whose parameters are scikit-learn's.

    Parameters
    ----------
    model : estimator, Pipeline or search
        See :func:`shapley_values`.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        Rows over which predictions are averaged, and which provide the values of the columns.
    features : int, str, pair of these as a tuple, or list of these
        Columns by name or position. One plot is drawn for each entry of a list. Both columns of a
        pair are numbers or dates, or both are categories.
    kind : {"average", "individual", "both"}, default="average"
        Whether averages over rows, curves of single rows, or both are drawn. For pairs of columns,
        and for categories, only averages are possible.
    target : str or int, default=None
        Class, or position of a response, if there are several.
    **kwargs : dict
        Passed to :func:`partial_dependence`, such as `grid_resolution` and `response_method`.

    Returns
    -------
    sklearn.inspection.PartialDependenceDisplay
        It is not drawn yet.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    ValueError
        If a pair is one of a category and of numbers, or single rows of a pair or of categories are
        requested. If `target` is None although there are several outputs; see also
        :func:`partial_dependence`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mercer import TwoStageRegressor
    >>> from mercer.inspection import partial_dependence_display
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = TwoStageRegressor().fit(X, y)
    >>> display = partial_dependence_display(model, X, ["bmi", ("age", "bp")])
    >>> [ax.get_xlabel() for ax in display.plot(n_cols=2).axes_[0]]
    ['bmi', 'age']
    """
    from sklearn.inspection import PartialDependenceDisplay

    check_choice("kind", kind, ("average", "individual", "both"))
    entries = list(features) if isinstance(features, list | np.ndarray) else [features]
    if not entries:
        raise ValueError("features must hold at least one column or pair of columns.")
    found = [partial_dependence(model, X, entry, **kwargs).of_output(target) for entry in entries]
    for one in found:
        _check_plot(one, kind)
    names = [name for one in found for name in one.features]
    positions = iter(range(len(names)))
    columns = [tuple(next(positions) for _ in one.features) for one in found]
    values = [column for one in found for column in zip(one.kinds, one.data, strict=True)]
    return PartialDependenceDisplay(
        [
            Bunch(average=one.average, individual=one.individual, grid_values=list(one.grid_values))
            for one in found
        ],
        features=columns,
        feature_names=names,
        target_idx=0,
        deciles={z: _deciles(data) for z, (kind, data) in enumerate(values) if kind != "category"},
        kind=kind,
        subsample=50,
        random_state=0,
        is_categorical=[tuple(kind == "category" for kind in one.kinds) for one in found],
    )


def _check_plot(found: PartialDependence, kind: str) -> None:
    are_categories = {name == "category" for name in found.kinds}
    what = " and ".join(map(repr, found.features))
    if len(are_categories) > 1:
        raise ValueError(
            f"{what} are a column of categories and one of numbers or dates, which no picture of "
            "scikit-learn shows: partial_dependence returns their averages."
        )
    if kind != "average" and (len(found.features) > 1 or True in are_categories):
        raise ValueError(
            f"Single rows cannot be drawn for {what}, categories or a pair of columns: pass "
            'kind="average".'
        )


def _deciles(data: Array) -> Array:
    """Return the deciles of known numbers or dates, as values that occur in the column."""
    known = np.sort(data[~np.isnat(data) if data.dtype.kind == "M" else ~np.isnan(data)])
    return np.asarray(known[(np.arange(1, 10) * (len(known) - 1)) // 10])
