"""Scores of training rows by predictions in which their own targets had no part."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.inspection._held_out import Predictions, PredictorScores, Truth, scores

CHOSEN = "A penalty or the kernel was chosen on these rows, which makes their scores too good"
"""Note on fits that keep predictions of the held-out rows by which they choose."""


def left_out_scores(
    step: Any, truth: Truth | None
) -> tuple[PredictorScores | None, Predictions | None]:
    """Return scores and predictions of training rows that were left out, where they are known.

    Parameters
    ----------
    step : fitted estimator
    truth : Truth or None
        Of the training rows, where these are known.

    Notes
    -----
    Probabilities that classifiers keep of held-out rows are by fits without them. What else was
    chosen on these rows, such as C and the kernel, makes the scores too good, most of all where
    there is little to learn.
    """
    values = None if truth is None else _left_out_values(step, truth)
    if truth is None or values is None:
        return None, None
    found = Predictions(values)
    if truth.task == "classification":
        decisions = values[:, 1] if values.shape[1] == 2 else None
        labels = truth.classes[np.nan_to_num(values).argmax(axis=1)]
        found = Predictions(labels, values, decisions)
    # Rows that no fold holds out have no predictions.
    rows = np.flatnonzero(~np.isnan(values.reshape(len(values), -1)).any(axis=1))
    note = "" if hasattr(step, "loo_predictions_") or truth.task == "regression" else CHOSEN
    own = scores(truth.take(rows), found.take(rows))
    return PredictorScores("model, left-out rows", own, note), found


def _left_out_values(step: Any, truth: Truth) -> Array | None:
    """Return responses or probabilities of left-out training rows, NaN where there are none."""
    if not hasattr(step, "loo_predictions_") and hasattr(step, "held_out_classifier"):
        return _held_out_probabilities(step, truth)
    residuals = getattr(step, "cv_residuals_", ()) if getattr(step, "cv", None) is None else ()
    values = np.asarray(getattr(step, "loo_predictions_", residuals))
    if len(values) != len(truth.y):
        return None
    return values if hasattr(step, "loo_predictions_") else truth.y - values


def _held_out_probabilities(step: Any, truth: Truth) -> Array | None:
    """Return probabilities of the training rows that a fit held out, if these are the rows."""
    try:
        held_out = step.held_out_classifier()
    except ValueError:
        return None
    rows = held_out.samples_[:, 0]
    if np.any(rows >= len(truth.y)) or not np.array_equal(truth.y[rows], held_out.labels_):
        return None
    found = np.full((len(truth.y), len(truth.classes)), np.nan)
    found[rows] = held_out.predict_proba(held_out.samples_)
    return found
