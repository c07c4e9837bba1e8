"""Parts of kernels in the trace of their weighted sum."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array


def trace_shares(weights: Array, traces: Array) -> Array:
    """Part of each kernel in the trace of a weighted sum, zeros where the sum has no trace.

    Parameters
    ----------
    weights : ndarray of shape (n_kernels,)
        Counted by their magnitude.
    traces : ndarray of shape (n_kernels,)
        Traces of the kernels' Gram matrices; negative ones, which are rounding, count as zero.

    Returns
    -------
    ndarray of shape (n_kernels,)
        Parts that sum to one.
    """
    parts = np.abs(weights) * np.maximum(traces, 0.0)
    return parts / parts.sum() if parts.any() else parts
