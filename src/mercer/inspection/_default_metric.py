"""The score that says most about predictions of given targets."""

from __future__ import annotations

import numpy as np
from scipy import stats

from mercer._data.types import Array, PerSample
from mercer.inspection._held_out import Task


def has_heavy_tail(y: Array) -> bool:
    """Return whether responses are positive and much more skewed than their logarithms.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
    """
    if len(y) < 20 or not (y > 0.0).all() or not np.ptp(y):
        return False
    skewness = float(stats.skew(y))
    return skewness > 2.0 and abs(float(stats.skew(np.log(y)))) < 0.5 * skewness


def default_metric(y: PerSample, task: Task, kind: str = "", unequal: float = 3.0) -> str:
    """Return the score that suits given targets, and that :func:`report` shows first.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Classes or responses of the training rows.
    task : {"classification", "regression"}
    kind : {"", "ordinal", "count"}, default=""
        "ordinal" for classes that are ordered grades, and "count" for responses that are counts.
    unequal : float, default=3.0
        Classes are unequal if the largest class has at least `unequal` times as many rows as the
        smallest. The share of misclassified rows then depends little on the smaller classes.

    Returns
    -------
    str
        A key of the scores of :class:`ModelReport`.

    See Also
    --------
    report : Evaluates a fitted model; its parameter `metric` takes these names.

    Examples
    --------
    >>> from mercer.inspection import default_metric
    >>> default_metric([0, 1, 1, 0], "classification"), default_metric([0.5, 2.0], "regression")
    ('error', 'rmse')
    """
    if kind:
        return "mae" if kind == "ordinal" else "poisson_deviance"
    targets = np.asarray(y)
    if task == "regression":
        return "log_rmse" if has_heavy_tail(targets) else "rmse"
    counts = np.unique(targets, return_counts=True)[1]
    if counts.max() < unequal * counts.min():
        return "error"
    return "roc_auc" if len(counts) == 2 else "balanced_accuracy"
