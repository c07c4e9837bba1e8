"""Tables of errors with paired tests."""

from __future__ import annotations

import pytest
from synthetic_results import errors_of_tasks

from experiments.reporting.error_tables import Errors


@pytest.mark.parametrize(("n_repeats", "outcome", "count"), [(3, 1, "1-0-0"), (2, 0, "0-1-0")])
def test_two_repeats_are_never_significant(n_repeats: int, outcome: int, count: str) -> None:
    errors = Errors(errors_of_tasks({"x": [0.1], "y": [0.2]}, n_repeats))
    assert errors.outcomes("x", "y") == {"task 0": outcome}
    assert errors.outcomes("y", "x") == {"task 0": -outcome}
    assert errors.count("x", "y") == count


def test_a_tally_names_ties_with_too_few_repeats_for_a_test() -> None:
    assert Errors(errors_of_tasks({"x": [0.1], "y": [0.2]}, 3)).tally("x", "y") == "1-0-0"
    few = Errors(errors_of_tasks({"x": [0.1], "y": [0.2]}, 2)).tally("x", "y")
    assert few == "0-1-0 (with too few repeats for a test: 1)"


def test_marks_say_where_a_method_is_better_than_another() -> None:
    errors = Errors(errors_of_tasks({"x": [0.125, 0.5], "y": [0.25, 0.25]}, 3))
    rows = errors.table(["x", "y"], "x").splitlines()[2:]
    assert rows == [
        "| task 0 | 12.50 ± 0.00 | 25.00 ± 0.00 + |",
        "| task 1 | 50.00 ± 0.00 | 25.00 ± 0.00 - |",
        "| x: win-tie-loss |  | 1-0-1 |",
    ]
