"""Records of the steps of iterative learners, the entries of `history_`."""

from __future__ import annotations

from dataclasses import dataclass

from mercer._typing import Array
from mercer.kernels._kernel import Kernel


@dataclass(frozen=True)
class Step:
    """One step of a learner that finds kernels one after the other.

    Attributes
    ----------
    kernel : Kernel
        The kernel found in this step.
    n_kernels : int
        Number of kernels of nonzero weight after the step.
    objective : float
        Value of the objective that the step maximized, less its penalty.
    alignment : float
        Centered alignment of the learned kernel after the step.
    gap : float or None
        Certified bound on the difference to the maximum of the objective; None without certificate.
    step_size : float or None
        The coefficient eta that a stagewise step gives its kernel; None for other steps.
    """

    kernel: Kernel
    n_kernels: int
    objective: float
    alignment: float
    gap: float | None
    step_size: float | None = None


@dataclass(frozen=True)
class MixingStep:
    """One step of continuous one-stage learning.

    Attributes
    ----------
    kernel : Kernel
        The kernel found in this step.
    n_kernels : int
        Number of kernels of nonzero weight after the step.
    objective : float
        Regularized risk of the predictors after the step.
    excess : float
        Relative difference of c'Kc, c the dual variables, between this kernel K and the kernel
        learned before the step; it is not positive at the optimum.
    gap : float or None
        Certified bound on the difference to the maximum of c'Kc; None without certificate.
    """

    kernel: Kernel
    n_kernels: int
    objective: float
    excess: float
    gap: float | None


@dataclass(frozen=True)
class WeightStep:
    """One step of one-stage learning over a finite dictionary.

    Attributes
    ----------
    objective : float
        Regularized risk of the predictors at the weights.
    gap : float
        Certified bound on the relative difference to the minimum of the objective.
    n_kernels : int
        Number of kernels of nonzero weight.
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
        Value, after the step, of the objective that weights and partition both maximize.
    alignment : float
        Centered alignment of the learned kernel with the clusters.
    weights : ndarray of shape (n_kernels,)
        Coefficients of the kernels, which sum to one.
    n_moved : int
        Number of samples that changed their cluster in this step.
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
        Value of the objective after the step, on the -2 log scale.
    barrier : float
        Coefficient of the logarithmic barrier that keeps the weights positive.
    residual : float
        Violation of the optimality conditions: the largest w_m |d objective / d w_m| over the
        weights w.
    """

    objective: float
    barrier: float
    residual: float
