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
        Number of rows that it was measured on, each by coefficients that were fitted to all others.
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
        By how much the compressed model's error is expected to exceed this one, relative to it, if
        the model is right; None without a left-out error.
    measured_growth : float or None
        By how much the compressed model's error on these rows exceeds the model's, relative to it;
        None unless their responses or classes were given.
    standard_error : float or None
        Of the measured growth, or else of the expected one, over draws of the rows.
    criterion : float
        What `tol` bounds: the measured growth, or else the expected one, plus its standard error.
        Without either, the difference relative to the spread of the function, or of classes the
        share that changed.

    Notes
    -----
    With the model's function f and the compressed one g, errors of responses grow from e to
    :math:`\sqrt{e^2 + \delta^2}` for the root mean squared difference :math:`\delta` of f and g,
    if f is the conditional mean. The logarithmic loss grows by the mean Kullback-Leibler divergence
    of the probabilities, if those of the model are calibrated.

    Without responses or classes, neither "if" is known. Where the model has shrunk fine structure
    of the data and the compression drops it, the error grows by more than is expected:
    :math:`2 E[(y - f)(f - g)]` is then positive. Left-out errors of training rows cannot tell it,
    as the compression has learned from their labels through the model.

    At its own training rows, a model's function has peaks towards their labels, which new rows do
    not see: there, differences are larger than on new rows.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> import mercer
    >>> X, y = make_friedman1(300, n_features=5, noise=1.0, random_state=0)
    >>> model = mercer.TwoStageRegressor().fit(X[:200], y[:200])
    >>> loss = mercer.compress(model, X[200:], y[200:], n_components=25).loss_
    >>> loss.n_rows, 0.0 < loss.expected_growth
    (100, True)
    >>> loss.measured_growth < loss.criterion
    True
    """

    n_rows: int
    difference: Array
    changed: float | None
    left_out_error: float | None
    expected_growth: float | None
    measured_growth: float | None
    standard_error: float | None
    criterion: float

    @property
    def growth(self) -> float | None:
        """The measured growth of the error, or else the expected one."""
        return self.expected_growth if self.measured_growth is None else self.measured_growth

    def __str__(self) -> str:
        rows = f"(on {self.n_rows:,} rows that were not fitted to)"
        if self.measured_growth is not None:
            return (
                f"the error grows by {self.measured_growth:.2%}, with a standard error of "
                f"{self.standard_error:.2%} {rows}"
            )
        if self.expected_growth is not None:
            return (
                f"the left-out error of {self.left_out_error:.4g} grows by "
                f"{self.expected_growth:.2%} in expectation if the model is right {rows}"
            )
        return f"{self.criterion:.2%} is what tol bounds {rows}"


@dataclass(frozen=True)
class _Expected:
    """What is known without labels: the error, its expected growth, and the standard error."""

    error: float
    growth: float
    standard_error: float


def compression_loss(
    expansion: KernelExpansion, mine: Array, theirs: Array, model: Any, truth: Array | None = None
) -> CompressionLoss:
    """Compare values of two functions on rows that neither was fitted to.

    Parameters
    ----------
    expansion : KernelExpansion
        Of the model.
    mine, theirs : ndarray of shape (n_rows, n_outputs)
        Values of the model and of its compression.
    model : estimator
    truth : ndarray of shape (n_rows, n_outputs) or (n_rows,), default=None
        The responses, or the positions of the classes, of the rows.
    """
    difference = _root_mean_square(mine - theirs)
    changed, known = None, None
    if expansion.scale in ("response", "log rate"):
        criterion, unit = _relative_difference(mine, difference)
        residuals = model._left_out_residuals() if expansion.scale == "response" else None
        if residuals is not None:
            known = _of_responses(mine - theirs, unit, residuals)
    else:
        criterion = changed = _share_of_changed(expansion, mine, theirs)
        held_out: Any = getattr(model, "_held_out", None)
        if has_probabilities(expansion) and isinstance(held_out, HeldOutProbabilities):
            known = _of_probabilities(mine, theirs, held_out)
    measured, error = None, None if known is None else known.standard_error
    if truth is not None:
        measured, error = _measured(expansion, mine, theirs, truth)
        criterion = measured + error
    elif known is not None:
        criterion = known.growth + known.standard_error
    return CompressionLoss(
        len(mine),
        difference,
        changed,
        None if known is None else known.error,
        None if known is None else known.growth,
        measured,
        error,
        criterion,
    )


def has_probabilities(expansion: KernelExpansion) -> bool:
    """Whether a function is one of probabilities of classes that exclude each other.

    Parameters
    ----------
    expansion : KernelExpansion
    """
    is_of_two = expansion.scale == "log-odds" and len(expansion.intercept) == 1
    return is_of_two or expansion.scale == "logit"


def _root_mean_square(values: Array) -> Array:
    """Root mean square of each column, scaled first as squares of large values overflow."""
    unit = np.abs(values).max(axis=0)
    unit = np.where(unit > 0.0, unit, 1.0)
    return np.asarray(unit * np.sqrt(np.mean(np.square(values / unit), axis=0)))


def _relative_difference(values: Array, difference: Array) -> tuple[float, Array]:
    """The difference in the spread of the function, and the unit of errors of each response."""
    spread = _root_mean_square(values - values.mean(axis=0))
    spread = np.where(spread > 0.0, spread, 1.0)
    found = float(_root_mean_square(difference / spread))
    return found, spread if len(spread) > 1 else np.ones(1)


def _of_responses(differences: Array, unit: Array, residuals: Array) -> _Expected:
    """What the growth of the error of responses is if the model's function is their mean."""
    columns = residuals.reshape(len(residuals), -1) / unit
    error = max(float(_root_mean_square(columns.ravel())), _TINY)
    relative = differences / (unit * error)
    ratio = float(_root_mean_square(relative.ravel()))
    root = float(np.hypot(1.0, ratio))
    # Of the square; relative to the ratio, so that large ones do not overflow.
    spread = _standard_error(np.mean(np.square(relative / (ratio or 1.0)), axis=1))
    return _Expected(error, root - 1.0, ratio * (ratio / root) * spread / 2.0)


def _of_probabilities(mine: Array, theirs: Array, held_out: HeldOutProbabilities) -> _Expected:
    """What the growth of the logarithmic loss is if the model's probabilities are right."""
    first, second = (log_softmax(_of_classes(values), axis=1) for values in (mine, theirs))
    own = held_out.probabilities[np.arange(len(held_out.codes)), held_out.codes]
    error = max(-float(held_out.weights.mean(np.log(np.maximum(own, _TINY)))), _TINY)
    divergences = rel_entr(np.exp(first), np.exp(second)).sum(axis=1)
    growth, spread = float(divergences.mean()), _standard_error(divergences)
    return _Expected(error, growth / error, spread / error)


def _measured(
    expansion: KernelExpansion, mine: Array, theirs: Array, truth: Array
) -> tuple[float, float]:
    """Growth of the error on rows with known responses or classes, and its standard error."""
    if expansion.scale == "response":
        unit = _root_mean_square(truth - mine)
        unit = np.where(unit > 0.0, unit, _TINY)
        before, after = (
            np.mean(np.square((truth - values) / unit), axis=1) for values in (mine, theirs)
        )
        power = 0.5
    else:
        rows = np.arange(len(truth))
        before, after = (
            -np.maximum(log_softmax(_of_classes(values), axis=1)[rows, truth], np.log(_TINY))
            for values in (mine, theirs)
        )
        power = 1.0
    mean = max(float(before.mean()), _TINY)
    ratio = float(after.mean()) / mean
    spread = _standard_error(after - ratio * before) / mean
    return ratio**power - 1.0, spread * power * max(ratio, _TINY) ** (power - 1.0)


def _standard_error(values: Array) -> float:
    """That of the mean of independent values; of one value, its size."""
    if len(values) == 1:
        return float(np.abs(values[0]))
    return float(values.std(ddof=1) / np.sqrt(len(values)))


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
