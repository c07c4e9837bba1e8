"""`table_encoder` in Python reads and uses the columns of a table as the command says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_cases import pd
from ten_tables import BAD_TABLES, BadTable

from mercer.preprocessing import column_encoder, table_encoder
from mercer_command.columns import recognize_columns
from mercer_command.table_files import read_cells

pytestmark = [
    pytest.mark.filterwarnings("ignore:columns that number rows are left out"),
    pytest.mark.filterwarnings("ignore:.* cells? of column"),
]

USES = {
    "number": "numbers", "date": "dates", "time": "dates", "duration": "durations",
    "category": "categories", "text": "text",
}  # fmt: skip
"""The part of the encoder that takes the columns of a role."""

N = 60


def messy() -> Any:
    """A table of what people write into cells."""
    random = np.random.default_rng(0)
    days = pd.Timestamp("2019-01-01") + pd.to_timedelta(random.integers(0, 900, N), "D")
    amounts = random.uniform(1e3, 9e4, N).round(2)
    comma = [f"{a:,.2f}".translate(str.maketrans(",.", ".,")) for a in amounts]
    odd = [None if k % 9 == 0 else "?" if k % 11 == 0 else text for k, text in enumerate(comma)]
    grades = pd.Categorical(random.choice(["low", "mid", "high"], N), ["low", "mid", "high"], True)
    return pd.DataFrame(
        {
            "iso": days.strftime("%Y-%m-%d"),
            "european": days.strftime("%d.%m.%Y"),
            "compact": days.strftime("%Y%m%d"),
            "typed day": days,
            "lasts": pd.to_timedelta(random.integers(1, 99, N), "D"),
            "at": [f"{hour:02}:30" for hour in random.integers(0, 24, N)],
            "comma": odd,
            "price": [f"€ {text}" for text in comma],
            "share": [f"{percent},5 %" for percent in random.integers(0, 99, N)],
            "sentinel": np.where(random.random(N) < 0.2, -999.0, random.normal(size=N)),
            "grade": grades,
            "town": random.choice(["Bern", "Chur", "NA"], N),
            "member": random.choice(["true", "False"], N),
            "said": [f"{'fair' if k % 3 else 'poor'} meal at table {k}" for k in range(N)],
            "code": [f"A-{k:05}" for k in range(N)],
            "customer_id": random.permutation(10_000)[:N],
            "row": np.arange(N),
            "year": 1950 + np.arange(N),
            "whole": random.permutation(10_000)[:N],
            "nothing": [None] * N,
        }
    )


def uses_of(frame: Any) -> tuple[dict[str, str], dict[str, str], Any, Any]:
    """What the command and the encoder use each column for, and what they read."""
    typed, columns = recognize_columns(frame)
    # Columns that are the same in every row remain in Python, where other rows may differ, and so
    # does text that stands for missing cells.
    same = [name for name in frame if frame[name].notna().all() and frame[name].nunique() == 1]
    roles = {one.name: USES.get(one.role, "") for one in columns if one.name not in same}
    encoder = table_encoder().fit(frame)
    groups = {name: USES[kind] for kind, names in encoder.columns_.items() for name in names}
    found = {name: groups.get(name, "") for name in roles}
    return roles, found, typed, encoder.reader_.transform(frame)


def test_columns_as_people_write_them() -> None:
    frame = messy()
    said, done, typed, read = uses_of(frame)
    assert done == said
    assert set(said.values()) == {*USES.values(), ""}
    for name in ("iso", "european", "compact", "at", "comma", "price", "share"):
        assert read[name].dtype == typed[name].dtype
        np.testing.assert_array_equal(read[name].to_numpy(), typed[name].to_numpy())
    rest = [name for name in frame if frame[name].equals(read[name])]
    assert len(rest) == frame.shape[1] - 7


@pytest.mark.parametrize("make", BAD_TABLES, ids=lambda make: make.__name__)
def test_tables_as_people_have_them(make: Callable[[], BadTable], tmp_path: Path) -> None:
    table = make()
    (tmp_path / table.name).write_bytes(table.content)
    frame = read_cells(tmp_path / table.name).frame
    said, done, *_ = uses_of(frame)
    assert done == said


def test_kernels_of_single_columns_read_alike() -> None:
    frame = messy()
    encoder = column_encoder(frame, {"grade": ["low", "mid", "high"]}).fit(frame)
    groups = {kind: names for kind, _, names in encoder[-1].transformers_}
    assert groups["date"] == ["iso", "european", "compact", "typed day", "lasts", "at"]
    assert groups["ordered"] == ["grade"]
    assert groups["number"] == ["comma", "price", "share", "sentinel", "year", "whole"]
