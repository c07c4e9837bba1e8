"""Support vector machines of a single kernel, whose weight is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._data.types import Array, Features
from mercer._gram.dense import gram_less_offset, mean_centered_diagonal
from mercer._gram.kernel_sums import KernelSum
from mercer._gram.samples import Samples, centered_features
from mercer._search.records import WeightStep
from mercer._search.weights.mkl import LearnedWeights
from mercer.kernels import Gaussian, Polynomial
from mercer.kernels._kernel import Kernel
from mercer.kernels._structure import InnerProduct
from mercer.losses._loss import Machine, Problems
from mercer.losses._support_vector import EXACT_SAMPLES, SupportVector

_LIBSVM_TOL, _LEAST_TOL = 1e-3, 1e-4
"""LIBSVM's tolerance, the default of scikit-learn's SVC, and the least gap that is asked of it."""

FEW_SAMPLES, MANY_FEATURES = 2000, 30
"""Up to this many samples, and with this many features or more, computing the Gram matrix usually
takes less time than LIBSVM's rows of it."""


@dataclass(frozen=True)
class _Posed:
    """What LIBSVM is given.

    Attributes
    ----------
    table : ndarray
        Samples, or their Gram matrix.
    options : dict
        The kernel, under scikit-learn's names.
    values : callable
        Returns the values of a machine with given coefficients on the samples, less the intercept.
    scale : float, default=1.0
        Factor of the kernel.
    """

    table: Array
    options: dict[str, Any]
    values: Callable[[Array], Array]
    scale: float = 1.0


@np.errstate(over="ignore", invalid="ignore")  # The gap is then NaN.
def single_kernel_machine(
    problems: Problems, samples: Samples, kernel: Kernel, *, tol: float, unit_trace: bool = False
) -> LearnedWeights | None:
    """Fit one support vector machine by LIBSVM.

    Parameters
    ----------
    problems : Problems
    samples : Samples
    kernel : Kernel
        Bound to the samples.
    tol : float
        Duality gap to reach, relative to the objective.
    unit_trace : bool, default=False
        Whether to divide the kernel by the mean diagonal of its centered Gram matrix.

    Returns
    -------
    LearnedWeights or None
        The weight is the scale of the kernel; the Gram matrix is left out. None if the machine does
        not reach `tol`. Also None for several machines, for few samples, whose machine is exact,
        and for inner products.

    Notes
    -----
    The gap is about proportional to LIBSVM's tolerance, by which a second attempt is made.
    """
    loss, n_samples = problems.loss, samples.n_samples
    if not isinstance(loss, SupportVector) or not problems.intercept or problems.Y.shape[1] > 1:
        return None
    if samples.stacked or tol < _LEAST_TOL or n_samples <= EXACT_SAMPLES:
        return None
    posed = None
    if n_samples > FEW_SAMPLES and samples.X.shape[1] < MANY_FEATURES and not unit_trace:
        posed = _by_libsvm(samples.X, kernel)
    posed = posed or _by_gram_matrix(samples, kernel, unit_trace)
    if posed is None:
        return None
    y, finer = problems.Y[:, 0], _LIBSVM_TOL
    for _ in range(2):
        machine = loss.fitted(posed.table, y, tol=finer, **posed.options)
        found = _with_gap(loss, y, machine, posed)
        if found.gap <= tol:
            return found
        finer *= 0.5 * tol / found.gap
        if not finer > 0.0:
            break
    return None


def _by_gram_matrix(samples: Samples, kernel: Kernel, unit_trace: bool) -> _Posed | None:
    """Compute a Gram matrix; None for inner products, with which LIBSVM takes many iterations."""
    if isinstance(kernel.structure, InnerProduct):
        return None
    try:
        gram, scale = gram_less_offset(kernel, samples.X), 1.0
    except ValueError:  # Values that are not finite are reported where kernels are summed.
        return None
    if not np.ptp(gram[0]):
        return None
    if unit_trace:
        scale = 1.0 / mean_centered_diagonal(gram, samples.weights)
        gram *= scale

    def values(c: Array) -> Array:
        used = np.flatnonzero(c)
        # A few rows are copied in less time than all are read.
        are_few = 3 * len(used) < len(c)
        return np.asarray(c[used] @ gram[used] if are_few else gram @ c)

    return _Posed(gram, {"kernel": "precomputed"}, values, scale)


def _by_libsvm(X: Features, kernel: Kernel) -> _Posed | None:
    """Let LIBSVM compute the rows of the Gram matrix that it needs; None if it lacks the kernel.

    The gap takes the kernel between the samples and the support vectors, in double precision.
    """
    options = libsvm_kernel(kernel)
    if options is None or not isinstance(X, np.ndarray):
        return None
    if options["kernel"] == "poly" and not np.isfinite(kernel.diag(X)).all():
        return None
    centered = centered_features(X)
    if not centered.any():
        return None

    def values(c: Array) -> Array:
        used = np.flatnonzero(c)
        return KernelSum(kernel, X[used], c[used, None], np.zeros(1))(X)[:, 0]

    return _Posed(centered if options["kernel"] == "rbf" else X, options, values)


def _with_gap(loss: SupportVector, y: Array, machine: Machine, posed: _Posed) -> LearnedWeights:
    """Return a machine with its objective and duality gap."""
    values, dual = posed.values(machine.c), machine.c[:, None]
    square = float(machine.c @ values)
    primal = 0.5 * square + loss.value(y, values + machine.intercept)
    apart = abs(primal + loss.conjugate(y, machine.c) + 0.5 * square)
    # If the dual variables do not sum to zero, the dual objective is off by this.
    rest = abs(machine.intercept * float(machine.c.sum()))
    gap = max(apart, rest) / max(primal, float(np.finfo(float).tiny))
    return LearnedWeights(
        weights=np.array([posed.scale]),
        dual=dual,
        values=(values + machine.intercept)[:, None],
        dual_certificate=dual,
        quadratics=np.array([square]),
        objective=primal,
        gap=gap,
        gram=np.empty((0, 0)),
        history=[WeightStep(primal, gap, 1)],
        intercepts=np.array([machine.intercept]),
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
