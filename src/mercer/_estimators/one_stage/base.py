"""Base classes of the estimators that learn a kernel together with its predictor."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags, check_array

from mercer._data.classes import ClassesMixin, all_labels
from mercer._data.labels import LabelSet, label_indicators, refuse_class_weight
from mercer._data.types import Array, ClassWeight, Features, PerSample
from mercer._data.weights import SampleWeights
from mercer._estimators.fits import reported_steps, with_callbacks
from mercer._estimators.kernel_estimator import KernelEstimator, TrainingData, training_data
from mercer._gram.dense import gram_alignment
from mercer._gram.expansion import KernelExpansion
from mercer._gram.own_kernels import warn_of_indefinite
from mercer._search.targets import Target, Task, one_against_rest
from mercer._search.weights.mkl import Machines
from mercer.kernels import Kernel, WeightedSum
from mercer.kernels._column_names import with_names
from mercer.kernels._conversion import KernelDictionary
from mercer.kernels._distances import check_squares

Report: TypeAlias = Callable[..., None]


@dataclass(frozen=True)
class LearnedMachines:
    """A learned kernel and the machines that use it.

    Attributes
    ----------
    kernels : sequence of Kernel
    weights : ndarray of shape (n_kernels,)
        Coefficients of the given kernels.
    shares : ndarray of shape (n_kernels,)
        Share of each kernel in the learned kernel, by the traces of Gram matrices.
    machines : Machines
    """

    kernels: Sequence[Kernel]
    weights: Array
    shares: Array
    machines: Machines

    def alignment(self, Y: Array, weights: SampleWeights) -> float:
        """Return the centered alignment of the learned kernel with a centered target factor."""
        return gram_alignment(self.machines.gram, Y, weights)


class OneStage(KernelEstimator):
    """Base class of the estimators that learn a kernel together with the machine that uses it."""

    kernels: KernelDictionary
    class_weight: ClassWeight = None
    verbose: bool
    _task: ClassVar[Task]

    kernel_: Kernel
    weights_: Array
    X_fit_: Features
    dual_coef_: Array

    @with_callbacks
    def fit(self, X: Features, y: npt.ArrayLike, sample_weight: PerSample = None) -> Self:
        """Learn the kernel together with the machine that uses it.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of Gram matrices of shape (n_samples, n_samples, n_kernels) if `kernels` is
            "precomputed".
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels or indicators of several labels for a classifier, and one or several
            responses for a regressor.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, by which their losses are multiplied. A weight of two has the
            same effect as giving the sample twice, and a weight of zero leaves it out.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X or y contains NaN or infinities, or a weight is negative. If there is only one
            sample or one class, or a response is constant. If a parameter is out of its range, or a
            kernel returns NaN.
        """
        self._check_parameters()
        return self._fit_data(self._data_of(X, y, sample_weight))

    def _data_of(self, X: Features, y: npt.ArrayLike, sample_weight: PerSample) -> TrainingData:
        """Return the validated arguments of a fit."""
        return training_data(self, X, y, sample_weight)

    def _fit_data(self, data: TrainingData) -> Self:
        """Learn from validated data."""
        data = self._merged(data)
        target = self._target_of(data)
        Y = self._encoded(data, target)
        kernels = self._kernels_of(data)
        with reported_steps(self) as report:
            learned = self._learn(data, kernels, Y, report)
        self._store(data, target, learned)
        return self

    def _merged(self, data: TrainingData) -> TrainingData:
        """Return the data, in which samples that are equal may be merged."""
        return data

    def _check_parameters(self) -> None:
        """Raise an error if a parameter is out of its range."""
        raise NotImplementedError

    def _target_of(self, data: TrainingData) -> Target:
        """Return the target that the learned kernel is aligned with."""
        return data.target(self._task)

    def _encoded(self, data: TrainingData, target: Target) -> Array:
        """Return the targets of the machines, of shape (n_samples, n_problems)."""
        raise NotImplementedError

    def _kernels_of(self, data: TrainingData) -> list[Kernel]:
        """Return the kernels from which one is learned, bound to the data."""
        return data.observed.dictionary(self.kernels)

    def _learn(
        self, data: TrainingData, kernels: list[Kernel], Y: Array, report: Report
    ) -> LearnedMachines:
        raise NotImplementedError

    def _store(self, data: TrainingData, target: Target, learned: Any) -> None:
        """Set the fitted attributes that all estimators share."""
        machines = learned.machines
        self.kernel_ = with_names(WeightedSum(learned.kernels, learned.weights), self)
        self.weights_ = learned.weights
        self.shares_ = learned.shares
        self._store_alignment(data, target, learned)
        self.dual_coef_ = data.of_all(machines.dual)
        self.objective_ = machines.objective
        if machines.gap is not None:
            self.dual_gap_ = machines.gap
        self.history_ = machines.history
        self.n_iter_ = len(machines.history)
        self.X_fit_ = data.stored
        warn_of_indefinite(learned.kernels, learned.weights, data.X)

    def _store_alignment(self, data: TrainingData, target: Target, learned: Any) -> None:
        """Set the alignment of the learned kernel with the target."""
        self.alignment_ = learned.alignment(target.centered, data.weights)


class Classifier(ClassesMixin, ClassifierMixin, OneStage):
    """Base class of classifiers, with one problem for two classes, or one per class or label."""

    _task: ClassVar[Task] = "classification"
    _labels: LabelSet | None = None
    """The set of labels if samples have several labels; None otherwise."""

    def _data_of(self, X: Features, y: npt.ArrayLike, sample_weight: PerSample) -> TrainingData:
        """Return the validated arguments of a fit."""
        if (labels := label_indicators(y)) is not None:
            refuse_class_weight(self.class_weight)
            y = labels
        return training_data(self, X, y, sample_weight, self.class_weight)

    def _target_of(self, data: TrainingData) -> Target:
        self._labels = None
        if label_indicators(data.y) is None:
            return super()._target_of(data)
        self._labels = LabelSet.of(data.y)
        return data.target(self._task, "multilabel")

    def _encoded(self, data: TrainingData, target: Target) -> Array:
        if self._labels is not None:
            classes = np.arange(data.y.shape[1])
            self._set_classes(classes, classes)
            return self._labels.signs(data.y)
        assert target.classes is not None
        self._set_classes(all_labels(data), target.classes)
        return one_against_rest(data.y, target.classes)

    def _all_values(self, values: Array) -> Array:
        """Return the values of the problems, or of all labels if there are several per sample."""
        return values if self._labels is None else self._labels.values(values)

    def _label_expansion(self, found: KernelExpansion, factors: Array) -> KernelExpansion:
        """Return the expansion of the log-odds of all labels, from one for the varying labels."""
        assert self._labels is not None
        matrix = np.eye(len(factors))[self._labels.varies] * factors
        constant = np.where(self._labels.varies, 0.0, self._labels.constant * factors)
        return replace(
            found,
            terms=[term.mapped(matrix) for term in found.terms],
            intercept=found.intercept @ matrix + constant,
            scale="log-odds",
            outputs=tuple(map(str, self.classes_)),
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class Regressor(RegressorMixin, OneStage):
    """Base class of regressors, with one problem for each response."""

    _task = "regression"
    _is_response_flat: bool

    def _encoded(self, data: TrainingData, target: Target) -> Array:
        responses = check_array(data.y, ensure_2d=False, dtype=np.float64, input_name="y")
        self._is_response_flat = responses.ndim == 1
        Y = responses.reshape(len(responses), -1)
        check_squares(Y, "y")
        return np.asarray(Y)

    def _shaped(self, values: Array) -> Array:
        """Return values of shape (n, n_outputs) in the shape of the responses given to `fit`."""
        return values[:, 0] if self._is_response_flat else values

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
