"""ONNX operators of the views of a table, on which the kernels of stacks are evaluated."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from scipy.special import ndtri
from sklearn.preprocessing._data import BOUNDS_THRESHOLD

from mercer._data.types import Array
from mercer._estimators.stacking.table_views import SeveralViews, TableViews
from mercer._files.deployment.onnx_tensors import Traced, joined, where
from mercer.preprocessing import SoftClippingScaler
from mercer.preprocessing._filled_values import FilledValues
from mercer.preprocessing._soft_clipping import _soft_clipped

_LEAST = 1e-4
"""Probabilities below this have normal quantiles below -3, at which the view of quantiles ends."""


def views_of_table(views_of: SeveralViews, table: Traced) -> dict[Any, Traced]:
    """Return the views of a stack's table."""
    views, found = views_of.views, {"given": table}
    if views.is_sparse:
        found["scaled"] = table / views._scaler.scale_
    else:
        found["scaled"] = soft_clipped(views._scaler, table)
        most = views.largest_unclipped
        found["unclipped"] = _standardized(views._scaler, _centered(views._scaler, table)).clip(
            -most, most
        )
    if "gaps" in views_of.names and views.filled is not None:
        found["gaps"] = _with_gaps(views.filled, table)
    if "quantiles" in views_of.names:
        found["quantiles"] = _quantiles(views, found["scaled"])
    return {name: found[name] for name in views_of.names}


def _with_gaps(filled: FilledValues, table: Traced) -> Traced:
    """Return the table with missing values in place of filled ones."""
    columns = np.arange(table.shape[1])
    zeros = np.isin(columns, [*filled.marks, *filled.opposites])
    own_marks = columns.copy()
    own_marks[filled.values] = filled.marks
    is_missing = (table.take(own_marks) > 0.5) & np.isin(columns, filled.values)
    return where(is_missing, np.nan, table * (1.0 - zeros))


def soft_clipped(step: SoftClippingScaler, table: Traced) -> Traced:
    """Return scaled columns, which grow logarithmically beyond their thresholds."""
    clipped: Any = _soft_clipped(_centered(step, table), step.thresholds_)
    return _standardized(step, clipped)


def _centered(step: SoftClippingScaler, table: Traced) -> Traced:
    return (table - step.center_) / step.scale_


def _standardized(step: SoftClippingScaler, z: Traced) -> Traced:
    return (z - step.mean_) / step.std_


def _quantiles(views: TableViews, scaled: Traced) -> Traced:
    """Return normal quantiles of columns with many values; the other columns are only scaled."""
    assert views._quantiles is not None
    knots, most = views._quantiles.quantiles_, views.largest_quantile
    x = scaled.take(views._many)
    levels = interpolated(x, knots, views._quantiles.references_)
    levels = where(x + BOUNDS_THRESHOLD > knots[-1], 1.0, levels)
    levels = where(x - BOUNDS_THRESHOLD < knots[0], 0.0, levels)
    normal = normal_quantile(levels).clip(-most, most)
    own = (normal - views._quantile_means) / views._quantile_deviations
    # Each column of the view holds normal quantiles, or is the scaled column.
    rest = np.setdiff1d(np.arange(scaled.shape[1]), views._many)
    order = np.argsort(np.concatenate([views._many, rest]))
    return joined([own, scaled.take(rest)]).take(order) if rest.size else own


def interpolated(x: Traced, knots: Array, levels: Array) -> Traced:
    """Interpolate levels between knots; at equal knots, the result is their mean level.

    Parameters
    ----------
    x : Tensor
        Shape (n_rows, n_columns).
    knots : ndarray of shape (n_knots, n_columns)
        In ascending order.
    levels : ndarray of shape (n_knots,)
        In ascending order, starting at zero.
    """
    widths = np.diff(knots, axis=0).T
    # Each interval below a value adds its increment. One of zero width adds half at its knot.
    is_point = widths == 0.0
    of_knots = x.graph.add("Unsqueeze", x, [2], shape=(*x.shape, 1))
    passed = (of_knots - knots[:-1].T) / np.where(is_point, np.finfo(float).tiny, widths)
    return (passed + 0.5 * is_point).clip(0.0, 1.0) @ np.diff(levels)


def normal_quantile(p: Traced, degree: int = 24) -> Traced:
    """Return standard normal quantiles of probabilities, clipped at `_LEAST` from 0 and 1.

    For p below one half, the quantile is approximated by a polynomial in the square root of -log p,
    with an error below 1e-13.
    """
    ends = np.sqrt(-np.log([0.5, _LEAST]))
    fit = Chebyshev.interpolate(lambda root: ndtri(np.exp(-(root**2))), degree, ends)
    first, *others = fit.convert(domain=ends, kind=Polynomial).coef[::-1]
    root = np.sqrt(-np.log(np.maximum(np.minimum(p, 1.0 - p), _LEAST)))
    x = (root - ends.mean()) / (0.5 * np.ptp(ends))
    found: Any = first
    for coefficient in others:
        found = found * x + coefficient
    return np.sign(0.5 - p) * found
