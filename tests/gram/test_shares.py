"""Shares of kernels are their parts in the trace of the weighted sum."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer._gram.shares import trace_shares


@pytest.mark.parametrize(
    ("weights", "traces", "expected"),
    [
        ([1.0, 3.0], [6.0, 2.0], [0.5, 0.5]),
        ([-1.0, 1.0, 0.0], [3.0, 1.0, 5.0], [0.75, 0.25, 0.0]),
        ([2.0, 1.0], [-1e-17, 4.0], [0.0, 1.0]),
        ([0.0, 1.0], [1.0, 0.0], [0.0, 0.0]),
    ],
)
def test_shares_are_parts_of_the_trace(
    weights: list[float], traces: list[float], expected: list[float]
) -> None:
    assert_array_equal(trace_shares(np.array(weights), np.array(traces)), expected)
