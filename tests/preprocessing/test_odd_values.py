"""Repeated numbers and dates far from all others."""

import numpy as np
import pytest

from mercer.preprocessing import odd_value

DAYS = np.arange(np.datetime64("2015-03-02"), np.datetime64("2024-06-30"))


def days(dates: list[str]) -> np.ndarray:
    return np.array(dates, dtype="datetime64[D]").astype(float)


@pytest.mark.parametrize("far", ["9999-12-31", "2099-12-31", "1900-01-01", "2200-05-17"])
@pytest.mark.parametrize("missing", [False, True])
def test_a_far_date_is_found(far: str, missing: bool) -> None:
    known = DAYS[::40].astype(float)
    values = np.concatenate([known, np.repeat(days([far]), 7), [np.nan] * 3 * missing])
    assert odd_value(np.random.default_rng(0).permutation(values), dates=True) == (
        days([far])[0],
        7,
    )


def test_dates_close_to_others_are_not() -> None:
    known = DAYS[::40].astype(float)
    for day, n in (("2024-07-01", 30), ("2026-05-17", 30), ("9999-12-31", 2), ("2025-12-31", 9)):
        values = np.concatenate([known, np.repeat(days([day]), n)])
        assert odd_value(values, dates=True) is None
    assert odd_value(np.full(9, np.nan), dates=True) is None


def test_an_end_of_a_year_may_be_nearer_than_another_date() -> None:
    born = np.arange(days(["1930-05-01"])[0], days(["2005-05-01"])[0], 100.0)
    for day, found in (("1900-01-01", True), ("1900-01-02", False)):
        values = np.concatenate([born, np.repeat(days([day]), 5)])
        assert (odd_value(values, dates=True) is not None) is found


def test_numbers() -> None:
    numbers = np.random.default_rng(0).normal(size=50)
    assert odd_value(np.append(numbers, [-200.0] * 7)) == (-200.0, 7)
    assert odd_value(np.append(numbers, [-200.0] * 2)) is None
    for code, found in ((999.0, True), (998.0, False)):
        values = np.concatenate([np.linspace(0.0, 700.0, 50), [code] * 3])
        assert (odd_value(values) is not None) is found
