"""Expansions of estimators with one kernel: at training samples, or in Gram matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mercer._data.types import Array, Features, Table
from mercer._gram.expansion import (
    THE_TABLE,
    FunctionTerm,
    KernelExpansion,
    KernelTerm,
    Scale,
    Sources,
    Views,
)
from mercer.kernels import Linear


def expansion_at_samples(
    estimator: BaseEstimator,
    coefficients: Array,
    intercept: Array,
    scale: Scale,
    *,
    samples: Callable[[Table], Features],
) -> KernelExpansion:
    """Return the expansion in a learned kernel at training samples with nonzero coefficients.

    Parameters
    ----------
    estimator : estimator
        Fitted, with `kernel_` and `X_fit_`; the latter is None if it was fitted to Gram matrices.
    coefficients : ndarray of shape (n_fitted, n_outputs)
    intercept : ndarray of shape (n_outputs,)
    scale : str
        "response", "log response", "log-odds", "logit", "decision value", "latent mean" or
        "log rate".
    samples : callable
        Validates a stack of Gram matrices; called only for models of Gram matrices.

    Returns
    -------
    KernelExpansion
        For Gram matrices, the sum of their contributions.
    """
    training = estimator.X_fit_
    if training is None:
        return _expansion_in_sources(estimator, coefficients, intercept, scale, samples)
    rows = np.flatnonzero(coefficients.any(axis=1))
    term = KernelTerm(estimator.kernel_, training[rows], coefficients[rows], rows=rows)
    return KernelExpansion([term], intercept, scale, {THE_TABLE: training})


def _expansion_in_sources(
    estimator: BaseEstimator,
    coefficients: Array,
    intercept: Array,
    scale: Scale,
    samples: Callable[[Table], Features],
) -> KernelExpansion:
    """Return a sum over Gram matrices; the view holds one column per matrix and output."""
    n_sources, n_outputs = estimator._n_fitted_kernels(), coefficients.shape[1]

    def views_of(X: Table) -> Views:
        stack = samples(X)
        parts = np.empty((len(stack), n_sources, n_outputs))
        for source in range(n_sources):
            # Learned kernels are linear in the Gram matrices.
            alone = np.zeros_like(stack)
            alone[:, :, source] = stack[:, :, source]
            parts[:, source] = estimator.kernel_(alone) @ coefficients
        return {THE_TABLE: parts.reshape(len(stack), -1)}

    ones = np.tile(np.eye(n_outputs), n_sources)
    term = KernelTerm(Linear(), ones, np.eye(n_outputs))
    sources = Sources(source_names(n_sources), np.repeat(np.arange(n_sources), n_outputs))
    return KernelExpansion([term], intercept, scale, {}, views_of=views_of, sources=sources)


def expansion_of_votes(
    estimator: BaseEstimator,
    votes: Callable[[Array], Array],
    outputs: tuple[str, ...],
    *,
    samples: Callable[[Table], Features],
) -> KernelExpansion:
    """Return the expansion of votes of machines, a function of kernel values at training samples.

    Parameters
    ----------
    estimator : estimator
        See :func:`expansion_at_samples`.
    votes : callable
        Function from kernel values of shape (n_rows, n_fitted) to values of shape (n_rows,
        n_outputs).
    outputs : tuple of str
    samples : callable
        See :func:`expansion_at_samples`.
    """
    training, kernel = estimator.X_fit_, estimator.kernel_
    matrix, none = np.eye(len(outputs)), np.zeros(len(outputs))
    description = f"votes of machines on {kernel.describe()}"
    if training is not None:
        term = FunctionTerm(
            lambda X: votes(kernel(X, training)), matrix, description, kernel=kernel
        )
        table = {THE_TABLE: training}
        return KernelExpansion([term], none, "decision value", table, outputs=outputs)
    n_sources = estimator._n_fitted_kernels()

    def of_stack(X: Table) -> Array:
        return votes(kernel(X.reshape(len(X), -1, n_sources)))

    def views_of(X: Table) -> Views:
        stack = samples(X)
        return {THE_TABLE: stack.reshape(len(stack), -1)}

    sources = Sources(
        source_names(n_sources), np.tile(np.arange(n_sources), estimator.n_features_in_)
    )
    term = FunctionTerm(of_stack, matrix, description)
    known: dict[str, Any] = {"views_of": views_of, "sources": sources, "outputs": outputs}
    return KernelExpansion([term], none, "decision value", {}, **known)


def source_names(n_sources: int) -> tuple[str, ...]:
    """Return names of the Gram matrices, by their positions in the stack."""
    return tuple(f"kernel {source}" for source in range(n_sources))
