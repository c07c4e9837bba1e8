"""Fallback of predictions for rows that are many widths away from all training rows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit, log_softmax, logit

from mercer._data.types import Array, Features, own_fields
from mercer._gram.new_rows import known_values, nearest_to


@dataclass(frozen=True)
class FallBack:
    """Fallback of predictions for rows that are far from all training rows.

    Attributes
    ----------
    view : str
        Name of the view in which Euclidean distances are computed.
    rows : ndarray or sparse matrix of shape (n_training, n_features)
        Training rows in this view.
    reach : float
        Rows within this distance of the nearest training row are near. At twice this distance or
        more, predictions are the level.
    sure : tuple of float
        Up to the first distance, errors are those of held-out training rows. Beyond the second
        distance, they are those of the level.
    level : ndarray of shape (n_outputs,) or (n_classes,)
        Responses, or probabilities of the classes or of several labels, far from all training rows.
    """

    view: str
    rows: Features
    reach: float
    sure: tuple[float, float]
    level: Array

    def closeness(self, views: dict[Any, Features]) -> Array:
        """Return one for near rows and zero for far rows, shape (n_rows, 1)."""
        return self.closeness_at(self.squared_distances(views))

    def closeness_at(self, squared: Array) -> Array:
        """Return the closeness of rows from squared distances of shape (n_rows,)."""
        return _falling(squared, self.reach, 2.0 * self.reach)

    def sureness_at(self, squared: Array) -> Array:
        """Return the weight of the fit in the errors, (n_rows, 1), from squared distances."""
        return _falling(squared, *self.sure)

    def squared_distances(self, views: dict[Any, Features]) -> Array:
        """Return the squared distance of each row to the nearest training row, shape (n_rows,)."""
        return self._nearest(known_values(views[self.view]))

    @cached_property
    def _nearest(self) -> Callable[[Features], Array]:
        return nearest_to(known_values(self.rows))

    __getstate__ = own_fields

    def change(self, values: Array, scale: str, closeness: Array) -> Array:
        """Return the change to add to the values of a function, shape (n_rows, n_outputs).

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_outputs)
        scale : {"response", "log response", "log-odds", "logit"}
        closeness : ndarray of shape (n_rows, 1)
        """
        if scale in ("response", "log response"):
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


def _falling(squared: Array, near: float, far: float) -> Array:
    """Return one for near rows, zero for far rows, and linear values between, (n_rows, 1).

    Parameters
    ----------
    squared : ndarray of shape (n_rows,)
        Squared distances. Values between are linear in the squared distance.
    near, far : float
        Distances.
    """
    return np.clip((far**2 - squared) / (far**2 - near**2), 0.0, 1.0)[:, None]
