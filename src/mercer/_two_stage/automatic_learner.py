"""The learners among which ``learner="auto"`` chooses, and the choice by their accuracy."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from mercer._kernel_estimator import training_data
from mercer._kernel_learner import KernelLearner
from mercer._learners import ContinuousAlignment, EvidenceMaximization, GradientOuterProduct
from mercer._model_selection.held_out import Splits
from mercer._model_selection.kernel_forms import N_ITERATIONS, Form, choose_form
from mercer._two_stage.labeled_samples import LabeledSamples, fitted
from mercer._two_stage.penalty_grids import first_best
from mercer._typing import Array, Features

_RANDOM_STATE = 0
"""Seed of the folds in which forms are compared, so that fits repeat."""


def candidate_learners(
    X: Features,
    y: NDArray[Any],
    task: Literal["classification", "regression"],
    weights: Array | None = None,
    splits: Splits | None = None,
) -> list[KernelLearner]:
    """Return a sum of isotropic kernels, and the form of kernel that predicts better, if any does.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    task : {"classification", "regression"}
    weights : ndarray of shape (n_samples,), default=None
        Positive weights of the samples.
    splits : list of (ndarray, ndarray), default=None
        Training and held-out samples, in which forms are compared.

    Returns
    -------
    list of KernelLearner
        Not fitted, and with all parameters selected.
    """
    isotropic = ContinuousAlignment(task=task)
    data = training_data(clone(isotropic), X, y, weights)
    growth = isotropic._growth()
    form = choose_form(data.samples(), data.target(task), growth, _RANDOM_STATE, splits)
    return [isotropic] if form.kind == "isotropic sum" else [isotropic, _learner(form)]


def _learner(form: Form) -> KernelLearner:
    """Return the learner of a form of kernel."""
    if form.kind == "isotropic sum":
        return ContinuousAlignment()
    if form.kind == "ard":
        return EvidenceMaximization(form.kernel)
    if form.kind == "isotropic":
        return GradientOuterProduct(form.kernel, n_iter=0)
    return GradientOuterProduct(form.kernel, n_iter=N_ITERATIONS, diagonal=False)


def most_accurate(models: list[Any], data: LabeledSamples) -> Any:
    """Fit models, and return the one that predicts most held-out samples correctly.

    Parameters
    ----------
    models : list of TwoStageClassifier
    data : LabeledSamples

    Returns
    -------
    TwoStageClassifier
        Fitted; the first where it has no folds.
    """
    first = fitted(models[0], data.X, data)
    if not hasattr(first, "cv_correct_"):
        return first
    found = [first, *(fitted(model, data.X, data) for model in models[1:])]
    return found[first_best(np.array([model._cv_accuracy for model in found]))]


def as_accurate(models: list[Any], data: LabeledSamples) -> Any:
    """Fit models, and return the last if it predicts held-out samples as well as the first.

    The last was clearly better in ridge regression on kernels that were learned in folds.

    Parameters
    ----------
    models : list of TwoStageClassifier
    data : LabeledSamples

    Returns
    -------
    TwoStageClassifier
        Fitted.
    """
    found = [fitted(model, data.X, data) for model in models]
    first, last = found[0], found[-1]
    if hasattr(first, "cv_correct_") and first._cv_accuracy > last._cv_accuracy:
        return first
    return last
