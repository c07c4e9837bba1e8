"""Views of a stack's table in ONNX."""

from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from scipy.special import ndtri

from mercer._deployment.onnx_operators import Operators, Tensor
from mercer._deployment.onnx_steps import soft_clipped
from mercer._typing import Array

_TOLERANCE = 1e-7
"""Values this near the smallest and the largest quantile have the levels 0 and 1."""

_LEAST = 1e-4
"""Normal quantiles of smaller probabilities are below -3, where the view of quantiles ends."""


def views_of_table(op: Operators, views_of: Any, table: Tensor) -> dict[Any, Tensor]:
    """Views of a stack's table.

    Parameters
    ----------
    op : Operators
    views_of : SeveralViews
    table : str
    """
    views, found = views_of.views, {"given": table}
    if views.is_sparse:
        found["scaled"] = op("Div", table, views._scaler.scale_)
    elif {"scaled", "quantiles"} & set(views_of.names):
        found["scaled"] = soft_clipped(op, views._scaler, table)
    if "unclipped" in views_of.names:
        found["unclipped"] = _unclipped(op, views, table)
    if "quantiles" in views_of.names:
        found["quantiles"] = _quantiles(op, views, found["scaled"])
    return {name: found[name] for name in views_of.names}


def _unclipped(op: Operators, views: Any, table: Tensor) -> Tensor:
    """Columns in the unit of the scaled ones, without clipping."""
    scaler, most = views._scaler, views.largest_unclipped
    z = op("Div", op("Sub", table, scaler.center_), scaler.scale_)
    z = op("Div", op("Sub", z, scaler.mean_), scaler.std_)
    return op("Clip", z, -most, most)


def _quantiles(op: Operators, views: Any, scaled: Tensor) -> Tensor:
    """Normal quantiles of the columns of many values, the others as they are."""
    knots, most = views._quantiles.quantiles_, views.largest_quantile
    x = op("Gather", scaled, views._many, axis=1)
    levels = interpolated(op, x, knots, views._quantiles.references_)
    above = op("Greater", op("Add", x, _TOLERANCE), knots[-1])
    below = op("Less", op("Sub", x, _TOLERANCE), knots[0])
    levels = op("Where", below, 0.0, op("Where", above, 1.0, levels))
    normal = op("Clip", normal_quantile(op, levels), -most, most)
    own = op("Div", op("Sub", normal, views._quantile_means), views._quantile_deviations)
    # A column of the view is its normal quantiles, or the scaled column.
    rest = np.setdiff1d(np.arange(views._scaler.n_features_in_), views._many)
    order = np.argsort(np.concatenate([views._many, rest]))
    return op("Gather", op.joined([own, op("Gather", scaled, rest, axis=1)]), order, axis=1)


def interpolated(op: Operators, x: Tensor, knots: Array, levels: Array) -> Tensor:
    """Levels of values between knots; at equal knots, the mean of their levels.

    Parameters
    ----------
    op : Operators
    x : str
        Shape (n_rows, n_columns).
    knots : ndarray of shape (n_knots, n_columns)
        In ascending order.
    levels : ndarray of shape (n_knots,)
        In ascending order, from zero on.
    """
    widths = np.diff(knots, axis=0).T
    # Each interval that is passed adds its part; one of no width half of it at its place.
    is_point = widths == 0.0
    passed = op("Sub", op("Unsqueeze", x, np.array([2])), knots[:-1].T)
    passed = op("Div", passed, np.where(is_point, np.finfo(float).tiny, widths))
    passed = op("Clip", op("Add", passed, 0.5 * is_point), 0.0, 1.0)
    return op("MatMul", passed, np.diff(levels))


def normal_quantile(op: Operators, p: Tensor, degree: int = 24) -> Tensor:
    """Quantiles of the standard normal law for probabilities of `_LEAST` and more from 0 and 1.

    They are a polynomial of the root of -log p for p below one half, whose error is below 1e-13.
    """
    ends = np.sqrt(-np.log([0.5, _LEAST]))
    fit = Chebyshev.interpolate(lambda root: ndtri(np.exp(-(root**2))), degree, ends)
    first, *others = fit.convert(domain=ends, kind=Polynomial).coef[::-1]
    smaller = op("Max", op("Min", p, op("Sub", 1.0, p)), _LEAST)
    root = op("Sqrt", op("Neg", op("Log", smaller)))
    x = op("Div", op("Sub", root, ends.mean()), 0.5 * np.ptp(ends))
    found: Any = first
    for coefficient in others:
        found = op("Add", op("Mul", found, x), coefficient)
    return op("Mul", op("Sign", op("Sub", 0.5, p)), found)
