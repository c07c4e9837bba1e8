"""Kernel machines on a learned kernel: their losses, predictions, and probabilities of classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from mercer._data.weights import SampleWeights
from mercer._gram.tiles import check_rows_memory
from mercer._kernel_estimator import TrainingData, new_samples
from mercer._model_selection.calibration import Calibration, fit_temperature
from mercer._one_stage.base import (
    Classifier,
    LearnedMachines,
    OneStage,
    Regressor,
    normalized_probabilities,
)
from mercer._targets import Target
from mercer._typing import Array, Features
from mercer._validation import check_choice, check_number, check_positive
from mercer._weights.mkl import LearnedWeights
from mercer._weights.rotated_samples import RotatedSamples
from mercer.kernels import Kernel
from mercer.losses import EpsilonInsensitive, Hinge, Logistic, Loss, Squared
from mercer.losses._loss import Problems


@dataclass(frozen=True)
class FittedMachines(LearnedMachines):
    """Kernel machines on a learned kernel.

    Attributes
    ----------
    machines : LearnedWeights
    problems : Problems
    rotated : RotatedSamples or None
        The samples that the kernel was learned from; the learned Gram matrix is theirs.
    """

    machines: LearnedWeights
    problems: Problems
    rotated: RotatedSamples | None = None

    def alignment(self, Y: Array, weights: SampleWeights) -> float:
        """Return the alignment with a target; see :meth:`LearnedMachines.alignment`."""
        if self.rotated is None:
            return super().alignment(Y, weights)
        return self.rotated.alignment(self.machines.gram, self.weights, Y)

    def held_out(self, train: NDArray[np.intp], test: NDArray[np.intp]) -> Array:
        """Return values for held-out samples of machines that are fitted to others.

        Parameters
        ----------
        train, test : ndarray of int
            Indices of the samples.
        """
        if self.rotated is None:
            return self.problems.held_out(self.machines.gram, train, test)
        return self.rotated.held_out(self.weights, self.problems, train, test)


class KernelMachines(OneStage):
    """Kernel machines that share a learned kernel."""

    loss: Any
    fit_intercept: bool = True
    intercept_: Array
    support_: NDArray[np.intp]

    def _loss(self) -> Loss:
        """Return the loss that the parameters stand for, without weights of samples."""
        raise NotImplementedError

    def _problems(self, data: TrainingData, Y: Array) -> Problems:
        return Problems(self._loss().with_weights(data.weights.given), Y, bool(self.fit_intercept))

    def _store(self, data: TrainingData, target: Target, learned: FittedMachines) -> None:
        super()._store(data, target, learned)
        dual, values = learned.machines.dual, learned.machines.values
        self.support_ = np.flatnonzero(self.dual_coef_.any(axis=1))
        self.intercept_ = np.zeros(dual.shape[1])
        if learned.problems.intercept:
            # The machines were fitted to the centered kernel. Their values are those of the kernel
            # as it is plus a constant, the intercept: the mean over some samples, as it is the same
            # for all up to rounding.
            rows = np.unique(np.linspace(0, len(values) - 1, 64).round().astype(int))
            used = np.flatnonzero(dual.any(axis=1))
            X, stacked = data.X, data.stored is None
            here, support = (X[np.ix_(rows, used)], None) if stacked else (X[rows], X[used])
            uncentered = _without_intercept(self.kernel_, here, support, dual[used])
            self.intercept_ = (values[rows] - uncentered).mean(axis=0)

    def _values(self, X: Features) -> Array:
        """Values of all machines on new samples, shape (n_samples, n_problems)."""
        check_is_fitted(self)
        samples, dual = new_samples(self, X), self.dual_coef_[self.support_]
        if self.X_fit_ is None:
            samples, support = samples[:, self.support_], None
        else:
            support = self.X_fit_[self.support_]
        return _without_intercept(self.kernel_, samples, support, dual) + self.intercept_


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


class MachineClassifier(Classifier, KernelMachines):
    """One kernel machine for two classes, else one for each class against the rest."""

    C: float
    temperature_: Calibration

    def _loss(self) -> Loss:
        if isinstance(self.loss, Loss):
            return _unweighted(self.loss)
        check_choice("loss", self.loss, ("hinge", "squared", "logistic"))
        check_positive("C", self.C)
        if self.loss == "squared":
            return Squared(1.0 / float(self.C))
        return Hinge(float(self.C)) if self.loss == "hinge" else Logistic(float(self.C))

    def _store(self, data: TrainingData, target: Target, learned: FittedMachines) -> None:
        super()._store(data, target, learned)
        # Values of the logistic loss are the logarithms of odds.
        if not isinstance(self._loss(), Logistic):
            assert target.codes is not None
            self.temperature_ = held_out_temperature(learned.held_out, target.codes, target.weights)

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
        if isinstance(self._loss(), Logistic):
            return normalized_probabilities(expit(values))
        return self.temperature_.probabilities(class_values(values))


class MachineRegressor(Regressor, KernelMachines):
    """One kernel machine for each response."""

    alpha: float
    epsilon: float

    def _loss(self) -> Loss:
        if isinstance(self.loss, Loss):
            if self.loss.for_labels:
                raise ValueError(f"{self.loss!r} is a loss of labels, not of responses.")
            return _unweighted(self.loss)
        check_choice("loss", self.loss, ("squared", "epsilon_insensitive"))
        check_positive("alpha", self.alpha)
        check_number("epsilon", self.epsilon)
        if self.loss == "squared":
            return Squared(float(self.alpha))
        return EpsilonInsensitive(1.0 / float(self.alpha), float(self.epsilon))

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
        return self._shaped(self._values(X))


def _unweighted(loss: Loss) -> Loss:
    """Return a loss that has no weights of samples, which `fit` takes."""
    if loss.weights is not None:
        raise ValueError("loss must have no weights: pass them to fit, as sample_weight.")
    return loss


def class_values(values: Array) -> Array:
    """Values with one column for each class, of one machine for two classes, or of one for each.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_problems)
    """
    return np.hstack([-values, values]) if values.shape[1] == 1 else values


def held_out_temperature(
    held_out: Callable[[NDArray[np.intp], NDArray[np.intp]], Array],
    codes: NDArray[np.intp],
    weights: SampleWeights,
    cv: int = 5,
) -> Calibration:
    """Fit probabilities of the classes to values of held-out samples.

    Parameters
    ----------
    held_out : callable
        From indices of training and held-out samples to the machines' values for the latter.
    codes : ndarray of int of shape (n_samples,)
        Classes.
    weights : SampleWeights
    cv : int, default=5
        Number of folds, in which classes are in proportion.

    Returns
    -------
    Calibration
        For what :func:`class_values` returns.

    Notes
    -----
    The kernel is that of the whole fit, and machines alone are fitted in the folds. They take a
    tenth to a fifth of the time in which kernel and machines were learned.
    """
    order = np.random.default_rng(0).permutation(codes.size)
    fold = np.empty(codes.size, dtype=int)
    fold[order[np.argsort(codes[order], kind="stable")]] = np.arange(codes.size) % cv
    tests = [np.flatnonzero(fold == number) for number in range(min(cv, codes.size))]
    found = [held_out(np.flatnonzero(fold != k), test) for k, test in enumerate(tests)]
    rows, values = np.concatenate(tests), class_values(np.concatenate(found))
    return fit_temperature(values, codes[rows], weights.take(rows).given)
