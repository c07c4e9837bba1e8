"""Paired tests at the 5 % level, ranks and correlations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from synthetic_results import errors_of_tasks, synthetic_results

from experiments.reporting.statistics import (
    LEVEL,
    compare,
    deviation,
    median_ranks,
    rank_correlation,
    standard_error,
    win_tie_loss,
)

RESULTS = synthetic_results(
    {
        "p": {"a": {"error": [1, 2, 3]}, "b": {"error": [2, 3.1, 4.2]}},
        "q": {"a": {"error": [1, 2]}, "b": {"error": [0, 9, 4]}, "c": {"error": [1]}},
    }
)


def with_t_statistic(t: float) -> np.ndarray:
    """Three differences whose t-statistic, of two degrees of freedom, is given."""
    return t / np.sqrt(3.0) + np.array([-1.0, 0.0, 1.0])


def test_the_paired_test_is_two_tailed_at_five_percent() -> None:
    """Student's t of two degrees of freedom is beyond 4.303 with probability 0.05."""
    assert LEVEL == 0.05
    zeros = np.zeros(3)
    assert_allclose(compare(with_t_statistic(4.3027), zeros).p_value, 0.05, rtol=1e-4)
    assert [compare(with_t_statistic(t), zeros).sign for t in (4.2, 4.4)] == [0, 1]
    assert [compare(with_t_statistic(-t), zeros).sign for t in (4.2, 4.4)] == [0, -1]


def test_tests_are_paired_by_repeat() -> None:
    assert compare(*RESULTS.pairs("error", "p", "a", "b")).sign == -1
    assert compare(*RESULTS.pairs("error", "p", "b", "a")).sign == 1
    assert compare(*RESULTS.pairs("error", "q", "a", "b")).sign == 0


def test_equal_differences_are_certain_from_three_pairs_on() -> None:
    assert compare(np.array([1.0]), np.array([2.0])).sign == 0
    assert compare(np.zeros(2), np.ones(2)).sign == 0
    assert compare(np.zeros(2), np.array([1.0, 1.001])).sign == 0
    assert compare(np.ones(3), np.zeros(3)).sign == 1
    assert compare(np.ones(3), np.ones(3)).sign == 0
    assert compare(np.empty(0), np.empty(0)).n_pairs == 0


def test_wins_are_problems_on_which_the_first_method_has_less() -> None:
    assert win_tie_loss(RESULTS, "error", "a", "b") == (1, 1, 0)
    assert win_tie_loss(RESULTS, "error", "b", "a") == (0, 1, 1)
    assert win_tie_loss(RESULTS, "error", "a", "c") == (0, 1, 0)
    three = errors_of_tasks({"a": [1.0, 3.0, 2.0], "b": [2.0, 1.0, 4.0]}, n_repeats=3)
    assert win_tie_loss(three, "error", "a", "b") == (2, 0, 1)


def test_median_ranks_share_ties_and_pass_over_gaps() -> None:
    means = pd.DataFrame({"a": [1.0, 1.0, 3.0], "b": [2.0, 1.0, 1.0], "c": [3.0, np.nan, 2.0]})
    assert median_ranks(means).to_dict() == {"a": 1.5, "b": 1.5, "c": 2.5}


def test_deviations_are_those_of_a_sample() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0])
    assert deviation(values) == pytest.approx(np.sqrt(5.0 / 3.0))
    assert standard_error(values) == pytest.approx(np.sqrt(5.0 / 12.0))
    assert deviation(values[:1]) == standard_error(values[:1]) == 0.0


def test_rank_correlations_need_three_pairs_that_vary() -> None:
    x = np.array([1.0, 2.0, 3.0, np.nan])
    assert rank_correlation(x, np.array([0.1, 0.4, 9.0, 0.0])) == pytest.approx(1.0)
    assert rank_correlation(x, -x) == pytest.approx(-1.0)
    assert np.isnan(rank_correlation(x, np.array([1.0, np.nan, 2.0, 3.0])))
    assert np.isnan(rank_correlation(x, np.ones(4)))
