"""How far a compressed function is from that of the model, beside the model's own errors."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax, rel_entr

from mercer._expansion import KernelExpansion
from mercer._model_selection.prediction_sets import HeldOutProbabilities
from mercer._typing import Array


@dataclass(frozen=True)
class CompressionLoss:
    r"""How far a compressed model is from the model, on rows that it was not fitted to.

    Attributes
    ----------
    n_rows : int
        Number of rows that neither centers nor coefficients were fitted to.
    difference : ndarray of shape (n_outputs,)
        Root mean squared difference of the functions, in the unit of `kernel_expansion`.
    changed : float or None
        Share of the rows whose predicted class changed, or one of whose labels did; None for
        responses.
    left_out_error : float or None
        Of the model: the root mean squared residual, or the logarithmic loss, of training rows that
        had no part in their predictions; None where the fit has left none. That of several
        responses is relative to the spread of each.
    expected_growth : float or None
        By how much the compressed model's error is expected to exceed this one, relative to it;
        None without a left-out error.
    largest_growth : float or None
        By how much it exceeds it at most, whatever the responses of the rows are.
    criterion : float
        What `tol` bounds: the expected growth. Without a left-out error, the difference relative to
        the spread of the function, or of classes the share that changed.

    Notes
    -----
    With the model's function f and the compressed one g, errors of responses grow from e to
    :math:`\sqrt{e^2 + \delta^2}` for the root mean squared difference :math:`\delta` of f and g,
    if f is the conditional mean, and to at most :math:`e + \delta`. The logarithmic loss grows by
    the mean Kullback-Leibler divergence of the probabilities, if those of the model are
    calibrated, and by at most the mean of the largest difference of their logarithms.

    At its own training rows, a model's function has peaks towards their labels, which new rows do
    not see: there, differences are larger than on new rows.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> import mercer
    >>> X, y = make_friedman1(300, n_features=5, noise=1.0, random_state=0)
    >>> model = mercer.TwoStageRegressor().fit(X[:200], y[:200])
    >>> loss = mercer.compress(model, X[200:], n_components=25).loss_
    >>> loss.n_rows, 0.0 < loss.expected_growth < loss.largest_growth
    (25, True)
    """

    n_rows: int
    difference: Array
    changed: float | None
    left_out_error: float | None
    expected_growth: float | None
    largest_growth: float | None
    criterion: float

    def __str__(self) -> str:
        growth = f"{self.criterion:.2%} is what tol bounds"
        if self.expected_growth is not None:
            growth = (
                f"the left-out error of {self.left_out_error:.4g} grows by "
                f"{self.expected_growth:.2%} in expectation, and by at most "
                f"{self.largest_growth:.2%}"
            )
        return f"{growth} (on {self.n_rows} rows that were not fitted to)"


def compression_loss(
    expansion: KernelExpansion, mine: Array, theirs: Array, model: Any
) -> CompressionLoss:
    """Compare values of two functions on rows that neither was fitted to.

    Parameters
    ----------
    expansion : KernelExpansion
        Of the model.
    mine, theirs : ndarray of shape (n_rows, n_outputs)
        Values of the model and of its compression.
    model : estimator
    """
    difference = _root_mean_square(mine - theirs)
    found: tuple[Any, ...]
    if expansion.scale in ("response", "log rate"):
        known = model._left_out_residuals() if expansion.scale == "response" else None
        found = None, *_of_responses(mine, difference, known)
    else:
        changed = _share_of_changed(expansion, mine, theirs)
        held_out: Any = getattr(model, "_held_out", None)
        found = changed, None, None, None, changed
        is_known = isinstance(held_out, HeldOutProbabilities)
        if is_known and expansion.scale in ("log-odds", "logit"):
            found = changed, *_of_probabilities(mine, theirs, held_out)
    return CompressionLoss(len(mine), difference, *found)


def _root_mean_square(values: Array) -> Array:
    """Root mean square of each column, scaled first as squares of large values overflow."""
    unit = np.abs(values).max(axis=0)
    unit = np.where(unit > 0.0, unit, 1.0)
    return np.asarray(unit * np.sqrt(np.mean(np.square(values / unit), axis=0)))


def _of_responses(values: Array, difference: Array, residuals: Array | None) -> tuple[Any, ...]:
    """Error, expected and largest growth, and the criterion."""
    spread = _root_mean_square(values - values.mean(axis=0))
    spread = np.where(spread > 0.0, spread, 1.0)
    if residuals is None:
        return None, None, None, float(_root_mean_square(difference / spread))
    unit = spread if len(spread) > 1 else np.ones(1)
    columns = residuals.reshape(len(residuals), -1) / unit
    error = float(_root_mean_square(columns.ravel()))
    ratio = float(_root_mean_square(difference / unit)) / max(error, _TINY)
    expected = float(np.hypot(1.0, ratio)) - 1.0
    return error, expected, ratio, expected


def _of_probabilities(
    mine: Array, theirs: Array, held_out: HeldOutProbabilities
) -> tuple[Any, ...]:
    """The same of probabilities of classes."""
    first, second = (log_softmax(_of_classes(values), axis=1) for values in (mine, theirs))
    own = held_out.probabilities[np.arange(len(held_out.codes)), held_out.codes]
    error = max(-float(held_out.weights.mean(np.log(np.maximum(own, _TINY)))), _TINY)
    expected = float(rel_entr(np.exp(first), np.exp(second)).sum(axis=1).mean()) / error
    with np.errstate(invalid="ignore"):
        largest = float(np.nan_to_num(np.abs(first - second)).max(axis=1).mean()) / error
    return error, expected, largest, expected


def _share_of_changed(expansion: KernelExpansion, mine: Array, theirs: Array) -> float:
    """Share of rows whose predicted class, or one of whose labels, changed."""
    if mine.shape[1] == 1 or expansion.scale == "log-odds":
        return float(np.mean(((mine > 0.0) != (theirs > 0.0)).any(axis=1)))
    return float(np.mean(mine.argmax(axis=1) != theirs.argmax(axis=1)))


def _of_classes(values: Array) -> Array:
    """Scores with a column for each class, from log-odds of the second of two."""
    return np.hstack([np.zeros_like(values), values]) if values.shape[1] == 1 else values


_TINY = float(np.finfo(float).tiny)
"""Errors of zero count as this."""
