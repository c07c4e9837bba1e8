"""The model of the command: a pipeline that reads, encodes and predicts tables."""

from __future__ import annotations

from math import ceil, log10
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if

from mercer import on_numbers
from mercer_command.values import Array


class TableModel(Pipeline):
    """A pipeline of the steps `reader` and `model`, which predicts tables.

    Between them is a step `columns`, the encoder, unless the estimator encodes columns itself.

    Attributes
    ----------
    metric_ : str
        The score that is shown first, which the user chose or which suits the training rows.
    limits_ : (float, float, bool) or None
        The least and the largest possible response, and whether responses are whole numbers.
        Prediction intervals stay within these limits.
    decimals_ : int or None
        Number of decimals to which predicted responses are rounded when they are written; None if
        they are not rounded.
    """

    metric_: str
    limits_: tuple[float, float, bool] | None = None
    decimals_: int | None = None

    @property
    def encoder(self) -> ColumnTransformer:
        """The fitted encoder of the columns that the reader converts."""
        return self["columns"] if "columns" in self.named_steps else self[-1].encoder_

    @property
    def predictor(self) -> BaseEstimator:
        """The fitted estimator, which predicts from what the encoder returns."""
        return on_numbers(self[-1])

    @available_if(lambda model: hasattr(model[-1], "predict_interval"))  # type: ignore[untyped-decorator]
    def predict_interval(self, X: pd.DataFrame, coverage: float = 0.9) -> Array:
        """Predict intervals that hold the response with some probability.

        Parameters
        ----------
        X : DataFrame of shape (n_rows, n_columns)
        coverage : float, default=0.9
            The probability, between zero and one.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Intervals within the limits of the responses; whole numbers if the responses are.
        """
        return self.within_limits(self[-1].predict_interval(self[:-1].transform(X), coverage))

    def within_limits(self, intervals: npt.ArrayLike) -> Array:
        """Return the parts of intervals that are within the limits of the responses.

        Parameters
        ----------
        intervals : array-like of shape (n_rows, 2)
        """
        found = np.asarray(intervals, dtype=float)
        if self.limits_ is None:
            return found
        low, high, whole = self.limits_
        found = np.clip(found, low, high)
        if whole:
            # Rounding inward loses no whole number. If none is inside, the nearest one is returned.
            ends = np.column_stack([np.ceil(found[:, 0]), np.floor(found[:, 1])])
            empty = ends[:, 0] > ends[:, 1]
            ends[empty] = np.round(found[empty].mean(axis=1))[:, None]
            return ends
        return found

    @available_if(lambda model: hasattr(model[-1], "predict_set"))  # type: ignore[untyped-decorator]
    def predict_set(self, X: pd.DataFrame, coverage: float = 0.9, **params: Any) -> Array:
        """Predict sets of classes that hold the true class with some probability.

        Parameters
        ----------
        X : DataFrame of shape (n_rows, n_columns)
        coverage : float, default=0.9
            The probability, between zero and one.
        **params : object
            Arguments of the last step.

        Returns
        -------
        ndarray of bool of shape (n_rows, n_classes)
            Whether each class, in the order of `classes_`, is in the set.
        """
        return np.asarray(self[-1].predict_set(self[:-1].transform(X), coverage, **params))


def limits_of(y: Array) -> tuple[float, float, bool]:
    """Return the natural limits of responses, and whether responses are whole numbers.

    Responses of one sign have the limit zero, and shares have the limits zero and one.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Known responses.

    Examples
    --------
    >>> limits_of(np.array([0.0, 3.0, 12.0]))
    (0.0, inf, True)
    >>> limits_of(np.array([0.2, 0.9]))
    (0.0, 1.0, False)
    """
    low = 0.0 if y.min() >= 0.0 else -np.inf
    high = 0.0 if y.max() <= 0.0 else np.inf
    whole = bool(np.array_equal(y, np.round(y)))
    if low == 0.0 and y.max() <= 1.0 and not whole:
        high = 1.0
    return low, high, whole


def decimals_of(y: Array, most: int = 6) -> int | None:
    """Return the number of decimals in which predictions of a response are written.

    Predictions have the decimals of the response, and whole numbers are predicted with one decimal.
    There are more decimals if responses differ so little that rounding would matter: the last
    decimal is worth at most a fiftieth of the standard deviation.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Known responses.
    most : int, default=6
        If responses have more decimals, predictions are not rounded.

    Returns
    -------
    int or None

    Examples
    --------
    >>> decimals_of(np.array([10.25, 300.5, 17.0]))
    2
    >>> decimals_of(np.array([3.0, 400.0, 27.0]))
    1
    >>> decimals_of(np.array([0.0, 1.0, 0.0, 2.0]))
    2
    >>> decimals_of(np.array([1.0, 2.0]) / 3.0) is None
    True
    """
    y = np.asarray(y, dtype=float)
    exact = [k for k in range(most + 1) if np.allclose(np.round(y, k), y, rtol=1e-12, atol=0.0)]
    if not exact or not (deviation := float(y.std())):
        return None
    return max(exact[0], 1, ceil(-log10(deviation / 50.0)))
