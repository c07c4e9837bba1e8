"""Gaps between methods over tasks, and ranks beside the paper's."""

from __future__ import annotations

import numpy as np
import pytest
from synthetic_results import errors_of_tasks

from experiments.reporting.ranking import gap
from experiments.reporting.results import signed_rank_test


def test_a_gap_is_in_percentage_points_over_tasks() -> None:
    results = errors_of_tasks({"CA-1D": [0.1] * 6, "DU": [0.15, 0.16, 0.17, 0.18, 0.19, 0.2]})
    found = gap(results, "CA-1D", "DU")
    assert found.points == pytest.approx(-7.5)
    assert (found.lower, found.n_tasks) == (6, 6)
    assert found.clearly_lower
    reverse = gap(results, "DU", "CA-1D")
    assert reverse.points == pytest.approx(7.5)
    assert reverse.lower == 0
    assert reverse.p_value == found.p_value
    assert not reverse.clearly_lower


@pytest.mark.parametrize(("n_tasks", "clear"), [(5, False), (6, True)])
def test_a_gap_is_clear_where_its_p_value_is_below_five_percent(n_tasks: int, clear: bool) -> None:
    """The p-value of n differences of one sign is 2 / 2^n: 0.0625 of five, 0.03125 of six."""
    errors = {"CA-1D": [0.1] * n_tasks, "DU": [0.2 + 0.01 * task for task in range(n_tasks)]}
    found = gap(errors_of_tasks(errors), "CA-1D", "DU")
    assert found.p_value == pytest.approx(2.0**-n_tasks * 2.0)
    assert found.clearly_lower is clear


def test_a_single_task_has_no_test() -> None:
    assert gap(errors_of_tasks({"CA-1D": [0.1], "DU": [0.2]}), "CA-1D", "DU").p_value == 1.0
    assert gap(errors_of_tasks({"CA-1D": [0.1]}), "CA-1D", "DU").n_tasks == 0


def test_differences_of_zero_do_not_count_in_the_signed_rank_test() -> None:
    differences = np.array([1.0, 2.0, -3.0, 4.0, 5.0])
    expected = signed_rank_test(differences)
    assert signed_rank_test(np.r_[differences, 0.0, 0.0]) == expected
    assert signed_rank_test(-differences) == pytest.approx(expected)
    assert signed_rank_test(np.array([1.0, 0.0])) == 1.0
