"""What the one-stage estimators share: a kernel and a machine learned together, and predictions."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_array
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._callbacks import reported_steps, with_callbacks
from mercer._gram.dense import gram_alignment
from mercer._gram.tiles import Samples
from mercer._learners.legacy import KernelEstimator, owned
from mercer._targets import Target, as_target, one_against_rest
from mercer._typing import Array, Features
from mercer._validation import check_choice, check_number, check_positive
from mercer._weights.mkl import LearnedWeights, Problems
from mercer.kernels import Kernel, WeightedSum
from mercer.losses import EpsilonInsensitive, Hinge, Logistic, Loss, Squared

_ROWS = 64
"""Samples that the shift of the values is read off."""


class OneStage(KernelEstimator):
    """A kernel learned together with the machine that uses it.

    A subclass implements `_learn`, which calls `_store`, and a mixin says what the target is.
    """

    _task: ClassVar[Literal["classification", "regression"]]

    tol: float
    n_iter_: int
    kernel_: Kernel
    weights_: Array
    X_fit_: Any
    dual_coef_: Array
    intercept_: Array
    support_: NDArray[np.intp]

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Features, y: Any) -> Self:
        """Learn the kernel and the machine.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of Gram matrices of shape (n_samples, n_samples, n_kernels) where `kernels` is
            "precomputed".
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels or responses.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X or y holds NaN or infinities, there is one sample or one class only, a response is
            constant, a setting is out of its range, or a kernel returns NaN.
        """
        self._check_settings()
        features, y = self._validated(X, y)
        target = as_target(y, self._task, features.shape[0])
        problems = Problems(self._loss(), self._targets(y, target), self._has_intercept())
        samples = Samples(features, self._n_kernels(features))
        table = X if hasattr(X, "columns") else features
        with reported_steps(self) as report:
            self._learn(table, samples, target, problems, report)
        self.X_fit_ = None if self._takes_stack() else owned(features, X)
        return self

    @abstractmethod
    def _check_settings(self) -> None:
        """Refuse settings that are out of their range."""

    @abstractmethod
    def _check_loss(self) -> None:
        """Refuse a loss, or settings of it, that are unknown or out of their range."""

    @abstractmethod
    def _loss(self) -> Loss:
        """The loss of the machines."""

    @abstractmethod
    def _targets(self, y: Any, target: Target) -> Array:
        """What each machine is to predict, shape (n_samples, n_problems)."""

    @abstractmethod
    def _learn(
        self,
        table: Features,
        samples: Samples,
        target: Target,
        problems: Problems,
        report: Callable[..., None],
    ) -> None:
        """Learn the kernel and the machines, and store them."""

    def _has_intercept(self) -> bool:
        return True

    def _store(
        self,
        samples: Samples,
        target: Target,
        kernels: list[Kernel],
        weights: Array,
        machines: LearnedWeights,
    ) -> None:
        """Keep the learned kernel and the machines."""
        self.weights_ = weights
        self.kernel_ = WeightedSum(kernels, weights)
        self.alignment_ = gram_alignment(machines.gram, target.centered)
        self.objective_ = machines.objective
        self.dual_coef_ = machines.dual
        self.support_ = np.flatnonzero(machines.dual.any(axis=1))
        self.intercept_ = np.zeros(machines.dual.shape[1])
        if self._has_intercept():
            # Centering shifts a machine's values by a constant, which any sample shows.
            rows = np.unique(np.linspace(0, samples.n_samples - 1, _ROWS).round().astype(int))
            there = self._combined(samples.X[rows], samples.X[self.support_])
            self.intercept_ = (machines.values[rows] - there).mean(axis=0)

    def _warn(self, message: str) -> None:
        warnings.warn(message, ConvergenceWarning, stacklevel=5)

    def _values(self, X: Features) -> Array:
        """Values of all machines on new samples, shape (n_samples, n_problems)."""
        check_is_fitted(self)
        samples = self._new_samples(X)
        support = None if self.X_fit_ is None else self.X_fit_[self.support_]
        return self._combined(samples, support) + self.intercept_

    def _combined(self, samples: Features, support: Features | None) -> Array:
        """The learned kernel between samples and the support, times the dual coefficients."""
        if not self.support_.size:
            return np.zeros((samples.shape[0], self.dual_coef_.shape[1]))
        stacked = self._takes_stack()
        gram = (
            self.kernel_(samples[:, self.support_]) if stacked else self.kernel_(samples, support)
        )
        return np.asarray(gram @ self.dual_coef_[self.support_])


class OneStageClassifier(ClassifierMixin, OneStage):
    """Classes: one machine for two of them, else one for each against the rest."""

    _task = "classification"

    loss: str
    C: float
    classes_: NDArray[Any]

    def decision_function(self, X: Features) -> Array:
        """Decision values.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) where `kernels` is "precomputed".

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, positive values speak for ``classes_[1]``.
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

    @available_if(lambda self: self._is_logistic())  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Features) -> Array:
        """Class probabilities; of the logistic loss only.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) where `kernels` is "precomputed".

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`; for more than two, each class's own probability divided by
            their sum.
        """
        own = expit(self._values(X))
        if own.shape[1] == 1:
            return np.hstack([1.0 - own, own])
        return np.asarray(own / own.sum(axis=1, keepdims=True))

    def _is_logistic(self) -> bool:
        if self.loss != "logistic":
            raise AttributeError('predict_proba is available with loss="logistic" only.')
        return True

    def _check_loss(self) -> None:
        check_choice("loss", self.loss, ("hinge", "squared", "logistic"))
        check_positive("C", self.C)

    def _loss(self) -> Loss:
        losses: dict[str, Callable[[float], Loss]] = {
            "hinge": Hinge,
            "logistic": Logistic,
            "squared": lambda C: Squared(1.0 / C),
        }
        return losses[self.loss](float(self.C))

    def _targets(self, y: Any, target: Target) -> Array:
        assert target.classes is not None
        self.classes_ = target.classes
        return one_against_rest(y, self.classes_)


class OneStageRegressor(RegressorMixin, OneStage):
    """Responses: one machine for each."""

    _task = "regression"

    loss: str
    alpha: float
    C: float
    epsilon: float

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
        return values[:, 0] if self._one_column else values

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _check_loss(self) -> None:
        check_choice("loss", self.loss, ("squared", "epsilon_insensitive"))
        check_positive("alpha", self.alpha)
        check_positive("C", self.C)
        check_number("epsilon", self.epsilon)

    def _loss(self) -> Loss:
        if self.loss == "squared":
            return Squared(float(self.alpha))
        return EpsilonInsensitive(float(self.C), float(self.epsilon))

    def _targets(self, y: Any, target: Target) -> Array:
        responses = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        self._one_column = responses.ndim == 1
        return responses.reshape(len(responses), -1)
