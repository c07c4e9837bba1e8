"""What displays of points share: the values of columns, colors, and places beside each other."""

from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.inspection._columns import Column, columns_of
from mercer.inspection._display import BAR_COLOR, WARM_COLOR
from mercer.inspection._shapley_result import ShapleyValues


def column_of(values: ShapleyValues, player: int) -> Column | None:
    """The values of a player's column; None where they are text, or of several columns.

    Parameters
    ----------
    values : ShapleyValues
    player : int
    """
    found = columns_of(values.data[:, [player]])
    return found[0] if found and found[0].kind != "text" else None


def low_to_high() -> Any:
    """Colors of low and high values, which can be told apart on light and on dark pages."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("low_to_high", [BAR_COLOR, "#a78ba0", WARM_COLOR])


def stacked(values: Array, largest: float) -> Array:
    """Offsets, at most 0.4, by which points of similar values do not hide each other.

    Parameters
    ----------
    values : ndarray of shape (n_points,)
    largest : float
        Largest absolute value of all points that are drawn.
    """
    bins = np.round(values / (largest or 1.0) * 60.0)
    order = np.argsort(bins, kind="stable")
    _, starts, counts = np.unique(bins[order], return_index=True, return_counts=True)
    places = np.arange(len(values)) - np.repeat(starts, counts)
    # 0, 1, -1, 2, -2, ...
    offsets = np.empty(len(values))
    offsets[order] = np.where(places % 2, (places + 1) // 2, -(places // 2))
    return offsets * min(0.08, 0.4 / max(counts.max() / 2.0, 1.0))
