"""How many centers tables have by default."""

import pytest
from sklearn import config_context

from mercer._blocks import approximation
from mercer._blocks.approximation import all_are_centers, number_of_components

GIB = 2.0**30


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the available memory, 16 GiB, a quarter holds the values of 32,768 rows."""
    monkeypatch.setattr(approximation, "available_memory", lambda: 16.0 * GIB)


@pytest.mark.usefixtures("memory")
def test_all_rows_are_centers_while_memory_permits() -> None:
    assert number_of_components("auto", 32_768) == 32_768
    assert number_of_components("auto", 32_769) == 1500
    assert number_of_components("auto", 50_001) == 1000


@pytest.mark.parametrize("available", [None, 0.0, 2.0 * GIB])
def test_working_memory_is_enough(available: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approximation, "available_memory", lambda: available)
    assert all_are_centers(16_384)
    assert not all_are_centers(16_385)
    with config_context(working_memory=10_000):
        assert all_are_centers(50_000)


def test_fits_that_take_long_need_working_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approximation, "available_memory", lambda: 1e6 * GIB)
    assert all_are_centers(approximation.MOST_EXACT_ROWS)
    assert not all_are_centers(approximation.MOST_EXACT_ROWS + 1)


def test_a_number_of_centers_is_taken() -> None:
    assert number_of_components(700, 10_000) == 700
    assert number_of_components(700, 100) == 100
