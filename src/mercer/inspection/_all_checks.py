"""All checks of rows and residuals of a report."""

from __future__ import annotations

import numpy as np

from mercer.inspection._checks import (
    Check,
    copied_rows,
    identifiers,
    is_later,
    shared_groups,
    shift,
)
from mercer.inspection._columns import Column
from mercer.inspection._held_out import Predictions, Truth
from mercer.inspection._leakage import leakage
from mercer.inspection._time_order import orders, target_orders, time_order


def all_checks(
    columns: list[Column],
    new: tuple[Truth, Predictions],
    past: tuple[Truth | None, Predictions | None],
    later: bool,
    seed: int,
) -> tuple[Check, ...]:
    """Run the checks of rows and residuals that the rows allow.

    Parameters
    ----------
    columns : list of Column
        Of the training rows, where these are known, followed by the held-out rows.
    new : (Truth, Predictions)
        Of the held-out rows.
    past : (Truth or None, Predictions or None)
        Of the training rows: their targets, and predictions in which these had no part.
    later : bool
        Whether the held-out rows are later than all training rows.
    seed : int
        Draws rows for what would take long on all of them.
    """
    (truth, own), (known, inner) = new, past
    ordered = orders(columns, truth, own, "of the held-out rows")
    found = []
    if known is None:
        y = truth.y
    else:
        n_train, y = len(known.y), np.concatenate([known.y, truth.y])
        losses, units = truth.losses(own), known.units
        unit = "mean absolute error" if truth.task == "regression" else "error"
        rows = [column.take(slice(None, n_train)) for column in columns]
        compared = [c for c in columns if not (later and is_later(c, n_train))]
        units = np.r_[units, units.max() + 1 + truth.units]
        found = [
            leakage(rows, known.y, truth.task, seed=seed),
            copied_rows(columns, y, losses, unit),
            shift(compared, n_train, units, seed=seed),
        ]
        if known.groups is not None and truth.groups is not None:
            found.append(shared_groups(truth.groups, known.groups))
        if inner is not None:
            ordered |= orders([], known, inner, "of the training rows")
    if truth.groups is None:
        found.append(identifiers(columns, y, truth.task))
    if not later:
        found.append(time_order(ordered, target_orders(columns, truth)))
    return tuple(found)
