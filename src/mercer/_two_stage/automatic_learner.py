"""The learners among which ``learner="auto"`` chooses."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from mercer._learners import ContinuousAlignment, KernelOptimization
from mercer._learners.kernel_learner import KernelLearner
from mercer._model_selection.kernel_forms import Form, choose_form
from mercer._targets import Task
from mercer._typing import Features
from mercer.kernels import Gaussian

_RANDOM_STATE = 0
"""Of the folds that compare: fits repeat."""


def contenders(X: Features, y: NDArray[Any], task: Task) -> list[KernelLearner]:
    """Spheres, and the form of kernel that is clearly better, if one is.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    task : {"classification", "regression"}

    Returns
    -------
    list of KernelLearner
        Not fitted, and with nothing left to choose.
    """
    spheres = ContinuousAlignment(task=task)
    samples, target = spheres.problem(X, y)
    form = choose_form(samples, target, spheres.growth(), _RANDOM_STATE)
    return [spheres] if form.kind == "isotropic sum" else [spheres, _learner(form)]


def _learner(form: Form) -> KernelLearner:
    family, held = Gaussian(ard=True), form.width_penalty
    if held is None:
        return KernelOptimization(Gaussian(), "hsic")
    settings: dict[str, Any] = {"penalty": held.strength, "penalty_on": held.form}
    if form.kind == "ard sum":
        return ContinuousAlignment(family, **settings)
    ellipsoid = KernelOptimization(family, "cka", **settings)
    return ellipsoid if form.kind == "ard" else ContinuousAlignment(scaling=ellipsoid)
