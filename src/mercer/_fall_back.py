"""What predictions fall back to where a row is many widths away from all training rows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit, log_softmax, logit

from mercer._gram.new_rows import known_values, nearest_to
from mercer._typing import Array, Features, own_fields


@dataclass(frozen=True)
class FallBack:
    """What predictions fall back to for rows that are far from all training rows.

    Attributes
    ----------
    view : str
        Name of the view in which distances are Euclidean.
    rows : ndarray or sparse matrix of shape (n_training, n_features)
        Training rows in this view.
    reach : float
        Rows at most as far from the nearest training row as this are near; those at least twice as
        far have the level.
    sure : float
        Rows at most as far as this are predicted as surely as left-out training rows.
    level : ndarray of shape (n_outputs,) or (n_classes,)
        Responses, or probabilities of the classes or of several labels, far away.
    """

    view: str
    rows: Features
    reach: float
    sure: float
    level: Array

    def closeness(self, views: dict[Any, Features]) -> Array:
        """One for near rows, zero for far ones, shape (n_rows, 1).

        Parameters
        ----------
        views : dict of str to (ndarray or sparse matrix)
        """
        return closeness_at(self.squared_distances(views), self.reach)

    def squared_distances(self, views: dict[Any, Features]) -> Array:
        """Squared distance of each row to the nearest training row, shape (n_rows,).

        Parameters
        ----------
        views : dict of str to (ndarray or sparse matrix)
        """
        return self._nearest(known_values(views[self.view]))

    @cached_property
    def _nearest(self) -> Callable[[Features], Array]:
        return nearest_to(known_values(self.rows))

    def __getstate__(self) -> dict[str, Any]:
        return own_fields(self)

    def change(self, values: Array, scale: str, closeness: Array) -> Array:
        """What is added to values of a function, shape (n_rows, n_outputs).

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_outputs)
        scale : {"response", "log-odds", "logit"}
        closeness : ndarray of shape (n_rows, 1)
        """
        if scale == "response":
            return (closeness - 1.0) * (values - self.level)
        if scale == "log-odds" and len(self.level) == values.shape[1]:
            mixed = closeness * expit(values) + (1.0 - closeness) * self.level
            return np.where(closeness < 1.0, logit(mixed) - values, 0.0)
        of_two = values.shape[1] == 1
        logits = np.hstack([np.zeros_like(values), values]) if of_two else values
        before = log_softmax(logits, axis=1)
        with np.errstate(divide="ignore"):
            mixed = np.log(closeness * np.exp(before) + (1.0 - closeness) * self.level)
        change = mixed - before
        change = change[:, 1:] - change[:, :1] if of_two else change
        return np.where(closeness < 1.0, change, 0.0)


def closeness_at(squared: Array, reach: float) -> Array:
    """One up to a reach, zero from twice the reach on, falling with the square, (n_rows, 1).

    Parameters
    ----------
    squared : ndarray of shape (n_rows,)
        Squared distances.
    reach : float
    """
    return np.clip((4.0 - squared / reach**2) / 3.0, 0.0, 1.0)[:, None]
