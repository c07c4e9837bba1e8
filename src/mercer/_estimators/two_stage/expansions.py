"""Kernel expansions of the predictions of fitted two-stage estimators."""

from collections.abc import Callable
from dataclasses import replace
from functools import singledispatch

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.pipeline import Pipeline

from mercer._data.classes import fitted_classes
from mercer._data.types import Array
from mercer._estimators.two_stage.exact_stages import LabelMachines
from mercer._gram.dense import UnitScale
from mercer._gram.expansion import (
    THE_TABLE,
    KernelExpansion,
    Scale,
    class_expansion,
    of_rows_as_they_are,
)
from mercer._gram.sample_expansion import expansion_at_samples, expansion_of_function
from mercer._model_selection.calibration import calibrated_expansion, label_factors
from mercer._nystroem.second_stage import NystroemModel
from mercer._solvers.ridge import Ridge
from mercer._solvers.svm import machine_coefficients


@singledispatch
def second_stage_expansion(predictor: BaseEstimator, model: BaseEstimator) -> KernelExpansion:
    """Write the prediction of a second stage as an expansion.

    Parameters
    ----------
    predictor : object
        A second stage that was fitted to a Gram matrix, or to Nyström features. If its type is not
        known, it is treated as a function of kernel values.
    model : TwoStage
        The fitted estimator to which the predictor belongs.

    Returns
    -------
    KernelExpansion
        An expansion of the responses in regression. In classification, an expansion of log-odds or
        scores of classes if there are probabilities, or else of decision values.
    """
    if not is_classifier(predictor):
        return _of_function(predictor.predict, model, 1, "response")
    if hasattr(predictor, "decision_function"):
        n_classes = len(fitted_classes(model))
        n_values = 1 if n_classes == 2 else n_classes
        return _of_function(predictor.decision_function, model, n_values, "decision value")

    def logarithms(rows: Array) -> Array:
        return np.log(np.maximum(predictor.predict_proba(rows), np.finfo(float).tiny))

    found = _of_function(logarithms, model, len(fitted_classes(model)), "logit")
    return class_expansion(found, fitted_classes(model))


@second_stage_expansion.register
def _(predictor: Ridge, model: BaseEstimator) -> KernelExpansion:
    coefficients, _ = predictor.linear(_n_fitted(model))
    # Rounding leaves a sum of coefficients, which the offset of a wide kernel would magnify.
    rest = getattr(model.kernel_, "offset", 0.0) * coefficients.sum(axis=0)
    return of_kernel(model, coefficients, np.atleast_1d(predictor.intercept_) - rest, "response")


@second_stage_expansion.register
def _(predictor: NystroemModel, model: BaseEstimator) -> KernelExpansion:
    term, constant = predictor.term()
    training = {THE_TABLE: term.centers}
    found = KernelExpansion([term], constant, "response", training)
    if predictor.calibration is None:
        return found.decoded(predictor.encoding)
    return calibrated_expansion(found, predictor.calibration, fitted_classes(model))


@second_stage_expansion.register
def _(predictor: LabelMachines, model: BaseEstimator) -> KernelExpansion:
    """Return the expansion of the log-odds of each label."""
    n = _n_fitted(model)
    parts = [
        (np.zeros(n), machine) if isinstance(machine, float) else machine_coefficients(machine, n)
        for machine in predictor.machines
    ]
    factors = label_factors(predictor.temperatures)
    coefficients = np.column_stack([part for part, _ in parts]) * factors
    intercept = np.array([level for _, level in parts]) * factors
    return of_kernel(model, coefficients, intercept, "log-odds")


@second_stage_expansion.register
def _(predictor: Pipeline, model: BaseEstimator) -> KernelExpansion:
    """Return the expansion of a support vector machine on the centered kernel."""
    if list(predictor.named_steps) != ["center", "svc"]:
        return second_stage_expansion.dispatch(object)(predictor, model)
    center, machine = predictor
    if len(fitted_classes(model)) == 2:
        dual, intercept = machine_coefficients(machine, len(center.K_fit_rows_))
        unit = UnitScale(center.K_fit_rows_, 1.0)
        coefficients, constant = of_rows_as_they_are(unit, dual[:, None])
        found = of_kernel(model, coefficients, constant + intercept, "decision value")
    else:
        votes = predictor.decision_function
        n_classes = len(fitted_classes(model))
        found = _of_function(votes, model, n_classes, "decision value", "votes of machines")
    if hasattr(model, "temperature_"):
        return calibrated_expansion(found, model.temperature_, fitted_classes(model))
    return found


def _n_fitted(model: BaseEstimator) -> int:
    """Return the number of samples to which the second stage was fitted."""
    learner = model.learner_
    return int(learner.n_features_in_ if learner.X_fit_ is None else learner.X_fit_.shape[0])


def of_kernel(
    model: BaseEstimator, coefficients: Array, intercept: Array, scale: Scale
) -> KernelExpansion:
    """Return an expansion in the kernel at the training samples with nonzero coefficients.

    Parameters
    ----------
    model : TwoStage
    coefficients : ndarray of shape (n_samples, n_outputs)
    intercept : ndarray of shape (n_outputs,)
    scale : str
        See :class:`KernelExpansion`.
    """
    # The coefficients of support vector machines sum to zero only up to rounding.
    used = np.abs(coefficients).max(axis=1, keepdims=True) > _rounding(coefficients)
    found = expansion_at_samples(
        model.learner_,
        np.where(used, coefficients, 0.0),
        intercept,
        scale,
        samples=model._samples_of_learner,
    )
    names = tuple(map(str, fitted_classes(model))) if is_classifier(model) else ()
    outputs = names[1:] if len(names) == 2 and len(intercept) == 1 else names
    return replace(found, outputs=outputs)


def _rounding(coefficients: Array) -> float:
    """Return the rounding error of the mean coefficient, which centering subtracts from each."""
    return float(np.finfo(float).eps * np.abs(coefficients).max(initial=0.0))


def _of_function(
    function: Callable[[Array], Array],
    model: BaseEstimator,
    n_values: int,
    scale: Scale,
    name: str = "a function",
) -> KernelExpansion:
    """Return an expansion of a function of the learned kernel at the training samples."""

    def evaluated(rows: Array) -> Array:
        return np.asarray(function(rows))

    if n_values == 1:
        n_values = evaluated(np.zeros((1, _n_fitted(model)))).reshape(1, -1).shape[1]
    found = expansion_of_function(
        model.learner_, evaluated, n_values, scale, name=name, samples=model._samples_of_learner
    )
    names = tuple(map(str, fitted_classes(model))) if is_classifier(model) else ()
    return replace(found, outputs=names[1:] if len(names) == 2 else names)
