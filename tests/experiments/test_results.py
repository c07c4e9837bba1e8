"""Queries of an experiment's records."""

from __future__ import annotations

import numpy as np
from synthetic_results import synthetic_results

RESULTS = synthetic_results(
    {
        "p": {"a": {"error": [1, 2, 3]}, "b": {"error": [2, 3.1, 4.2]}},
        "q": {"a": {"error": [1, 2]}, "b": {"error": [0, 9, 4]}, "c": {"error": [1]}},
    }
)


def test_values_are_found_by_problem_and_method() -> None:
    assert RESULTS.mean("error", "p", "a") == 2.0
    assert np.isnan(RESULTS.mean("error", "p", "c"))
    assert RESULTS.values("absent", "p", "a").size == 0
    assert RESULTS.common_methods("error") == ["a", "b"]
    assert RESULTS.repeats("q", "a") == 2
    assert RESULTS.tried("error", "a", "b") == ["p", "q"]
    assert RESULTS.tried("error", "a", "c") == ["q"]


def test_pairs_are_of_repeats_that_both_methods_have() -> None:
    first, second = RESULTS.pairs("error", "q", "a", "b")
    np.testing.assert_array_equal([first, second], [[1, 2], [0, 9]])
