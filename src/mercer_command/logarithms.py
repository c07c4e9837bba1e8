"""Stacks of the command that are fitted to logarithms of responses."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np
import numpy.typing as npt

from mercer import KernelStackingRegressor
from mercer.inspection import KernelExpansion
from mercer_command.values import Array

_LARGEST_LOGARITHM = 700.0
"""The exponential of this number is finite."""


class LogarithmicStack(KernelStackingRegressor):
    """A stack that is fitted to the logarithms of positive responses, and predicts the responses.

    Predictions are exponentials of predicted logarithms, and intervals have exponentials of their
    ends, so that they cover the same rows. `loo_score_` is the score of the logarithms, by which
    text is encoded as well, and explanations describe the predicted logarithm.
    """

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> Self:  # type: ignore[override]
        """Fit the stack; see :class:`mercer.KernelStackingRegressor`."""
        return super().fit(X, np.log(y), groups=groups)

    def predict(self, X: npt.ArrayLike) -> Array:
        """Predict responses, shape (n_rows,)."""
        return _exponentials(super().predict(X))

    def predict_interval(
        self, X: npt.ArrayLike, coverage: float = 0.9, scale: str | None = "auto"
    ) -> Array:
        """Predict intervals of the responses, shape (n_rows, 2)."""
        return _exponentials(super().predict_interval(X, coverage, scale))

    @property
    def loo_predictions_(self) -> Array:
        """Predictions of the training rows by fits without them."""
        return _exponentials(super().loo_predictions_)

    def kernel_expansion(self) -> KernelExpansion:
        """Return the function that predicts logarithms."""
        return replace(super().kernel_expansion(), scale="log response")

    def _left_out_residuals(self) -> Array:
        predicted = self.loo_predictions_
        known = predicted[np.isfinite(predicted)]
        return np.asarray(known * np.expm1(super()._left_out_residuals()))


def _exponentials(values: Array) -> Array:
    return np.asarray(np.exp(np.minimum(values, _LARGEST_LOGARITHM)))
