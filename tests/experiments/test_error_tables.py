"""Tables of errors, the ends of grids, and gaps between methods over tasks."""

from dataclasses import replace

import numpy as np
import pytest
from synthetic_results import errors_of_tasks, synthetic_results

from experiments.reporting.error_tables import Errors, at_ends, described, grid_ends
from experiments.reporting.ranking import gap
from experiments.reporting.results import Results, signed_rank_test


@pytest.mark.parametrize(("n_repeats", "outcome", "count"), [(3, 1, "1-0-0"), (2, 0, "0-1-0")])
def test_two_repeats_are_never_significant(n_repeats: int, outcome: int, count: str) -> None:
    errors = Errors(errors_of_tasks({"x": [0.1], "y": [0.2]}, n_repeats))
    assert errors.outcomes("x", "y") == {"task 0": outcome}
    assert errors.outcomes("y", "x") == {"task 0": -outcome}
    assert errors.count("x", "y") == count


def results(chosen: dict[str, list[float]], grid: list[float]) -> Results:
    found = synthetic_results({"p": {name: {"C": values} for name, values in chosen.items()}})
    return replace(found, experiment=replace(found.experiment, grids={"C": grid}))


def test_ends_of_a_grid_are_counted_among_which_zero_is_none() -> None:
    found = results({"a": [0.1, 1.0, 10.0, 10.0]}, [0.1, 1.0, 10.0])
    assert at_ends(found, "C", "a") == (1, 2, 4)
    assert described(found, "C", "a") == (
        "the smallest value of the grid in 1, the largest in 2 of 4 runs"
    )
    assert at_ends(results({"a": [0.0, 0.1]}, [0.0, 0.1, 1.0]), "C", "a") == (1, 0, 2)
    assert grid_ends(synthetic_results({"p": {"a": {"C": [1.0]}}})) == ""


def test_a_method_with_another_grid_is_left_out() -> None:
    found = results({"a": [0.1, 0.3], "b": [1.0, 1.0]}, [0.1, 1.0])
    assert at_ends(found, "C", "a") == (0, 0, 0)
    assert "by: b 0 and 2 of 2." in grid_ends(found)


@pytest.mark.parametrize(("n_tasks", "points", "clear"), [(5, 7.0, False), (6, 7.5, True)])
def test_a_gap_in_points_is_clear_where_its_p_value_is_below_five_percent(
    n_tasks: int, points: float, clear: bool
) -> None:
    """The p-value of n differences of one sign is 2 / 2^n: 0.0625 of five, 0.03125 of six."""
    errors = {"CA-1D": [0.1] * n_tasks, "DU": [0.15 + 0.01 * task for task in range(n_tasks)]}
    results = errors_of_tasks(errors)
    found, reverse = gap(results, "CA-1D", "DU"), gap(results, "DU", "CA-1D")
    assert found.p_value == reverse.p_value == pytest.approx(2.0**-n_tasks * 2.0)
    assert [found.points, reverse.points] == pytest.approx([-points, points])
    assert (found.lower, reverse.lower, found.n_tasks) == (n_tasks, 0, n_tasks)
    assert found.clearly_lower is clear
    assert not reverse.clearly_lower


def test_a_single_task_has_no_test() -> None:
    assert gap(errors_of_tasks({"CA-1D": [0.1], "DU": [0.2]}), "CA-1D", "DU").p_value == 1.0
    assert gap(errors_of_tasks({"CA-1D": [0.1]}), "CA-1D", "DU").n_tasks == 0


def test_differences_of_zero_do_not_count_in_the_signed_rank_test() -> None:
    differences = np.array([1.0, 2.0, -3.0, 4.0, 5.0])
    expected = signed_rank_test(differences)
    assert signed_rank_test(np.r_[differences, 0.0, 0.0]) == expected
    assert signed_rank_test(-differences) == pytest.approx(expected)
    assert signed_rank_test(np.array([1.0, 0.0])) == 1.0
