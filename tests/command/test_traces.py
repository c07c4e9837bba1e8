"""Traces of other programs in columns: those that are told, and tables in which there are none."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_cases import done, pd

from mercer_command.columns import recognize_columns
from mercer_command.traces import with_traces

N = 200
RNG = np.random.default_rng(0)
WALK = np.cumsum(RNG.integers(-9, 10, 4 * N)).astype(float)
DAYS = pd.to_datetime("2019-03-01") + pd.to_timedelta(RNG.integers(0, 1500, N), "D")


def told(frame: Any) -> dict[str, str]:
    """What the traces say, by column."""
    typed, columns = recognize_columns(frame)
    found = zip(columns, with_traces(typed, columns), strict=True)
    return {
        one.name: "; ".join(other.warnings[len(one.warnings) :])
        for one, other in found
        if other != one
    }


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16"])
def test_differences_that_wrapped(dtype: str) -> None:
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    center = 0 if dtype.startswith("u") else 2 ** (bits - 1)
    cells = (np.round(RNG.normal(scale=2**bits / 32, size=4 * N)).astype(int) + center) % 2**bits
    frame = pd.DataFrame({"c": cells.astype(f"uint{bits}").astype(dtype), "x": WALK + 0.5})
    found = told(frame)
    assert [*found] == ["c"]
    assert f"whole numbers modulo {2**bits:,}, it seems (they fill both ends" in found["c"]
    assert f"integers of {bits} bits" in found["c"]


def test_series_that_wrapped() -> None:
    found = told(pd.DataFrame({"c": WALK % 256, "x": RNG.normal(size=4 * N)}))
    assert [*found] == ["c"]
    assert "times from end to end between rows" in found["c"]
    rows = RNG.permutation(4 * N)
    frame = pd.DataFrame({"c": (WALK % 256)[rows], "at": rows + 0.5})
    frame.loc[5, "c"] = np.nan
    found = told(frame)
    assert [*found] == ["c"]
    assert "in the order of another column" in found["c"]


@pytest.mark.parametrize(
    "cells",
    [
        RNG.integers(0, 256, 4 * N),
        np.clip(np.abs(WALK), 0, 255),
        np.clip(RNG.normal(128, 200, 4 * N), 0, 255).round(),
        np.repeat([3, 252], 2 * N) + RNG.integers(-3, 4, 4 * N),
        RNG.permutation(np.repeat([0, 255], 2 * N)),
        np.where(np.arange(4 * N) // 20 % 2, 10, 245) + RNG.integers(-5, 6, 4 * N),
        np.arange(4 * N) % 256,
        np.concatenate([np.sort(RNG.integers(0, 256, N)) for _ in range(4)]),
        np.round(127.5 + 127.5 * np.sin(np.arange(4 * N) / 20)),
        WALK,
    ],
    ids=[
        "bytes",
        "clipped",
        "saturated",
        "two-ends",
        "flags",
        "square",
        "counter",
        "groups",
        "wave",
        "walk",
    ],
)
def test_bytes_that_did_not_wrap(cells: Any) -> None:
    assert not told(pd.DataFrame({"c": cells.astype(float), "x": RNG.normal(size=4 * N)}))


def test_a_gram_matrix_of_bytes() -> None:
    X = RNG.integers(0, 20, (40, 6))
    gram = X @ X.T
    found = told(pd.DataFrame(gram % 256).rename(columns="k{}".format).assign(y=RNG.random(40)))
    assert [*found] == ["k0"]
    assert "columns 'k0' to 'k39' are a symmetric matrix of bytes" in found["k0"]
    small = RNG.integers(0, 6, (40, 6))
    distances = np.abs(X[:, None] - X).sum(axis=2)
    for matrix in (gram, small @ small.T, distances, np.where(np.eye(40), 255, gram % 256)):
        assert not told(pd.DataFrame(matrix).rename(columns="k{}".format))


def test_zeros_in_place_of_missing_cells() -> None:
    other = RNG.normal(size=N)
    absent = RNG.random(N) < 0.1
    other[absent] = np.nan
    words = pd.Series(RNG.choice(["red", "blue"], N)).where(~absent)
    weight = np.where(absent, 0.0, RNG.normal(70.0, 9.0, N))
    for cells in (other, words):
        found = told(pd.DataFrame({"weight": weight, "other": cells}))
        assert [*found] == ["weight"]
        assert (
            f"0 in exactly the {absent.sum()} rows in which 'other' is missing" in found["weight"]
        )
        assert "say --missing 'weight=0'" in found["weight"]
    for silent in (
        np.where(RNG.random(N) < 0.1, 0.0, weight + 1.0),  # in other rows
        np.where(absent, 0.0, 1.0),  # a flag
        np.where(absent, 0, RNG.integers(1, 5, N)),  # a count
        np.where(absent, 0.0, RNG.exponential(size=N)),  # an amount
        np.where(absent, 0.0, RNG.normal(size=N)),  # of both signs
    ):
        assert not told(pd.DataFrame({"c": silent.astype(float), "other": other}))


def test_negative_nines() -> None:
    income = RNG.integers(0, 2000, N).astype(float)
    income[::20] = -99.0
    assert "--missing 'income=-99'" in told(pd.DataFrame({"income": income}))["income"]
    assert not told(pd.DataFrame({"c": np.where(income < 0.0, -99.0, income / 100.0)}))
    income[0] = -5.0
    assert not told(pd.DataFrame({"income": income}))
    assert not told(pd.DataFrame({"c": np.tile([-9.0, 0.0, 1.0, 2.0], 50)}))


@pytest.mark.parametrize(
    ("name", "origin", "unit"),
    [
        ("Order date", "1899-12-30", "D"),
        ("datum", "1582-10-14", "s"),
        ("any", "1582-10-14", "s"),
        ("timestamp", "1970-01-01", "s"),
        ("created_at", "1970-01-01", "ms"),
        ("date", "-0001-12-31", "D"),
        ("date", "-4713-11-24T12:00", "D"),
    ],
)
def test_dates_that_are_numbers(name: str, origin: str, unit: str) -> None:
    since = np.datetime64(origin, "s")
    seconds = (DAYS.to_numpy("datetime64[s]") - since).astype(float)
    numbers = seconds / {"D": 86_400.0, "s": 1.0, "ms": 1e-3}[unit]
    frame = pd.DataFrame({name: numbers})
    found = told(frame)[name]
    assert found.startswith("its numbers may be dates")
    call = found.split("; ")[1].removesuffix(" makes them dates")
    assert (eval(call, {"pd": pd, "frame": frame}) == DAYS).all()


def test_dates_that_are_digits_in_a_typed_column() -> None:
    frame = pd.DataFrame({"c": DAYS.strftime("%Y%m%d").astype(int)})
    assert "format='%Y%m%d'" in told(frame)["c"]
    assert not told(pd.DataFrame({"c": RNG.integers(19_000_101, 21_001_231, N)}))
    assert not told(pd.DataFrame({"date": RNG.normal(size=N), "mass": RNG.uniform(3e4, 4e4, N)}))


def test_whole_numbers_of_64_bits_read_as_doubles() -> None:
    ids = RNG.integers(1, 2**40, N)
    found = told(pd.DataFrame({"c": ids.view(float)}))["c"]
    assert "R's integer64" in found
    assert (pd.Series(ids.view(float)).to_numpy().view("int64") == ids).all()


def test_codes_with_and_without_zeros(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for codes in (["007", "7", "010"] * 20, ["007", *map(str, range(5, 50))] * 2):
        pd.DataFrame({"code": codes, "x": RNG.normal(size=len(codes))}).to_csv("t.csv", index=False)
        assert "codes with leading zeros and without: '007, 7'" in done("columns t.csv").said
    pd.DataFrame({"code": ["007", "070", "10"] * 20}).to_csv("t.csv", index=False)
    assert "without" not in done("columns t.csv").said


def test_traces_are_told_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"a": RNG.normal(size=4 * N), "wrapped": WALK.astype(int) % 256})
    shown = done("columns t.csv", table=frame).stdout
    assert "modulo 256" in " ".join(shown.split())
    assert shown.index("wrapped") < shown.index("\n a ")


def test_tables_without_traces() -> None:
    if (folder := os.environ.get("MERCER_DATA")) is None:
        pytest.skip("MERCER_DATA is not set")
    paths = sorted(Path(folder, "tables").glob("*.csv.gz"))
    assert len(paths) >= 20
    for path in paths:
        cells = pd.read_csv(path, dtype=str, keep_default_na=False, nrows=1500)
        assert not told(cells), path.name
    with (
        np.load(Path(folder, "mfeat.npz")) as views,
        np.load(Path(folder, "mnist20k.npz")) as digits,
    ):
        for X in (views["X"], digits["X"][:300]):
            assert not told(pd.DataFrame(X).rename(columns="x{}".format))
