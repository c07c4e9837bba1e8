"""Columns of plain numbers, which are read without trying every notation."""

from typing import Any

import numpy as np
import pytest
from command_cases import pd

from mercer_command import columns, plain_numbers
from mercer_command.commands import columns_command
from mercer_command.plain_numbers import PlainNumbers, are_usual

RNG = np.random.default_rng(0)
N = 40
DRAWS = {
    "measured": RNG.normal(size=N).round(4).astype(str),
    "gappy": np.where(RNG.random(N) < 0.3, RNG.choice(["", "NA", "?", "-"], N), "0.25"),
    "counts": RNG.integers(0, 50, N).astype(str),
    "thousands": RNG.permutation(N * 7)[:N].astype(str) + np.array(".125", dtype=object),
    "grouped": np.array([f"{k % 9 + 1},{100 + k}" for k in range(N)]),
    "comma": np.array([f"{k},5" for k in range(N)]),
    "signed": np.array([f"{'+-'[k % 2]}{k}e-{k % 3}" for k in range(N)]),
    "codes": np.array([f"{k % 7:03d}" for k in range(N)]),
    "days": np.array([f"202401{k % 9 + 10}" for k in range(N)]),
    "ids": np.arange(N).astype(str),
    "sentinel": np.where(np.arange(N) % 9 == 0, "-999.0", RNG.normal(size=N).round(2).astype(str)),
    "same": np.full(N, "1.5"),
    "missing": np.full(N, "NA"),
    "percent": np.array([f"{k}.5%" for k in range(N)]),
    "spaced": np.array([f" {k}.5" for k in range(N)]),
    "lines": np.array([f"{k}.5\n1" for k in range(N)]),
    "infinite": np.where(np.arange(N) % 9 == 0, "1e999", "2.5"),
    "words": np.array(["red", "blue"] * (N // 2)),
    "shop_id": RNG.integers(1, 6, N).astype(str),
}


def nothing(frame: pd.DataFrame, names: object) -> PlainNumbers:
    return PlainNumbers({}, [])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("separator", [",", ";", ""])
@pytest.mark.parametrize("with_codes", [True, False])
def test_plain_numbers_are_read_like_others(
    seed: int, separator: str, with_codes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = np.random.default_rng(seed).permutation(list(DRAWS))[: 3 * seed + 4]
    frame = pd.DataFrame({name: DRAWS[name].astype(object) for name in names}, dtype=str)
    choices = {names[0]: columns.Choice("number", "point")} if names[0] == "measured" else {}
    codes = {name: ["-999", "7"] for name in names[::2]} if with_codes else {}
    given: Any = {"separator": separator, "missing": codes}
    known = None if with_codes else plain_numbers.plain_numbers(frame, frame.columns)
    typed, found = columns.recognize_columns(frame, choices, **given, plain=known)
    monkeypatch.setattr(columns, "plain_numbers", nothing)
    monkeypatch.setattr(columns, "are_usual", lambda numbers: np.zeros(numbers.shape[1], bool))
    as_others, expected = columns.recognize_columns(frame, choices, **given)
    assert found == expected
    pd.testing.assert_frame_equal(typed, as_others)


def test_usual_notations_are_plain() -> None:
    frame = pd.DataFrame(DRAWS, dtype=str)
    found = plain_numbers.plain_numbers(frame, frame.columns)
    assert {"measured", "gappy", "counts", "sentinel", "same", "ids"} <= set(found.values)
    others = {"thousands", "grouped", "comma", "codes", "days", "missing", "percent", "lines"}
    assert not others & set(found.values)
    names = ["counts", "sentinel", "measured", "gappy"]
    numbers = np.column_stack([found.values[name] for name in names])
    assert are_usual(numbers).tolist() == [False, False, True, False]


def test_columns_that_are_alike_are_counted_in_large_tables() -> None:
    some = [columns.Column(f"g{k}", "number", "point", missing=k % 2 / 9) for k in range(150)]
    some.append(columns.Column("y", "constant", facts=("left out: the same in every row",)))
    table, *counted = columns_command._all_columns(some).parts
    assert len(table.rows) == 41
    assert table.rows[0][0] == "y"
    assert counted == [
        "and 55 more of role number",
        "and 55 more of role number; some cells missing",
    ]
    [table] = columns_command._all_columns(some[:100]).parts
    assert len(table.rows) == 100
