"""Checks of the parameters that the probabilistic estimators share, and warnings after a fit."""

from __future__ import annotations

from typing import Any

from sklearn.exceptions import ConvergenceWarning

from mercer._validation import check_bool, check_choice, check_number, check_positive, warn
from mercer.probabilistic._learned_model import LearnedModel
from mercer.probabilistic._model import LikelihoodName, Settings
from mercer.probabilistic._objective_choice import ObjectiveName


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
    if estimator.learn_parameters and estimator.objective not in ("marginal_likelihood", "vb"):
        raise ValueError(
            'learn_parameters=True needs objective="marginal_likelihood" or "vb"; '
            f"got objective={estimator.objective!r}."
        )
    if estimator.learn_parameters and estimator._takes_stack():
        raise ValueError(
            "learn_parameters=True needs kernels of features; precomputed Gram matrices have no "
            "parameters."
        )
    check_number("n_starts", estimator.n_starts, whole=True, low=1)
    check_positive("tol", estimator.tol)
    check_number("max_iter", estimator.max_iter, whole=True, low=1)
    check_bool("verbose", estimator.verbose)
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
