"""Whether a model is better than a constant, and which score tells most of it."""

import numpy as np
from scipy import stats

from mercer._typing import Array
from mercer.inspection._held_out import Estimate, Predictions, Truth, estimate, scores


def relative_loss(losses: Array, others: Array, units: Array) -> Estimate | None:
    """Return the ratio of the mean of losses to that of others of the same rows.

    Parameters
    ----------
    losses, others : ndarray of shape (n_rows,)
    units : ndarray of int of shape (n_rows,)

    Returns
    -------
    Estimate or None
        With Student's interval of the logarithm, by the delta method. Few large losses of both, as
        of some groups, matter less to the ratio than to the difference. None where a mean is not
        positive.
    """
    mean, other = float(losses.mean()), float(others.mean())
    if min(mean, other) <= 0.0:
        return None
    log = estimate(float(np.log(mean / other)), losses / mean - others / other, units)
    return Estimate(mean / other, float(np.exp(log.low)), float(np.exp(log.high)))


def is_better(losses: Array, others: Array, units: Array) -> bool:
    """Whether losses are smaller than others of the same rows, beyond what chance explains.

    Parameters
    ----------
    losses, others : ndarray of shape (n_rows,)
    units : ndarray of int of shape (n_rows,)

    Notes
    -----
    The interval of their ratio is below one or, where a mean is not positive, that of the mean
    difference.
    """
    ratio = relative_loss(losses, others, units)
    if ratio is not None:
        return ratio.high < 1.0
    difference = float((others - losses).mean())
    return estimate(difference, others - losses - difference, units).low > 0.0


def against_constant(
    truth: Truth, model: Predictions, constant: Predictions
) -> tuple[bool, Estimate | None]:
    """Compare a model with a constant.

    Parameters
    ----------
    truth : Truth
    model, constant : Predictions

    Returns
    -------
    is_better : bool
        Whether the model is better, beyond what chance explains.
    ratio : Estimate or None
        Of the mean squared errors of responses, or of probabilities. None where the model predicts
        labels alone, or has no error.

    Notes
    -----
    A classifier that ranks rows better than chance is better than a constant too, which matters
    where one class is rare and all rows are classified as the other. Labels without probabilities
    are compared by their balanced accuracy, which is that of chance for every constant.
    """
    found, ratio = scores(truth, model), None
    if truth.task == "regression" or model.probabilities is not None:
        squares, others = (truth.squared_errors(one) for one in (model, constant))
        ratio = relative_loss(squares, others, truth.units)
        if is_better(squares, others, truth.units):
            return True, ratio
    elif found["balanced_accuracy"].low > 1.0 / len(np.unique(truth.y)):
        return True, None
    return "roc_auc" in found and found["roc_auc"].low > 0.5, ratio


def has_heavy_tail(y: Array) -> bool:
    """Whether responses are positive, and their logarithms much less skewed than they are.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
    """
    if len(y) < 20 or not (y > 0.0).all() or not np.ptp(y):
        return False
    skewness = float(stats.skew(y))
    return skewness > 2.0 and abs(float(stats.skew(np.log(y)))) < 0.5 * skewness


def default_metric(truth: Truth, unequal: float = 3.0) -> str:
    """Return the score that tells most about predictions of such targets.

    Parameters
    ----------
    truth : Truth
    unequal : float, default=3.0
        Classes are unequal if the largest has this many times the rows of the smallest: the share
        of misclassified rows then says little of the smaller ones.
    """
    if truth.task == "regression":
        return "rmse" if truth.log_floor is None else "log_rmse"
    counts = np.unique(truth.y, return_counts=True)[1]
    if counts.max() < unequal * counts.min():
        return "error"
    return "roc_auc" if len(counts) == 2 else "balanced_accuracy"
