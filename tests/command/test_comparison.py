"""Comparisons within a number of minutes: order, methods that are left out, and their notes."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mercer_command.comparison import Comparison, compare
from mercer_command.messages import InputError
from mercer_command.method_times import by_cost, expected_seconds
from mercer_command.methods import METHODS
from mercer_command.options import Compare

SPLITS = [(np.arange(100), np.arange(100, 130))] * 5


class Timed:
    """A clock that fits of methods advance, and a bar that counts them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: dict[str, float]) -> None:
        self.now, self.seconds = 0.0, seconds
        self.broken: dict[str, Exception] = {}
        self.begun: list[str] = []
        self.done: list[str] = []
        monkeypatch.setattr("mercer_command.comparison.perf_counter", lambda: self.now)
        monkeypatch.setattr("mercer_command.comparison._measure", self.measure)

    def advance(self, number: int, description: str) -> None:
        self.begun.append(description.split(",", maxsplit=1)[0])

    def measure(self, problem: Any, name: str, *others: Any) -> Any:
        self.now += self.seconds[name]
        if name in self.broken:
            raise self.broken[name]
        score = SimpleNamespace(value=self.seconds[name])
        tested = SimpleNamespace(metric="rmse", held_out=[SimpleNamespace(scores={"rmse": score})])
        return tested, 0.5, self.seconds[name]

    def compare(self, minutes: float) -> Comparison:
        given = Compare(Path("t.csv"), "y", minutes=minutes)
        done = self.done
        bar: Any = self
        problem: Any = None
        return compare(
            problem,
            list(self.seconds),
            SPLITS,
            given,
            bar,
            on_method=lambda table: done.extend(table["method"]),
        )


def test_the_fastest_methods_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = Timed(monkeypatch, {"mkl": 0.5, "linear": 0.05, "stacking": 0.4, "forest": 0.2})
    found = timed.compare(2.0)
    assert timed.done == ["linear", "forest", "stacking", "mkl"]
    assert timed.begun == [name for name in timed.done for _ in SPLITS]
    assert found.notes == ()
    assert found.table.filter(like="split").shape == (4, 5)
    for name in METHODS:
        assert by_cost(["linear", name], 1000)[0] == "linear"


def test_what_would_not_be_done_in_time_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that is eighty times slower, slow methods are not even tried."""
    usual = {name: expected_seconds(name, 100, {}) for name in ("linear", "forest", "mkl", "cr")}
    timed = Timed(monkeypatch, {name: 80.0 * seconds for name, seconds in usual.items()})
    found = timed.compare(2.0)
    assert timed.now <= 120.0
    assert sorted(found.table["method"]) == sorted(timed.done) == ["forest", "linear"]
    assert set(timed.begun) == {"linear", "forest"}
    [note] = found.notes
    assert "2 minutes would not be enough: 'mkl', 'cr'; --minutes " in note
    more = Timed(monkeypatch, timed.seconds)
    assert more.compare(float(note.split("--minutes ")[1].split()[0])).notes == ()
    assert set(more.done) == set(usual)


def test_a_method_stops_after_a_first_split_that_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ranks are of methods that have all splits."""
    timed = Timed(monkeypatch, {"linear": 0.06, "forest": 50.0, "mkl": 0.6})
    found = timed.compare(1.0)
    assert timed.begun.count("forest") == 1
    assert "'forest' (after 1 split)" in found.notes[0]
    assert "1 minute would not be enough" in found.notes[0]
    assert set(found.table["rank"]) == {1.0, 2.0}
    assert sorted(found.table["method"]) == ["linear", "mkl"]


def test_a_slow_first_method_has_fewer_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = Timed(monkeypatch, {"linear": 50.0, "forest": 51.0})
    found = timed.compare(2.0)
    assert found.table.filter(like="split").shape == (1, 2)
    assert "'forest', 3 of 5 splits; --minutes " in found.notes[0]
    alone = Timed(monkeypatch, {"mkl": 1000.0}).compare(0.01)
    assert alone.table["method"].tolist() == ["mkl"]
    assert "4 of 5 splits" in alone.notes[0]


def test_methods_that_fail_leave_what_the_others_have_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timed = Timed(monkeypatch, {"linear": 0.1, "forest": 0.2, "mkl": 0.3})
    timed.broken = {"linear": ValueError("too few rows"), "forest": RuntimeError("no columns")}
    found = timed.compare(2.0)
    assert timed.done == found.table["method"].tolist() == ["mkl"]
    assert found.table.filter(like="split").shape == (1, 5)
    assert found.failures == (
        "method 'linear' failed: too few rows",
        "method 'forest' failed: RuntimeError: no columns",
    )
    timed.broken["mkl"] = ValueError("one class")
    with pytest.raises(InputError, match=r"'linear' failed: too few rows; .* failed: one class"):
        timed.compare(2.0)
