"""Settings and results of the estimators that combine kernels of continuous families."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._gram.dense import gram_alignment, scaled_gram
from mercer._gram.kernel_products import base_grams
from mercer._greedy.convex_combination import CombinationSettings, ConvexCombination
from mercer._kernel_estimator import TrainingData
from mercer._one_stage.held_out_values import machine_values
from mercer._one_stage.kernel_machines import KernelMachines, LearnedKernel, store_machines
from mercer._search.width_penalty import WidthPenalty
from mercer._targets import Target
from mercer._validation import check_bool, check_choice, check_number, check_positive, warn


class ContinuousMKL(KernelMachines):
    """Kernel machines on a convex combination of kernels of continuous families."""

    family: Any
    step: Literal["corrective", "stagewise"]
    search: Literal["global", "local"]
    width_penalty: float
    tol: float
    max_kernels: int
    verbose: bool
    excess_: float

    def _n_gram_matrices(self) -> int:
        return 5


def combination_settings(model: ContinuousMKL) -> CombinationSettings:
    """Read how the convex combination grows off the parameters, which are validated.

    Parameters
    ----------
    model : ContinuousMKL

    Raises
    ------
    ValueError
        If a parameter is out of its range.
    """
    if isinstance(model.family, str) and model.family == "precomputed":
        raise ValueError(
            'family cannot be "precomputed": matrices have no parameters to search. '
            "MKLClassifier and MKLRegressor weigh them."
        )
    check_choice("step", model.step, ("corrective", "stagewise"))
    check_choice("search", model.search, ("global", "local"))
    check_number("width_penalty", model.width_penalty)
    check_positive("tol", model.tol)
    check_number("max_kernels", model.max_kernels, whole=True, low=1)
    check_bool("verbose", model.verbose)
    return CombinationSettings(
        corrective=model.step == "corrective",
        tol=float(model.tol),
        max_kernels=model.max_kernels,
        local=model.search == "local",
        width_penalty=WidthPenalty(float(model.width_penalty)),
    )


def store_combination(
    model: ContinuousMKL, data: TrainingData, target: Target, found: ConvexCombination
) -> None:
    """Store the convex combination and its machines, and warn of a gap above `tol`.

    Parameters
    ----------
    model : ContinuousMKL
    data : TrainingData
    target : Target
    found : ConvexCombination
    """
    assert found.learned is not None
    used, history = np.flatnonzero(found.weights), list(found.history)
    kernels, weights = [found.kernels[k] for k in used], found.weights[used]
    traces = base_grams(found.samples, kernels, centered=True).traces(data.weights.given)
    roots = found.samples.roots
    gram = scaled_gram(found.learned.gram, roots)
    alignment = gram_alignment(gram, target.centered, roots)
    learned = LearnedKernel(
        found.samples, kernels, weights, traces, alignment, found.learned, found.gap, history
    )
    store_machines(model, data, learned, intercept=True)
    model._calibrate(target, machine_values(found.problems, found.learned.gram))
    model.excess_ = found.excess
    if not found.gap <= model.tol:
        advice = {
            "growing": 'Raise max_kernels, or take step="corrective".',
            "stalled": "No step found lowers the objective any more.",
            "optimal": "The machines did not converge: scale the features or lower C.",
        }
        warn(
            f"Stopped after {len(history)} steps at a relative duality gap of {found.gap:.2g}, "
            f"above tol={model.tol:g}; c'Kc of another kernel is larger than that of the "
            f"learned one by {max(found.excess, 0.0):.2g}, relatively. {advice[found.status]}",
            ConvergenceWarning,
        )
