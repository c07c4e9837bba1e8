"""Comparisons: order, methods that fail, interruptions, and the table of results."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mercer_command.comparison import Comparison, compare, comparison_table
from mercer_command.messages import InputError
from mercer_command.options import Compare

SPLITS = [(np.arange(100), np.arange(100, 130))] * 5


class Fits:
    """Made results of methods, and a bar that counts their fits."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, broken: dict[str, BaseException] | None = None
    ) -> None:
        self.broken = broken or {}
        self.begun: list[str] = []
        self.done: list[str] = []
        monkeypatch.setattr("mercer_command.comparison._measure", self.measure)

    def advance(self, number: int, description: str) -> None:
        self.begun.append(description.split(",", maxsplit=1)[0])

    def measure(self, problem: Any, name: str, *others: Any) -> Any:
        if name in self.broken:
            raise self.broken[name]
        return 0.1, 0.5, 2.0

    def compare(self, *methods: str) -> Comparison:
        given = Compare(Path("t.csv"), "y", metric="rmse")
        bar: Any = self
        problem: Any = None
        done = self.done
        return compare(
            problem,
            methods,
            SPLITS,
            given,
            bar,
            on_method=lambda table: done.extend(table["method"]),
        )


def test_methods_run_in_the_order_in_which_they_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = Fits(monkeypatch)
    found = fits.compare("mkl", "linear", "forest")
    assert fits.done == found.table["method"].tolist() == ["mkl", "linear", "forest"]
    assert fits.begun == [name for name in fits.done for _ in SPLITS]
    assert found.table.filter(like="split").shape == (3, 5)


def test_an_interruption_leaves_the_methods_that_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = Fits(monkeypatch, {"forest": KeyboardInterrupt()})
    found = fits.compare("linear", "forest", "mkl")
    assert found.table["method"].tolist() == ["linear"]
    assert found.left_out == ("forest", "mkl")
    with pytest.raises(KeyboardInterrupt):
        fits.compare("forest", "mkl")


def test_methods_that_fail_leave_what_the_others_have_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = {"linear": ValueError("too few rows"), "forest": RuntimeError("no columns")}
    fits = Fits(monkeypatch, broken)  # type: ignore[arg-type]
    found = fits.compare("linear", "forest", "mkl")
    assert fits.done == found.table["method"].tolist() == ["mkl"]
    assert found.table.filter(like="split").shape == (1, 5)
    assert found.failures == (
        "method 'linear' failed: too few rows",
        "method 'forest' failed: RuntimeError: no columns",
    )
    fits.broken["mkl"] = ValueError("one class")
    with pytest.raises(InputError, match=r"'linear' failed: too few rows; .* failed: one class"):
        fits.compare("linear", "forest", "mkl")


def test_methods_are_ordered_by_ranks_which_equal_errors_share() -> None:
    # The first method is the second on one split of two; deviations are those of a sample.
    errors = np.array([[0.1, 0.2], [0.1, 0.1], [0.3, 0.3]])
    found = {name: np.array([row] * 3) for name, row in zip("abc", errors, strict=True)}
    table = comparison_table(found, "error")
    assert table["method"].tolist() == ["b", "a", "c"]
    np.testing.assert_allclose(table["rank"], [1.25, 1.75, 3.0], rtol=1e-15)
    np.testing.assert_allclose(table["error_std"], [0.0, 0.1 / np.sqrt(2.0), 0.0])
