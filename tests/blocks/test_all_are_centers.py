"""How many centers tables have by default, and of how many rows all pairs may be fitted."""

import pytest
from sklearn import config_context

from mercer._blocks import approximation
from mercer._blocks.approximation import (
    all_are_centers,
    number_of_components,
    number_of_paired_rows,
)

GIB = 2.0**30


def test_all_rows_are_centers_where_working_memory_holds_their_pairs() -> None:
    assert number_of_components("auto", 16_384) == 16_384
    assert number_of_components("auto", 20_001) == 1500
    assert number_of_components("auto", 50_001) == 1000
    with config_context(working_memory=10_000):
        assert all_are_centers(50_000)


@pytest.mark.parametrize(
    ("memory", "expected"),
    [(None, 16_384), (2.0**40, 16_384), (2.0**30, 8192), (2.0**27, 0), (0.0, 0)],
)
def test_pairs_of_drawn_rows_fit_working_memory_and_a_quarter_of_what_is_available(
    memory: float | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approximation, "available_memory", lambda: memory)
    assert all_are_centers(16_384)
    assert all_are_centers(20_000) == (memory == 2.0**40)
    assert number_of_paired_rows("auto", 20_000, 100_000) == expected
    assert number_of_paired_rows("auto", 16_384, 16_384) == 0
    assert number_of_paired_rows(1000, 20_000, 100_000) == 0


@pytest.mark.parametrize(
    ("memory", "n_rows", "expected"),
    [
        (16.0 * GIB, 32_768, 32_768),
        (16.0 * GIB, 32_769, 16_384),
        (2.0 * GIB, 20_000, 11_585),
        (None, 20_000, 16_384),
        (1e6 * GIB, approximation.MOST_PAIRED_ROWS, approximation.MOST_PAIRED_ROWS),
        (1e6 * GIB, approximation.MOST_PAIRED_ROWS + 1, 16_384),
    ],
)
def test_pairs_of_all_rows_fit_a_quarter_of_the_available_memory(
    memory: float | None, n_rows: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approximation, "available_memory", lambda: memory)
    assert number_of_paired_rows("auto", n_rows, n_rows) == expected


def test_a_number_of_centers_is_taken() -> None:
    assert number_of_components(700, 10_000) == 700
    assert number_of_components(700, 100) == 100
