"""Labels and responses as target factors: the target kernel is L = Y diag(signs) Y'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from mercer._typing import Array

Task = Literal["auto", "classification", "regression"]


@dataclass(frozen=True)
class Target:
    """What a kernel should look like, as a factor of the target kernel.

    Attributes
    ----------
    factor : ndarray of shape (n_samples, n_factors)
        Y.
    signs : ndarray of shape (n_factors,)
        The target kernel is L = sum_c signs_c y_c y_c'.
    classes : ndarray of shape (n_classes,), or None
        The labels, sorted; None in regression.
    """

    factor: Array
    signs: Array
    classes: np.ndarray[Any, Any] | None

    @property
    def codes(self) -> Array:
        """Position of each sample's class, or the first response, shape (n_samples,)."""
        if self.classes is None or self.factor.shape[1] == 1:
            return self.factor[:, 0]
        return np.argmax(self.factor[:, :-1], axis=1)

    def take(self, rows: Array) -> Target:
        """The target of some of the samples.

        Parameters
        ----------
        rows : ndarray of int
        """
        return Target(self.factor[rows], self.signs, self.classes)

    @property
    def centred(self) -> Array:
        """Centred factor of the centred target kernel, shape (n_samples, n_targets)."""
        positive = self.factor[:, self.signs > 0]
        return positive - positive.mean(axis=0)


def one_against_rest(y: Any, classes: np.ndarray[Any, Any]) -> Array:
    """Labels as signs, a column for each class against the rest, one for two classes.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    classes : ndarray of shape (n_classes,)

    Returns
    -------
    ndarray of shape (n_samples, n_problems)
        Of two classes, 1 stands for the second.
    """
    positive = np.asarray(y).reshape(-1, 1) == classes
    return np.where(positive[:, 1:] if len(classes) == 2 else positive, 1.0, -1.0)


def as_target(y: Any, task: Task = "auto", n_samples: int | None = None) -> Target:
    """The target that labels or responses define.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Labels, or one or several responses.
    task : {"auto", "classification", "regression"}, default="auto"
        `"auto"` takes floating-point numbers that are not all whole, and several columns, as
        responses, everything else as labels.
    n_samples : int, default=None
        Number of rows that `y` must have.

    Returns
    -------
    Target
        Two classes: y in {-1, +1}. More classes: sqrt(2) times the one-hot labels, with -11' beside
        it, so that L is +1 within a class and -1 between classes. Responses: divided by their
        standard deviation.

    Raises
    ------
    ValueError
        If there is one class only, a response is constant, or `y` does not fit the task.

    References
    ----------
    Wang & Li (2018), eq. (6), whose signs are swapped; Cortes, Mohri, Rostamizadeh (2010), section
    2.
    """
    if task not in ("auto", "classification", "regression"):
        raise ValueError(f'task must be "auto", "classification" or "regression"; got {task!r}.')
    if y is None:
        raise ValueError("A target is needed, but y is None.")
    y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
    if task == "auto":
        kind = type_of_target(y, input_name="y")
        labels = kind in ("binary", "multiclass") and y.size == len(y)
        task = "classification" if labels else "regression"
    target = _labels(y) if task == "classification" else _responses(y)
    if n_samples is not None and target.factor.shape[0] != n_samples:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"[{n_samples}, {target.factor.shape[0]}]"
        )
    return target


def _labels(y: Any) -> Target:
    check_classification_targets(y)
    labels = column_or_1d(y, warn=True)
    classes, codes = np.unique(labels, return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, "
            f"but the data contains only one class: {classes[0]!r}"
        )
    if classes.size == 2:
        return Target(np.where(codes == 1, 1.0, -1.0)[:, None], np.ones(1), classes)
    one_hot = np.sqrt(2.0) * (codes[:, None] == np.arange(classes.size))
    factor = np.column_stack([one_hot, np.ones(codes.size)])
    return Target(factor, np.append(np.ones(classes.size), -1.0), classes)


def _responses(y: Any) -> Target:
    responses = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    responses = responses.reshape(responses.shape[0], -1)
    scale = responses.std(axis=0)
    constant = scale <= 1e-14 * np.abs(responses).max(axis=0)
    if constant.any():
        raise ValueError(
            f"y is constant (response {np.flatnonzero(constant)[0]}): "
            "there is nothing to learn a kernel for."
        )
    return Target(responses / scale, np.ones(responses.shape[1]), None)
