"""Kernel machines that share a learned kernel: classifiers and regressors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer._data.copies import with_copies
from mercer._data.folds import N_FOLDS, evenly_spaced
from mercer._data.labels import LabelSet
from mercer._data.types import Array, Features, PerSample
from mercer._data.validation import check_bool, check_choice, check_number, check_positive, warn
from mercer._estimators.fits import with_callbacks
from mercer._estimators.kernel_estimator import TrainingData, new_samples
from mercer._estimators.one_stage.base import Classifier, LearnedMachines, OneStage, Regressor
from mercer._gram.expansion import KernelExpansion, Scale
from mercer._gram.kernel_products import base_grams
from mercer._gram.kernel_sums import KernelSum, RecalledSum, RecalledSumMixin
from mercer._gram.memory import check_rows_memory
from mercer._gram.moments import moments
from mercer._gram.new_rows import validated_rows_of
from mercer._gram.sample_expansion import expansion_at_samples
from mercer._model_selection.calibration import (
    Calibration,
    calibrated_expansion,
    class_values,
    fit_temperatures,
    held_out_temperature,
    label_factors,
)
from mercer._model_selection.deferred import Deferred
from mercer._model_selection.prediction_sets import HeldOutProbabilities, PredictionSetMixin
from mercer._search.targets import Target
from mercer._search.weights.linear_features import (
    LinearFeatures,
    feature_alignment,
    feature_coefficients,
)
from mercer._search.weights.mkl import LearnedWeights
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
    features : LinearFeatures or None
        The features from which the kernel was learned, without its Gram matrix; None if it was
        learned from Gram matrices.
    """

    machines: LearnedWeights
    problems: Problems
    features: LinearFeatures | None = None

    def held_out(self, train: NDArray[np.intp], test: NDArray[np.intp]) -> Array:
        """Return the values for `test` samples of machines that are fitted to `train` samples."""
        if self.features is None:
            return self.problems.held_out(self.machines.gram, train, test)
        return self.features.held_out(self.weights, self.problems, train, test)

    def without_gram(self) -> FittedMachines:
        """Return the machines without the learned Gram matrix, which needs much memory."""
        return replace(self, machines=replace(self.machines, gram=np.empty((0, 0))))

    def with_gram(self, data: TrainingData) -> FittedMachines:
        """Return the machines with the learned Gram matrix of the training samples."""
        if self.machines.gram.size or self.features is not None:
            return self
        grams = base_grams(
            data.samples(len(self.kernels)), self.kernels, centered=self.problems.intercept
        )
        gram = grams.weighted_sum(self.weights)
        return replace(self, machines=replace(self.machines, gram=gram))


def _calibrated_machines(
    data: TrainingData,
    target: Target,
    labels: LabelSet | None,
    learned: FittedMachines,
    seen: NDArray[np.bool_] | None,
) -> tuple[Calibration | list[Calibration], HeldOutProbabilities | None]:
    """Fit calibrations to decision values of samples that machines are repeated without."""
    learned, target = learned.with_gram(data), replace(target, groups=with_copies(data).groups)
    if labels is not None:
        splits = target.resampling.folds(N_FOLDS, None, 0)
        values = np.concatenate([learned.held_out(train, test) for train, test in splits])
        rows = np.concatenate([test for _, test in splits])
        known = labels.values(values), data.y[rows], data.weights.take(rows)
        return fit_temperatures(*known), None
    assert target.codes is not None
    problem = target.codes, target.weights, target.resampling
    calibration, held_out = held_out_temperature(learned.held_out, *problem)
    held_out = replace(held_out, numbers=data.numbers[held_out.numbers])
    return calibration, held_out.of_all(seen)


def _alignment_of(kernel: Kernel, data: TrainingData, target: Target) -> float:
    """Compute the centered alignment of a kernel with a target, tile by tile."""
    found = moments(data.samples(keep=False), [kernel], target.centered)
    return float(found.alignments()[0])


class KernelMachines(RecalledSumMixin, OneStage):
    """Base class of estimators with kernel machines that share a learned kernel."""

    loss: str | Loss
    tol: float
    fit_intercept: bool = True
    intercept_: Array
    support_: NDArray[np.intp]
    _alignment: float | Deferred[float]

    @property
    def alignment_(self) -> float:
        """Centered alignment of the learned kernel with the target on the training set."""
        if "_alignment" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'alignment_'")
        found = self._alignment
        return found() if isinstance(found, Deferred) else found

    def _store_alignment(self, data: TrainingData, target: Target, learned: FittedMachines) -> None:
        kernels, weights = learned.kernels, learned.weights
        if learned.features is not None:
            inputs = kernels, weights, data.X, target
            self._alignment = Deferred(partial(feature_alignment, *inputs))
        elif learned.machines.gram.size:
            self._alignment = learned.alignment(target.centered, data.weights)
        else:
            self._alignment = Deferred(partial(_alignment_of, kernels[0], data, target))

    def _loss(self) -> Loss:
        """Return the loss that the parameters define, without sample weights."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        self._loss()
        check_positive("tol", self.tol)
        check_bool("verbose", self.verbose)

    def _stopped_by(self) -> str:
        """Return the end of a warning: why the fit stopped above `tol`, and what to change."""
        raise NotImplementedError

    def _problems(self, data: TrainingData, Y: Array) -> Problems:
        return Problems(self._loss().with_weights(data.weights.given), Y, bool(self.fit_intercept))

    def _store(self, data: TrainingData, target: Target, learned: FittedMachines) -> None:
        super()._store(data, target, learned)
        self._recalled = RecalledSum()
        dual, values = learned.machines.dual, learned.machines.values
        self.support_ = np.flatnonzero(self.dual_coef_.any(axis=1))
        known = learned.machines.intercepts
        self.intercept_ = np.zeros(dual.shape[1]) if known is None else known
        if learned.problems.intercept and known is None:
            # The machines were fitted to the centered kernel. Their values differ from those of the
            # uncentered kernel by the intercept, which is averaged to reduce rounding errors.
            rows = evenly_spaced(len(values), 64)
            if learned.features is None:
                used = np.flatnonzero(dual.any(axis=1))
                uncentered = self._without_intercept(data.X[rows], data.X, used, dual[used])
            else:
                of_features = feature_coefficients(learned.kernels, learned.weights, data.X, dual)
                uncentered = data.X[rows] @ of_features
            self.intercept_ = (values[rows] - uncentered).mean(axis=0)
        if not self.dual_gap_ <= self.tol:
            warn(
                f"Stopped after {self.n_iter_} steps at a relative duality gap of "
                f"{self.dual_gap_:.2g}, above tol={self.tol:g}{self._stopped_by()}",
                ConvergenceWarning,
            )

    def _values(self, X: Features) -> Array:
        """Return the values of all machines on new samples, of shape (n_samples, n_problems)."""
        check_is_fitted(self)
        samples, function = new_samples(self, X), self._kernel_sum()
        if function is not None:
            return function(samples)
        known = self.X_fit_, self.support_, self.dual_coef_[self.support_]
        return self._without_intercept(samples, *known) + self.intercept_

    def _kernel_sum(self) -> KernelSum | None:
        """Return the values of the machines as a function of rows; None for precomputed stacks."""
        kernel, fitted, dual = self.kernel_, self.X_fit_, self.dual_coef_
        if fitted is None:
            return None

        def made() -> KernelSum:
            used = self.support_
            constant = self.intercept_ + kernel.offset * dual.sum(axis=0)
            return KernelSum(kernel, fitted[used], dual[used], constant)

        return self._recalled.of((kernel, fitted, dual, self.support_, self.intercept_), made)

    def _machines_expansion(self, scale: Scale) -> KernelExpansion:
        """Return the kernel expansion of the values of all machines."""
        samples = partial(new_samples, self)
        return expansion_at_samples(self, self.dual_coef_, self.intercept_, scale, samples=samples)

    def _without_intercept(
        self, samples: Features, fitted: Features, support: NDArray[np.intp], dual: Array
    ) -> Array:
        """Return the product of the kernel between samples and support vectors with `dual`."""
        if not dual.size:
            return np.zeros((samples.shape[0], dual.shape[1]))
        if self.X_fit_ is None:
            return np.asarray(self.kernel_(samples[:, support]) @ dual)
        check_rows_memory(samples.shape[0], support.size)
        return np.asarray(validated_rows_of(self.kernel_, samples, fitted[support]) @ dual)


class MachineClassifier(PredictionSetMixin, Classifier, KernelMachines):
    """Base class of classifiers, with one machine for two classes, or one per class or label."""

    C: float
    _later: Deferred[tuple[Calibration | list[Calibration], HeldOutProbabilities | None]]

    def _loss(self) -> Loss:
        if isinstance(self.loss, Loss):
            return _unweighted(self.loss)
        check_choice("loss", self.loss, ("hinge", "squared", "logistic"))
        check_positive("C", self.C)
        if self.loss == "squared":
            return Squared(1.0 / float(self.C))
        return Hinge(float(self.C)) if self.loss == "hinge" else Logistic(float(self.C))

    @with_callbacks
    def fit(
        self,
        X: Features,
        y: npt.ArrayLike,
        sample_weight: PerSample = None,
        groups: PerSample = None,
    ) -> Self:
        """Learn the kernel together with the machine that uses it.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of Gram matrices of shape (n_samples, n_samples, n_kernels) if `kernels` is
            "precomputed".
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Class labels, or indicators of several labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, by which their losses are multiplied. A weight of two has the
            same effect as giving the sample twice, and a weight of zero leaves it out.
        groups : array-like of shape (n_samples,), default=None
            Groups of the samples, such as patients or days, as numbers or strings. Samples of a
            group are held out together when probabilities are learned. Without groups, copies of a
            row are held out together.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X contains NaN or infinities, there is only one sample, one class or one group, a
            parameter is out of its range, a kernel returns NaN, or a weight is negative.
        """
        self._check_parameters()
        data = self._data_of(X, y, sample_weight)
        return self._fit_data(data.grouped(groups))

    def _store(self, data: TrainingData, target: Target, learned: FittedMachines) -> None:
        super()._store(data, target, learned)
        is_large = not data.pairwise and learned.features is None
        kept = learned.without_gram() if is_large else learned
        inputs = data, target, self._labels, kept, self._seen
        self._later = Deferred(partial(_calibrated_machines, *inputs))
        if not is_large:
            self._later()

    @property
    def temperature_(self) -> Calibration | list[Calibration]:
        """Calibration of decision values; a list of one for each label if there are several."""
        return self._calibrated("temperature_")[0]

    @property
    def _held_out(self) -> HeldOutProbabilities:  # type: ignore[override]
        if (found := self._calibrated("_held_out")[1]) is None:
            raise AttributeError("There are no probabilities of classes for several labels.")
        return found

    def _calibrated(
        self, name: str
    ) -> tuple[Calibration | list[Calibration], HeldOutProbabilities | None]:
        if "_later" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self._later()

    def decision_function(self, X: Features) -> Array:
        """Return the decision values of the samples.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) if `kernels` is "precomputed".

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, ``classes_[1]`` is predicted if the value is positive. If samples have
            several labels, the labels with positive values are predicted.
        """
        values = self._all_values(self._values(X))
        alone = self._labels is None and values.shape[1] == 1
        return self._decision_values(values[:, 0] if alone else values)

    def predict(self, X: Features) -> Array:
        """Predict classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) if `kernels` is "precomputed".

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Classes, or indicators of several labels.
        """
        if self._labels is not None:
            return (self.decision_function(X) > 0.0).astype(int)
        chosen = class_values(self._values(X)).argmax(axis=1)
        return self._fitted_classes[chosen]

    def predict_proba(self, X: Features) -> Array:
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) if `kernels` is "precomputed".

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities in the order of `classes_`. If samples have several labels, each column is
            the probability of one label.

        Notes
        -----
        The probabilities are the softmax of the decision values times a factor that is fitted to
        the decision values of held-out samples. The predicted class has the highest probability.
        With the logistic loss, the decision values are log-odds, which the penalty shrinks towards
        zero, strongly for small `C`. The factor compensates for the shrinkage.
        """
        values, temperature = self._values(X), self.temperature_
        if isinstance(temperature, list):
            return np.asarray(expit(self._all_values(values) * label_factors(temperature)))
        return self._probabilities(temperature.probabilities(class_values(values)))

    def _expansion(self) -> KernelExpansion:
        found, temperature = self._machines_expansion("decision value"), self.temperature_
        if isinstance(temperature, list):
            return self._label_expansion(found, label_factors(temperature))
        return calibrated_expansion(found, temperature, self._fitted_classes)


class MachineRegressor(Regressor, KernelMachines):
    """Base class of regressors, with one kernel machine for each response."""

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
            A stack of shape (n_samples, n_fitted, n_kernels) if `kernels` is "precomputed".

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return self._shaped(self._values(X))

    def _expansion(self) -> KernelExpansion:
        return self._machines_expansion("response")


def _unweighted(loss: Loss) -> Loss:
    """Return the loss; raise an error if it has sample weights, which belong in `fit`."""
    if loss.weights is not None:
        raise ValueError("loss must have no weights: pass them to fit, as sample_weight.")
    return loss
