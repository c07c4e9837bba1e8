"""Kernel machines on a learned kernel: their losses, fitted attributes and predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags, check_array
from sklearn.utils.validation import check_is_fitted

from mercer._gram.moments import trace_shares
from mercer._gram.samples import Samples
from mercer._gram.tiles import check_rows_memory
from mercer._kernel_estimator import KernelEstimator, TrainingData, new_samples
from mercer._model_selection.temperature import Temperature
from mercer._one_stage.held_out_values import FoldValues, class_values, held_out_temperature
from mercer._targets import Target, one_against_rest
from mercer._typing import Array, Features
from mercer._validation import check_choice, check_number, check_positive
from mercer._weights.mkl import LearnedWeights
from mercer._weights.problems import Problems
from mercer.kernels import Kernel, WeightedSum
from mercer.kernels._distances import check_squares
from mercer.losses import EpsilonInsensitive, Hinge, Logistic, Loss, Squared

_INTERCEPT_SAMPLES = 64
"""The intercept is averaged over at most this many samples, as it is the same for all of them."""


class KernelMachines(KernelEstimator):
    """Kernel machines that share a learned kernel; :func:`store_machines` sets their attributes."""

    kernel_: Kernel
    weights_: Array
    X_fit_: Any
    dual_coef_: Array
    intercept_: Array
    support_: NDArray[np.intp]

    def _values(self, X: Features) -> Array:
        """Values of all machines on new samples, shape (n_samples, n_problems)."""
        check_is_fitted(self)
        samples, dual = new_samples(self, X), self.dual_coef_[self.support_]
        if self.X_fit_ is None:
            samples, support = samples[:, self.support_], None
        else:
            support = self.X_fit_[self.support_]
        return _without_intercept(self.kernel_, samples, support, dual) + self.intercept_

    def _calibrate(self, target: Target, fold_values: FoldValues) -> None:
        """Learn probabilities from values of held-out samples, where there are classes."""


def _without_intercept(
    kernel: Kernel, samples: Features, support: Features | None, dual: Array
) -> Array:
    """The learned kernel on samples and support vectors, times these vectors' coefficients.

    Stacks hold the kernels of the support vectors alone, which are None then.
    """
    if not dual.size:
        return np.zeros((samples.shape[0], dual.shape[1]))
    if support is None:
        return np.asarray(kernel(samples) @ dual)
    check_rows_memory(samples.shape[0], support.shape[0])
    return np.asarray(kernel(samples, support) @ dual)


class KernelMachineClassifier(ClassifierMixin, KernelMachines):
    """One kernel machine for two classes, else one for each class against the rest."""

    loss: str
    classes_: Any
    temperature_: Temperature

    def _calibrate(self, target: Target, fold_values: FoldValues) -> None:
        # Values of the logistic loss are the logarithms of odds.
        if self.loss != "logistic":
            assert target.codes is not None
            self.temperature_ = held_out_temperature(
                fold_values, target.codes, target.weights.given
            )

    def decision_function(self, X: Features) -> Array:
        """Return the values of the kernel machines.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) where `kernels` is "precomputed".

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, ``classes_[1]`` is predicted where the value is positive.
        """
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Features) -> NDArray[Any]:
        """Predict classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) where `kernels` is "precomputed".

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        values = self._values(X)
        if values.shape[1] == 1:
            return self.classes_[(values[:, 0] > 0.0).astype(int)]
        return self.classes_[values.argmax(axis=1)]

    def predict_proba(self, X: Features) -> Array:
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) where `kernels` is "precomputed".

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities in the order of `classes_`.

        Notes
        -----
        The logistic loss has probabilities of its own: of more than two classes, each one's against
        the rest divided by their sum. For other losses, they are the softmax of the machines'
        values times a factor that was fitted to values of held-out samples. The predicted class has
        the highest probability.
        """
        values = self._values(X)
        if self.loss != "logistic":
            return self.temperature_.probabilities(class_values(values))
        positive = expit(values)
        if positive.shape[1] == 1:
            return np.hstack([1.0 - positive, positive])
        return np.asarray(positive / positive.sum(axis=1, keepdims=True))


class KernelMachineRegressor(RegressorMixin, KernelMachines):
    """One kernel machine for each response."""

    _is_response_flat: bool

    def predict(self, X: Features) -> Array:
        """Predict responses.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) where `kernels` is "precomputed".

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        values = self._values(X)
        return values[:, 0] if self._is_response_flat else values

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def classification_loss(name: str, C: float) -> Loss:
    """Return the loss of a classifier.

    Parameters
    ----------
    name : {"hinge", "squared", "logistic"}
    C : float

    Raises
    ------
    ValueError
        If there is no such loss, or `C` is not positive.
    """
    check_choice("loss", name, ("hinge", "squared", "logistic"))
    check_positive("C", C)
    losses: dict[str, Callable[[float], Loss]] = {
        "hinge": Hinge,
        "logistic": Logistic,
        "squared": lambda C: Squared(1.0 / C),
    }
    return losses[name](float(C))


def regression_loss(name: str, alpha: float, C: float, epsilon: float) -> Loss:
    """Return the loss of a regressor.

    Parameters
    ----------
    name : {"squared", "epsilon_insensitive"}
    alpha : float
        Penalty; it counts for the squared loss only.
    C, epsilon : float
        They count for the epsilon-insensitive loss only.

    Raises
    ------
    ValueError
        If there is no such loss, or a number is out of its range.
    """
    check_choice("loss", name, ("squared", "epsilon_insensitive"))
    check_positive("alpha", alpha)
    check_positive("C", C)
    check_number("epsilon", epsilon)
    return Squared(float(alpha)) if name == "squared" else EpsilonInsensitive(float(C), epsilon)


def classification_problems(
    loss: Loss, data: TrainingData, target: Target, *, intercept: bool
) -> Problems:
    """Return the machines of all classes, each against the rest; one for two classes.

    Parameters
    ----------
    loss : Loss
        Without weights of samples, which are those of the data.
    data : TrainingData
    target : Target
    intercept : bool
    """
    assert target.classes is not None
    signs = one_against_rest(data.y, target.classes)
    return Problems(loss.with_weights(data.weights.given), signs, intercept)


def regression_problems(loss: Loss, data: TrainingData, *, intercept: bool) -> Problems:
    """Return the machines of all responses.

    Parameters
    ----------
    loss : Loss
        Without weights of samples, which are those of the data.
    data : TrainingData
    intercept : bool
    """
    responses = check_array(data.y, ensure_2d=False, dtype=np.float64, input_name="y")
    Y = responses.reshape(len(responses), -1)
    check_squares(Y, "y")
    return Problems(loss.with_weights(data.weights.given), Y, intercept)


@dataclass(frozen=True)
class LearnedKernel:
    """A learned kernel, the machines that it was learned with, and the steps taken.

    Attributes
    ----------
    samples : Samples
    kernels : sequence of Kernel
    weights : ndarray of shape (n_kernels,)
        Coefficients of the kernels as given.
    traces : ndarray of shape (n_kernels,)
        Traces of the kernels' Gram matrices, centered where the machines have intercepts.
    alignment : float
        Centered alignment of the weighted sum with the target.
    machines : LearnedWeights
    gap : float
        Bound on how far the objective is above its optimum, relative to it.
    history : list
    """

    samples: Samples
    kernels: Sequence[Kernel]
    weights: Array
    traces: Array
    alignment: float
    machines: LearnedWeights
    gap: float
    history: list[Any]


def store_machines(
    model: Any, data: TrainingData, learned: LearnedKernel, *, intercept: bool
) -> None:
    """Set the fitted attributes that all estimators with kernel machines have.

    Parameters
    ----------
    model : KernelMachines
    data : TrainingData
    learned : LearnedKernel
    intercept : bool
    """
    machines, samples = learned.machines, learned.samples
    model.X_fit_ = data.stored
    model.weights_ = learned.weights
    model.kernel_ = WeightedSum(learned.kernels, learned.weights)
    model.shares_ = trace_shares(learned.weights, learned.traces)
    model.alignment_ = learned.alignment
    model.objective_ = machines.objective
    model.dual_gap_ = learned.gap
    model.dual_coef_ = data.of_all(machines.dual)
    model.support_ = np.flatnonzero(model.dual_coef_.any(axis=1))
    model.intercept_ = np.zeros(machines.dual.shape[1])
    model.history_ = learned.history
    model.n_iter_ = len(learned.history)
    if intercept:
        # The machines were fitted to the centered kernel. Their values are those of the kernel as
        # it is plus a constant, the intercept.
        rows = np.linspace(0, samples.n_samples - 1, _INTERCEPT_SAMPLES)
        rows = np.unique(rows.round().astype(int))
        used = np.flatnonzero(machines.dual.any(axis=1))
        if samples.stacked:
            here, support = samples.X[np.ix_(rows, used)], None
        else:
            here, support = samples.X[rows], samples.X[used]
        uncentered = _without_intercept(model.kernel_, here, support, machines.dual[used])
        model.intercept_ = (machines.values[rows] - uncentered).mean(axis=0)
