"""What the probabilistic estimators share: a kernel and a posterior learned together."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer._callbacks import reported_steps, with_callbacks
from mercer._gram.dense import gram_alignment
from mercer._gram.tiles import Samples
from mercer._history import ObjectiveStep
from mercer._learners.legacy import KernelEstimator, base_kernels, owned
from mercer._targets import Target, as_target
from mercer._typing import Array, Features
from mercer._validation import check_choice, check_number, check_positive
from mercer.kernels import Kernel, WeightedSum
from mercer.probabilistic._model import LearnedModel, Settings, learn_model
from mercer.probabilistic._posterior import LatentPosterior, ObjectiveName

_CONSTANT = 1e-12
"""A diagonal that varies by less than this part of its largest value is constant."""


class BayesianMKL(KernelEstimator):
    """A kernel learned by a probabilistic objective, and the latent function's posterior.

    A subclass says what the target and the likelihood are.
    """

    _task: ClassVar[Literal["classification", "regression"]]
    _objectives: ClassVar[tuple[ObjectiveName, ...]]

    kernels: Any
    objective: ObjectiveName
    penalty: float
    norm: float
    jitter: float
    learn_parameters: bool
    n_starts: int
    tol: float
    max_iter: int

    kernel_: Kernel
    X_fit_: Any
    dual_coef_: Array
    cholesky_: Array
    scale_: Array
    diagonal_: Array
    objective_: float
    history_: list[ObjectiveStep]

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Features, y: Any) -> Self:
        """Learn the kernel and the posterior.

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
            constant, a setting is out of its range, or a kernel returns NaN or is not positive
            semi-definite.
        """
        self._check_settings()
        features, y = self._validated(X, y)
        target = as_target(y, self._task, features.shape[0])
        Y = self._targets(y, target)
        table = X if hasattr(X, "columns") else features
        kernels = base_kernels(self.kernels, table, Samples(features, self._n_kernels(features)))
        with reported_steps(self) as report:
            model = learn_model(
                Samples(features, len(kernels)), kernels, Y, self._settings(), report
            )
        self._store(model, target.centered)
        self._warn(model)
        self.X_fit_ = None if self._takes_stack() else owned(features, X)
        if self._takes_stack():
            self.diagonal_ = np.einsum("iik->ik", features).copy()
        return self

    @abstractmethod
    def _targets(self, y: Any, target: Target) -> Array:
        """What each latent function is to explain, shape (n_samples, n_problems)."""

    @abstractmethod
    def _settings(self) -> Settings:
        """What is minimized, and how."""

    def _sources(self) -> Any:
        return self.kernels

    def _check_settings(self) -> None:
        check_choice("objective", self.objective, self._objectives)
        check_positive("penalty", self.penalty)
        check_number("norm", self.norm, low=1.0)
        check_positive("jitter", self.jitter)
        if not isinstance(self.learn_parameters, bool | np.bool_):
            raise ValueError(
                f"learn_parameters must be True or False; got {self.learn_parameters!r}."
            )
        if self.learn_parameters and self.objective in ("map", "mkl"):
            raise ValueError(
                "learn_parameters=True needs an objective that prices the kernels' parameters, "
                f'"mlm" or "vb"; got objective={self.objective!r}.'
            )
        if self.learn_parameters and self._takes_stack():
            raise ValueError(
                "learn_parameters=True needs kernels of features; precomputed Gram matrices have "
                "no parameters."
            )
        check_number("n_starts", self.n_starts, whole=True, low=1)
        check_positive("tol", self.tol)
        check_number("max_iter", self.max_iter, whole=True, low=1)

    def _store(self, model: LearnedModel, target: Array) -> None:
        self.weights_ = model.weights
        self.kernel_ = WeightedSum(model.kernels, model.weights)
        self.alignment_ = gram_alignment(model.K, target)
        parts = model.weights * model.traces
        self.shares_ = parts / parts.sum() if parts.any() else parts
        self.dual_coef_ = model.posterior.alpha
        factors = model.posterior.factors
        self.cholesky_ = np.array([factor for factor, _ in factors])
        self.scale_ = np.array([scale for _, scale in factors])
        self.objective_ = model.value
        self.history_ = model.history
        self.objective_history_ = np.array([step.objective for step in model.history])
        self.n_iter_ = len(model.history)
        if self.objective in ("mlm", "vb"):
            self.log_marginal_likelihood_ = -0.5 * model.value
        if model.gap is not None:
            self.dual_gap_ = model.gap

    def _warn(self, model: LearnedModel) -> None:
        if model.collapsed:
            warnings.warn(
                "The objective is as low without any kernel: joint MAP has collapsed. Raise jitter "
                f"(now {self.jitter:g}), or take an objective that does not, such as "
                'objective="vb".',
                UserWarning,
                stacklevel=4,
            )
        if not model.converged:
            gap = "" if model.gap is None else f", with a relative duality gap of {model.gap:.2g}"
            warnings.warn(
                f"Stopped after {self.n_iter_} steps before tol={self.tol:g} was reached{gap}: "
                f"raise max_iter (now {self.max_iter}), or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _means(self, X: Features) -> Array:
        """Posterior means of the latent functions, shape (n_new, n_problems)."""
        across, _ = self._across(X)
        return self._posterior().means(across)

    def _means_and_variances(self, X: Features, diagonal: Any) -> tuple[Array, Array]:
        """Posterior means and variances, both of shape (n_new, n_problems)."""
        across, features = self._across(X)
        posterior = self._posterior()
        with_themselves = self._diagonal(features, diagonal)
        return posterior.means(across), posterior.variances(across, with_themselves)

    def _posterior(self) -> LatentPosterior:
        factors = tuple(zip(self.cholesky_, self.scale_, strict=True))
        return LatentPosterior(self.dual_coef_, factors)

    def _across(self, X: Features) -> tuple[Array, Features]:
        """The learned kernel between new samples and the training set, and the samples."""
        check_is_fitted(self)
        features = self._new_samples(X)
        if self.X_fit_ is None:
            return self.kernel_(features), features
        return self.kernel_(features, self.X_fit_), features

    def _diagonal(self, features: Features, given: Any) -> Array:
        """The learned kernel of new samples with themselves, shape (n_new,)."""
        if self.X_fit_ is not None:
            if given is not None:
                raise ValueError('diagonal is for kernels="precomputed" only.')
            return self.kernel_.diag(features)
        if given is None:
            given = np.broadcast_to(self._constant_diagonal(), (len(features), self.weights_.size))
        diagonal = check_array(given, dtype=np.float64, input_name="diagonal")
        if diagonal.shape != (len(features), self.weights_.size):
            raise ValueError(
                f"diagonal must have shape {(len(features), self.weights_.size)}, one value for "
                f"each new sample and kernel; got {diagonal.shape}."
            )
        return np.asarray(diagonal @ self.weights_)

    def _constant_diagonal(self) -> Array:
        if np.ptp(self.diagonal_, axis=0).max() > _CONSTANT * np.abs(self.diagonal_).max():
            raise ValueError(
                "Variances need each new sample's kernels with itself: pass them as diagonal, of "
                "shape (n_samples, n_kernels). Only kernels of constant diagonal do without."
            )
        return self.diagonal_[0]
