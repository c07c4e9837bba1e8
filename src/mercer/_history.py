"""What learners keep of each step that they take."""

from __future__ import annotations

from dataclasses import dataclass

from mercer._typing import Array
from mercer.kernels._kernel import Kernel


@dataclass(frozen=True)
class Step:
    """One step of a learner.

    Attributes
    ----------
    kernel : Kernel
        The kernel found in this step.
    n_kernels : int
        Kernels of non-zero weight after it.
    objective : float
        What the step maximized, at its end.
    alignment : float
        Centered alignment of the learned kernel after the step.
    gap : float or None
        Proven bound on how much larger the objective could have been; None where nothing is proven.
    """

    kernel: Kernel
    n_kernels: int
    objective: float
    alignment: float
    gap: float | None


@dataclass(frozen=True)
class MixingStep:
    """One step of continuous one-stage learning.

    Attributes
    ----------
    kernel : Kernel
        The kernel found in this step.
    n_kernels : int
        Kernels of non-zero weight after it.
    objective : float
        The machines' objective after it.
    excess : float
        How much larger c'Kc was for this kernel than for the learned one before, relative to it;
        zero or less at the optimum.
    gap : float or None
        Proven bound on how much larger c'Kc could have been; None where nothing is proven.
    """

    kernel: Kernel
    n_kernels: int
    objective: float
    excess: float
    gap: float | None


@dataclass(frozen=True)
class WeightStep:
    """One step of one-stage learning.

    Attributes
    ----------
    objective : float
        The machines' objective at the weights.
    gap : float
        How much of it, at most, is above the optimum, relative to it.
    n_kernels : int
        Kernels of non-zero weight.
    """

    objective: float
    gap: float
    n_kernels: int


@dataclass(frozen=True)
class AlternationStep:
    """One step of multiple-kernel clustering: new weights, then a new partition.

    Attributes
    ----------
    objective : float
        What both maximize, after the step.
    alignment : float
        Centered alignment of the learned kernel with the clusters.
    weights : ndarray of shape (n_kernels,)
        Coefficients of the kernels as they are, summing to one.
    n_moved : int
        Samples that changed their cluster in this step.
    """

    objective: float
    alignment: float
    weights: Array
    n_moved: int


@dataclass(frozen=True)
class ObjectiveStep:
    """One step of probabilistic kernel learning.

    Attributes
    ----------
    objective : float
        Its value after the step, on the -2 log scale.
    barrier : float
        Weight of the logarithmic barrier that keeps the weights positive.
    residual : float
        Largest theta_m |d objective / d theta_m|, less where the barrier holds a weight up.
    """

    objective: float
    barrier: float
    residual: float
