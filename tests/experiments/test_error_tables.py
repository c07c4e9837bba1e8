"""Tables of errors, and the ends of grids."""

from __future__ import annotations

from dataclasses import replace

import pytest
from synthetic_results import errors_of_tasks, synthetic_results

from experiments.reporting.error_tables import Errors, at_ends, described, grid_ends
from experiments.reporting.results import Results


@pytest.mark.parametrize(("n_repeats", "outcome", "count"), [(3, 1, "1-0-0"), (2, 0, "0-1-0")])
def test_two_repeats_are_never_significant(n_repeats: int, outcome: int, count: str) -> None:
    errors = Errors(errors_of_tasks({"x": [0.1], "y": [0.2]}, n_repeats))
    assert errors.outcomes("x", "y") == {"task 0": outcome}
    assert errors.outcomes("y", "x") == {"task 0": -outcome}
    assert errors.count("x", "y") == count


def results(chosen: dict[str, list[float]], grid: list[float]) -> Results:
    found = synthetic_results({"p": {name: {"C": values} for name, values in chosen.items()}})
    return replace(found, experiment=replace(found.experiment, grids={"C": grid}))


def test_both_ends_are_counted() -> None:
    found = results({"a": [0.1, 1.0, 10.0, 10.0]}, [0.1, 1.0, 10.0])
    assert at_ends(found, "C", "a") == (1, 2, 4)
    assert described(found, "C", "a") == (
        "the smallest value of the grid in 1, the largest in 2 of 4 runs"
    )


def test_zero_is_no_end_of_a_grid() -> None:
    assert at_ends(results({"a": [0.0, 0.1]}, [0.0, 0.1, 1.0]), "C", "a") == (1, 0, 2)


def test_a_method_with_another_grid_is_left_out() -> None:
    found = results({"a": [0.1, 0.3], "b": [1.0, 1.0]}, [0.1, 1.0])
    assert at_ends(found, "C", "a") == (0, 0, 0)
    assert "by: b 0 and 2 of 2." in grid_ends(found)


def test_without_a_grid_nothing_is_said() -> None:
    assert grid_ends(synthetic_results({"p": {"a": {"C": [1.0]}}})) == ""
