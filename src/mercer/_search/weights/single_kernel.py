"""Support vector machines of a single kernel that LIBSVM evaluates itself, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._data.types import Array
from mercer._gram.kernel_sums import KernelSum
from mercer._gram.samples import Samples, centered_features
from mercer._search.records import WeightStep
from mercer._search.weights.mkl import LearnedWeights
from mercer.kernels import Gaussian, Polynomial
from mercer.kernels._kernel import Kernel
from mercer.losses._loss import Machine, Problems
from mercer.losses._support_vector import EXACT_SAMPLES, SupportVector

_LIBSVM_TOL, _LEAST_TOL = 1e-3, 1e-4
"""LIBSVM's tolerance, the default of scikit-learn's SVC, and the least gap that is asked of it."""


@np.errstate(over="ignore", invalid="ignore")  # The gap is then NaN.
def single_kernel_machine(
    problems: Problems, samples: Samples, kernel: Kernel, *, tol: float
) -> LearnedWeights | None:
    """Fit one support vector machine without a Gram matrix.

    Parameters
    ----------
    problems : Problems
    samples : Samples
    kernel : Kernel
        Bound to the samples.
    tol : float
        Duality gap to reach, relative to the objective.

    Returns
    -------
    LearnedWeights or None
        The Gram matrix is left out. None if LIBSVM does not have the kernel, or if the machine does
        not reach `tol`. Also None for several machines, because they share a Gram matrix, and for
        few samples, whose machine is exact.

    Notes
    -----
    LIBSVM computes those rows of the Gram matrix that it needs. The gap takes the kernel between
    the samples and the support vectors, in double precision.
    """
    loss, X = problems.loss, samples.X
    options = None if samples.stacked else libsvm_kernel(kernel)
    if options is None or not isinstance(X, np.ndarray) or problems.Y.shape[1] > 1:
        return None
    if not isinstance(loss, SupportVector) or not problems.intercept:
        return None
    if tol < _LEAST_TOL or len(X) <= EXACT_SAMPLES:
        return None
    if options["kernel"] == "poly" and not np.isfinite(kernel.diag(X)).all():
        return None
    centered = centered_features(X)
    if not centered.any():
        return None
    table, y = centered if options["kernel"] == "rbf" else X, problems.Y[:, 0]
    machine = loss.fitted(table, y, tol=_LIBSVM_TOL, **options)
    found = _with_gap(loss, y, machine, kernel, X)
    return found if found.gap <= tol else None


def _with_gap(
    loss: SupportVector, y: Array, machine: Machine, kernel: Kernel, X: Array
) -> LearnedWeights:
    """Return a machine with its objective and duality gap."""
    used = np.flatnonzero(machine.c)
    values = KernelSum(kernel, X[used], machine.c[used, None], np.zeros(1))(X)[:, 0]
    square, dual = float(machine.c @ values), machine.c[:, None]
    primal = 0.5 * square + loss.value(y, values + machine.intercept)
    apart = abs(primal + loss.conjugate(y, machine.c) + 0.5 * square)
    # If the dual variables do not sum to zero, the dual objective is off by this.
    rest = abs(machine.intercept * float(machine.c.sum()))
    gap = max(apart, rest) / max(primal, float(np.finfo(float).tiny))
    return LearnedWeights(
        weights=np.ones(1),
        dual=dual,
        values=(values + machine.intercept)[:, None],
        dual_certificate=dual,
        quadratics=np.array([square]),
        objective=primal,
        gap=gap,
        gram=np.empty((0, 0)),
        history=[WeightStep(primal, gap, 1)],
    )


def libsvm_kernel(kernel: Kernel) -> dict[str, Any] | None:
    """Return scikit-learn's parameters of an equal kernel; None if LIBSVM has no such kernel.

    Linear kernels are left out: LIBSVM needs many iterations, and rarely reaches the gap.
    """
    if type(kernel) is Gaussian and np.ndim(kernel.bandwidth) == 0:
        return {"kernel": "rbf", "gamma": float(kernel.bandwidth) ** -2.0}
    if type(kernel) is Polynomial:
        gamma, coef0 = float(kernel.gamma), float(kernel.coef0)
        return {"kernel": "poly", "degree": int(kernel.degree), "gamma": gamma, "coef0": coef0}
    return None
