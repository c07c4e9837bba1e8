"""Bases of the estimators that learn a kernel together with its predictor, and kernel machines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_array
from sklearn.utils.validation import check_is_fitted

from mercer._data.weights import SampleWeights
from mercer._gram.dense import gram_alignment
from mercer._gram.tiles import check_rows_memory
from mercer._kernel_estimator import (
    KernelEstimator,
    TrainingData,
    new_samples,
    reported_steps,
    training_data,
    with_callbacks,
)
from mercer._model_selection.calibration import (
    Calibration,
    class_values,
    held_out_temperature,
)
from mercer._model_selection.prediction_sets import PredictionSetMixin
from mercer._targets import Target, Task, one_against_rest
from mercer._typing import Array, Features
from mercer._validation import check_bool, check_choice, check_number, check_positive, warn
from mercer._weights.mkl import LearnedWeights, Machines
from mercer._weights.rotated_samples import RotatedSamples
from mercer.kernels import Kernel, WeightedSum
from mercer.kernels._composition import trace_shares
from mercer.kernels._distances import check_squares
from mercer.losses import EpsilonInsensitive, Hinge, Logistic, Loss, Squared
from mercer.losses._loss import Problems

Report: TypeAlias = Callable[..., None]


@dataclass(frozen=True)
class LearnedMachines:
    """A learned kernel, and the machines that use it.

    Attributes
    ----------
    kernels : sequence of Kernel
    weights : ndarray of shape (n_kernels,)
        Coefficients of the kernels as given.
    traces : ndarray of shape (n_kernels,)
        Traces of the kernels' Gram matrices.
    machines : Machines
    """

    kernels: Sequence[Kernel]
    weights: Array
    traces: Array
    machines: Machines

    def alignment(self, Y: Array, weights: SampleWeights) -> float:
        """Return the centered alignment of the learned kernel with a centered target factor."""
        return gram_alignment(self.machines.gram, Y, weights)


class OneStage(KernelEstimator):
    """Base of the estimators that learn a kernel together with the machine that uses it."""

    kernels: Any
    class_weight: Any = None
    verbose: bool
    _task: ClassVar[Task]
    _merges_equal_samples: ClassVar[bool] = False

    kernel_: Kernel
    weights_: Array
    X_fit_: Any
    dual_coef_: Array

    @with_callbacks
    def fit(self, X: Features, y: Any, sample_weight: Any = None) -> Self:
        """Learn the kernel together with the machine that uses it.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of Gram matrices of shape (n_samples, n_samples, n_kernels) where `kernels` is
            "precomputed".
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels of a classifier; one or several responses of a regressor.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, by which their losses are multiplied. A weight of two is the
            sample given twice, and a weight of zero the sample left out.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X or y holds NaN or infinities, there is one sample or one class only, a response is
            constant, a parameter is out of its range, a kernel returns NaN, or a weight is
            negative.
        """
        self._check_parameters()
        data = training_data(self, X, y, sample_weight, self.class_weight)
        data = data.merged() if self._merges_equal_samples else data
        target = data.target(self._task)
        Y = self._encoded(data, target)
        kernels = self._kernels_of(data)
        with reported_steps(self) as report:
            learned = self._learn(data, kernels, Y, report)
        self._store(data, target, learned)
        return self

    def _check_parameters(self) -> None:
        """Refuse parameters that are out of their range."""
        raise NotImplementedError

    def _encoded(self, data: TrainingData, target: Target) -> Array:
        """Return the targets of the machines, shape (n_samples, n_problems)."""
        raise NotImplementedError

    def _kernels_of(self, data: TrainingData) -> list[Kernel]:
        """Return the kernels to learn from, bound to the data."""
        return data.dictionary(self.kernels)

    def _learn(
        self, data: TrainingData, kernels: list[Kernel], Y: Array, report: Report
    ) -> LearnedMachines:
        raise NotImplementedError

    def _store(self, data: TrainingData, target: Target, learned: Any) -> None:
        """Set the fitted attributes that all estimators have."""
        machines = learned.machines
        self.kernel_ = WeightedSum(learned.kernels, learned.weights)
        self.weights_ = learned.weights
        self.shares_ = trace_shares(learned.weights, learned.traces)
        self.alignment_ = learned.alignment(target.centered, data.weights)
        self.dual_coef_ = data.of_all(machines.dual)
        self.objective_ = machines.objective
        if machines.gap is not None:
            self.dual_gap_ = machines.gap
        self.history_ = machines.history
        self.n_iter_ = len(machines.history)
        self.X_fit_ = data.stored


class Classifier(ClassifierMixin, OneStage):
    """One problem for two classes, else one for each class against the rest."""

    _task = "classification"
    classes_: NDArray[Any]

    def _encoded(self, data: TrainingData, target: Target) -> Array:
        assert target.classes is not None
        self.classes_ = target.classes
        return one_against_rest(data.y, target.classes)


class Regressor(RegressorMixin, OneStage):
    """One problem for each response."""

    _task = "regression"
    _is_response_flat: bool

    def _encoded(self, data: TrainingData, target: Target) -> Array:
        responses = check_array(data.y, ensure_2d=False, dtype=np.float64, input_name="y")
        self._is_response_flat = responses.ndim == 1
        Y = responses.reshape(len(responses), -1)
        check_squares(Y, "y")
        return np.asarray(Y)

    def _shaped(self, values: Array) -> Array:
        """Return values of shape (n, n_outputs) in the shape of the responses of `fit`."""
        return values[:, 0] if self._is_response_flat else values

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


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
        """Return predicted values of some samples by machines that are fitted to others."""
        if self.rotated is None:
            return self.problems.held_out(self.machines.gram, train, test)
        return self.rotated.held_out(self.weights, self.problems, train, test)


class KernelMachines(OneStage):
    """Kernel machines that share a learned kernel."""

    loss: Any
    tol: float
    fit_intercept: bool = True
    intercept_: Array
    support_: NDArray[np.intp]

    def _loss(self) -> Loss:
        """Return the loss that the parameters stand for, without weights of samples."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        self._loss()
        check_positive("tol", self.tol)
        check_bool("verbose", self.verbose)

    def _stopped_by(self) -> str:
        """Say why a fit stopped above the tolerance, and what to change."""
        raise NotImplementedError

    def _problems(self, data: TrainingData, Y: Array) -> Problems:
        return Problems(self._loss().with_weights(data.weights.given), Y, bool(self.fit_intercept))

    def _store(self, data: TrainingData, target: Target, learned: FittedMachines) -> None:
        super()._store(data, target, learned)
        dual, values = learned.machines.dual, learned.machines.values
        self.support_ = np.flatnonzero(self.dual_coef_.any(axis=1))
        self.intercept_ = np.zeros(dual.shape[1])
        if learned.problems.intercept:
            # The machines were fitted to the centered kernel, and their values differ from those of
            # the uncentered kernel by a constant, the intercept: averaged to lower rounding errors.
            rows = np.unique(np.linspace(0, len(values) - 1, 64).round().astype(int))
            used = np.flatnonzero(dual.any(axis=1))
            uncentered = self._without_intercept(data.X[rows], data.X, used, dual[used])
            self.intercept_ = (values[rows] - uncentered).mean(axis=0)
        if not self.dual_gap_ <= self.tol:
            warn(
                f"Stopped after {self.n_iter_} steps at a relative duality gap of "
                f"{self.dual_gap_:.2g}, above tol={self.tol:g}{self._stopped_by()}",
                ConvergenceWarning,
            )

    def _values(self, X: Features) -> Array:
        """Values of all machines on new samples, shape (n_samples, n_problems)."""
        check_is_fitted(self)
        samples, dual = new_samples(self, X), self.dual_coef_[self.support_]
        values = self._without_intercept(samples, self.X_fit_, self.support_, dual)
        return values + self.intercept_

    def _without_intercept(
        self, samples: Features, fitted: Features, support: NDArray[np.intp], dual: Array
    ) -> Array:
        """The learned kernel on samples and support vectors, times these vectors' coefficients."""
        if not dual.size:
            return np.zeros((samples.shape[0], dual.shape[1]))
        if self.X_fit_ is None:
            return np.asarray(self.kernel_(samples[:, support]) @ dual)
        check_rows_memory(samples.shape[0], support.size)
        return np.asarray(self.kernel_(samples, fitted[support]) @ dual)


class MachineClassifier(PredictionSetMixin, Classifier, KernelMachines):
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
        assert target.codes is not None
        found = held_out_temperature(learned.held_out, target.codes, target.weights)
        self.temperature_, held_out = found
        self._held_out = replace(held_out, numbers=data.numbers[held_out.numbers])

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
        chosen = class_values(self._values(X)).argmax(axis=1)
        return self.classes_[chosen]

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
        They are the softmax of the machines' values times a factor that was fitted to values of
        held-out samples, so that the predicted class has the highest probability. Values of the
        logistic loss are logarithms of odds, which the penalty draws towards zero, for small `C`
        far; the factor makes up for that (benchmarks/probabilities.py).
        """
        values = self._values(X)
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
