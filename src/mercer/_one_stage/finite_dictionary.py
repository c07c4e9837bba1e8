"""Kernel machines on a finite dictionary: the fit of its weights, and the settings of solvers."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_scalar

from mercer._callbacks import reported_steps
from mercer._gram.dense import gram_alignment, scaled_gram
from mercer._gram.kernel_products import base_grams
from mercer._kernel_estimator import TrainingData
from mercer._one_stage.held_out_values import machine_values
from mercer._one_stage.kernel_machines import KernelMachines, LearnedKernel, store_machines
from mercer._targets import Target
from mercer._typing import Array
from mercer._validation import check_bool, check_choice, check_number, check_positive, warn
from mercer._weights.balls import LpBall
from mercer._weights.mkl import SOLVERS, LearnedWeights, Solver, learn_weights
from mercer._weights.problems import Problems
from mercer._weights.rotated_samples import rotated_samples
from mercer._weights.weight_sets import Simplex, WeightSet
from mercer.kernels import Kernel


class FiniteMKL(KernelMachines):
    """Kernel machines on a weighted sum of the kernels of a finite dictionary."""

    kernels: Any
    normalize: Literal["trace"] | None
    fit_intercept: bool
    solver: Solver
    tol: float
    max_iter: int
    verbose: bool

    def _n_gram_matrices(self) -> int:
        # The interior-point method, which "auto" may choose, has one more than the others.
        return 4 if self.solver in ("newton", "alternating") else 5


def unit_ball(norm: float) -> WeightSet:
    """Return the non-negative weights whose lp-norm is at most one.

    Parameters
    ----------
    norm : float
        The p of the norm, at least 1.

    Raises
    ------
    ValueError
        If `norm` is less than 1.
    """
    check_scalar(norm, "norm", Real)
    if not norm >= 1.0:
        raise ValueError(f"norm must be at least 1; got {norm!r}.")
    return Simplex() if norm == 1.0 else LpBall(float(norm))


def check_parameters(model: FiniteMKL) -> None:
    """Refuse parameters of the dictionary and of the solver that are out of their range."""
    check_choice("normalize", model.normalize, ("trace", None))
    check_bool("fit_intercept", model.fit_intercept)
    check_choice("solver", model.solver, SOLVERS)
    check_positive("tol", model.tol)
    check_number("max_iter", model.max_iter, whole=True, low=1)
    check_bool("verbose", model.verbose)


def fit_dictionary(
    model: FiniteMKL,
    data: TrainingData,
    target: Target,
    kernels: Sequence[Kernel],
    problems: Problems,
    *,
    weight_set: WeightSet,
) -> None:
    """Learn the weights of a dictionary with the machines, store both, and warn of a large gap.

    Parameters
    ----------
    model : FiniteMKL
    data : TrainingData
    target : Target
    kernels : sequence of Kernel
    problems : Problems
    weight_set : WeightSet
    """
    _check_solver(model.solver, problems, weight_set)
    samples = data.samples(len(kernels))
    rotated = rotated_samples(problems, samples, kernels)
    if rotated is None:
        solved, grams = problems, base_grams(samples, kernels, centered=problems.intercept)
    else:
        solved, grams = (
            rotated.problems,
            base_grams(rotated.samples, rotated.kernels, centered=False),
        )
    traces = grams.traces(data.weights.given if rotated is None else None)
    scales = np.ones(len(kernels))
    if model.normalize == "trace":
        scales = _reciprocal(traces / samples.total)
    with reported_steps(model) as report:
        found = learn_weights(
            solved,
            grams.scaled(scales),
            weight_set,
            solver=model.solver,
            tol=float(model.tol),
            max_iter=model.max_iter,
            on_step=report,
        )
    weights = found.weights * scales
    if rotated is None:
        gram = scaled_gram(found.gram, samples.roots)
        alignment = gram_alignment(gram, target.centered, samples.roots)
        fold_values = machine_values(problems, found.gram)
    else:
        fold_values = rotated.fold_values(weights, problems)
        alignment = rotated.alignment(found.gram, weights, target.centered)
        found = rotated.restored(found)
    learned = LearnedKernel(
        samples, kernels, weights, traces, alignment, found, found.gap, found.history
    )
    store_machines(model, data, learned, intercept=problems.intercept)
    model._calibrate(target, fold_values)
    _warn_of_gap(model, found)


def _warn_of_gap(model: FiniteMKL, found: LearnedWeights) -> None:
    """Warn where the gap is above the tolerance, and say what helps."""
    if found.gap > model.tol:
        n_iter = len(found.history)
        advice = "raise max_iter" if n_iter >= model.max_iter else "rounding stops it"
        scaling = "" if model.normalize else ', and normalize="trace" brings kernels to one scale'
        warn(
            f"Stopped after {n_iter} steps at a relative duality gap of {found.gap:.2g}, above "
            f"tol={model.tol:g}: {advice}{scaling}.",
            ConvergenceWarning,
        )


def _check_solver(solver: Solver, problems: Problems, weight_set: WeightSet) -> None:
    """Refuse the interior-point method for a loss or a set of weights that it cannot solve for."""
    solvable = weight_set.has_interior_point and problems.boxes() is not None
    if solver == "interior_point" and not solvable:
        raise ValueError(
            'solver="interior_point" needs the hinge or the epsilon-insensitive loss, and norm=1.'
        )


def _reciprocal(values: Array) -> Array:
    """One over positive values, zero for others."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0.0)
