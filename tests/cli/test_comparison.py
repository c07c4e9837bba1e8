"""Ranks of methods over several splits."""

from __future__ import annotations

import numpy as np

from mercer._cli.comparison import Comparison


def test_equal_errors_share_a_mean_rank() -> None:
    errors = np.array([[0.1, 0.2], [0.1, 0.1], [0.3, 0.3]])
    comparison = Comparison(("a", "b", "c"), errors, errors, errors)
    np.testing.assert_array_equal(comparison.ranks, [1.75, 1.25, 3.0])
    assert comparison.best_first() == [1, 0, 2]
