"""What predictions fall back to where a row is far from all training rows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit, logit, softmax

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
        Rows at most as far from the nearest training row as this are near.
    level : ndarray of shape (n_outputs,) or (n_classes,)
        Responses, or probabilities of the classes or of several labels, far away.
    """

    view: str
    rows: Features
    reach: float
    level: Array

    def closeness(self, views: dict[Any, Features]) -> Array:
        """One for near rows; for others the square of the ratio of reach and distance, (n_rows, 1).

        Parameters
        ----------
        views : dict of str to (ndarray or sparse matrix)
        """
        squared, near = self._nearest(known_values(views[self.view])), self.reach**2
        return np.asarray(near / np.maximum(squared, near))[:, None]

    @cached_property
    def _nearest(self) -> Callable[[Features], Array]:
        """Squared distance of each row to the nearest training row."""
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
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.level / softmax(logits, axis=1)
            change = np.log(closeness + (1.0 - closeness) * ratio)
            change = change[:, 1:] - change[:, :1] if of_two else change
        return np.where(closeness < 1.0, change, 0.0)
