"""The base of the probabilistic estimators: validation of settings, attributes, predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer._gram.moments import gram_alignment
from mercer._history import ObjectiveStep
from mercer._kernel_estimator import KernelEstimator, TrainingData, kernel_rows, new_samples
from mercer._targets import Target
from mercer._typing import Array, Features
from mercer._validation import check_bool, check_choice, check_number, check_positive, warn
from mercer.kernels import Kernel, WeightedSum
from mercer.probabilistic._learned_model import LatentPosterior, LearnedModel
from mercer.probabilistic._model import LikelihoodName, Settings
from mercer.probabilistic._objectives import ObjectiveName

_CONSTANT = 1e-12
"""A diagonal is constant if it varies by less than this fraction of its largest value."""


class BayesianMKL(KernelEstimator):
    """Base of the estimators that learn a kernel by a probabilistic objective."""

    kernels: Any
    objective: ObjectiveName
    weight_penalty: float
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

    def _store(self, model: LearnedModel, data: TrainingData, target: Target) -> None:
        """Set the fitted attributes that classifiers and regressors share."""
        self.weights_ = model.weights
        self.kernel_ = WeightedSum(model.kernels, model.weights)
        self.alignment_ = gram_alignment(model.K, target.centered)
        traces = model.weights * model.traces
        self.shares_ = traces / traces.sum() if traces.any() else traces
        self.dual_coef_ = model.posterior.alpha
        factors = model.posterior.factors
        self.cholesky_ = np.array([factor for factor, _ in factors])
        self.scale_ = np.array([scale for _, scale in factors])
        self.objective_ = model.value
        self.history_ = model.history
        self.objective_history_ = np.array([step.objective for step in model.history])
        self.n_iter_ = len(model.history)
        if self.objective in ("marginal_likelihood", "vb"):
            self.log_marginal_likelihood_ = -0.5 * model.value
        if model.gap is not None:
            self.dual_gap_ = model.gap
        self.X_fit_ = data.stored
        if data.stored is None:
            self.diagonal_ = np.einsum("iik->ik", data.features).copy()

    def _means(self, X: Features) -> Array:
        """Return posterior means of the latent functions, shape (n_new, n_problems)."""
        return self._posterior().means(kernel_rows(self, X))

    def _means_and_variances(self, X: Features, diagonal: Any) -> tuple[Array, Array]:
        """Return posterior means and variances, both of shape (n_new, n_problems)."""
        across, posterior = kernel_rows(self, X), self._posterior()
        with_themselves = self._diagonal(new_samples(self, X), diagonal)
        return posterior.means(across), posterior.variances(across, with_themselves)

    def _posterior(self) -> LatentPosterior:
        check_is_fitted(self)
        factors = tuple(zip(self.cholesky_, self.scale_, strict=True))
        return LatentPosterior(self.dual_coef_, factors)

    def _diagonal(self, features: Features, given: Any) -> Array:
        """Return the learned kernel of new samples with themselves, shape (n_new,)."""
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
        """Return the kernels' diagonals on the training set, if they are constant."""
        if np.ptp(self.diagonal_, axis=0).max() > _CONSTANT * np.abs(self.diagonal_).max():
            raise ValueError(
                "Variances need each new sample's kernels with itself: pass them as diagonal, of "
                "shape (n_samples, n_kernels). Only kernels of constant diagonal do without."
            )
        return self.diagonal_[0]


def validated_settings(
    estimator: Any, likelihood: LikelihoodName, objectives: tuple[ObjectiveName, ...]
) -> Settings:
    """Check the parameters that classifiers and regressors share, and return them as settings.

    Parameters
    ----------
    estimator : BayesianMKL
    likelihood : {"gaussian", "laplace", "logistic"}
    objectives : tuple of str
        Values allowed for the parameter `objective`.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of its range.
    """
    check_choice("objective", estimator.objective, objectives)
    check_positive("weight_penalty", estimator.weight_penalty)
    check_number("norm", estimator.norm, low=1.0)
    check_positive("jitter", estimator.jitter)
    check_bool("learn_parameters", estimator.learn_parameters)
    if estimator.learn_parameters and estimator.objective in ("map", "mkl"):
        raise ValueError(
            'learn_parameters=True needs objective="marginal_likelihood" or "vb", since the others '
            f"do not penalize narrow kernels; got objective={estimator.objective!r}."
        )
    if estimator.learn_parameters and estimator._takes_stack():
        raise ValueError(
            "learn_parameters=True needs kernels of features; precomputed Gram matrices have no "
            "parameters."
        )
    check_number("n_starts", estimator.n_starts, whole=True, low=1)
    check_positive("tol", estimator.tol)
    check_number("max_iter", estimator.max_iter, whole=True, low=1)
    return Settings(
        objective=estimator.objective,
        likelihood=likelihood,
        noise=None,
        jitter=float(estimator.jitter),
        weight_penalty=float(estimator.weight_penalty),
        norm=float(estimator.norm),
        learns_parameters=bool(estimator.learn_parameters),
        n_starts=int(estimator.n_starts),
        tol=float(estimator.tol),
        max_iter=int(estimator.max_iter),
    )


def warn_about(model: LearnedModel, settings: Settings) -> None:
    """Warn if joint MAP has collapsed, or the search has not converged.

    Parameters
    ----------
    model : LearnedModel
    settings : Settings
    """
    if model.collapsed:
        warn(
            "The objective is as low without any kernel: joint MAP has collapsed. Raise jitter "
            f"(now {settings.jitter:g}), or choose an objective that does not collapse, such as "
            'objective="vb".'
        )
    if not model.converged:
        gap = "" if model.gap is None else f", with a relative duality gap of {model.gap:.2g}"
        warn(
            f"Stopped after {len(model.history)} steps before tol={settings.tol:g} was "
            f"reached{gap}: raise max_iter (now {settings.max_iter}), or tol.",
            ConvergenceWarning,
        )
