"""Numbers and names as they stand in tables and sentences."""

from __future__ import annotations

import numpy as np

from experiments.reporting.formatting import (
    by_name,
    listed,
    mean_and_deviation,
    mean_and_error,
    rough,
)


def test_a_mean_stands_before_its_standard_error_or_deviation() -> None:
    assert mean_and_error(np.array([0.1, 0.3]), 100.0) == "20.0 ± 10.0"
    assert mean_and_deviation(np.array([0.1, 0.3, np.nan]), 100.0) == "20.0 ± 14.1"
    assert mean_and_deviation(np.array([0.1]), 100.0) == "10.0"
    assert mean_and_error(np.array([]), 100.0) == "-"


def test_names_and_numbers_are_separated_by_commas() -> None:
    assert by_name({"DA": 0.25, "DU": 0.5}, ".0f", 100.0) == "DA 25, DU 50"
    assert (listed(["a", "b"]), listed([])) == ("a, b", "none")


def test_a_small_number_is_written_by_its_order() -> None:
    assert (rough(0.0), rough(3.2e-7)) == ("0", "3e-07")
