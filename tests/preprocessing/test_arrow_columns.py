"""Columns that Arrow holds, and times of day and lists in frames of pandas and polars."""

from datetime import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.preprocessing import (
    cell_readings,
    column_encoder,
    convert,
    is_text,
    kind_of,
    parse_cells,
    table_encoder,
)

pa = pytest.importorskip("pyarrow")

N = 40
HOURS = [time(k % 24, 7 * k % 60) for k in range(N)]
TEXT = {
    "day": [f"{1 + k % 28:02}.{1 + k % 12:02}.2021" for k in range(N)],
    "price": [f"{k % 17},50 €" for k in range(N)],
    "town": [("Bern", "Chur", None)[k % 3] for k in range(N)],
}


def held_by_arrow(cells: list[Any], kind: Any = None) -> Any:
    return pd.Series(cells, dtype=pd.ArrowDtype(kind or pa.array(cells).type))


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view"])
def test_text_of_arrow_is_read_as_text_of_pandas(kind: str) -> None:
    usual = pd.DataFrame(TEXT)
    frame = pd.DataFrame({n: held_by_arrow(TEXT[n], getattr(pa, kind)()) for n in TEXT})
    assert all(is_text(frame[name]) for name in frame)
    found = cell_readings(frame)
    assert found == cell_readings(usual)
    for name, reading in found.items():
        values, odd = parse_cells(frame[name], reading)
        assert values.equals(parse_cells(usual[name], reading)[0])
        assert odd.empty
    for make in (lambda table: table_encoder(), column_encoder):
        encoder = make(frame).fit(usual)
        assert_array_equal(encoder.transform(frame), encoder.transform(usual))
        assert_array_equal(make(frame).fit_transform(frame), encoder.transform(usual))


def test_frames_of_arrow_types_are_encoded_as_others() -> None:
    usual = pd.DataFrame(TEXT).assign(x=np.arange(N) / 3, n=[None, 1, 5, 2] * 10, flag=[True] * N)
    frame = usual.convert_dtypes(dtype_backend="pyarrow")
    expected = table_encoder().fit_transform(usual)
    assert_array_equal(table_encoder().fit_transform(frame), expected)


def test_dictionaries_of_arrow_are_categories() -> None:
    levels = pa.DictionaryArray.from_arrays([2, 0, 1, None] * 10, ["low", "mid", "high"])
    ordered = pa.DictionaryArray.from_arrays(levels.indices, levels.dictionary, ordered=True)
    frames = [
        pd.DataFrame({"c": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([cells])))})
        for cells in (levels, ordered)
    ]
    assert not is_text(frames[0]["c"])
    assert kind_of(frames[0]["c"]) == "category"
    expected = table_encoder().fit_transform(pd.DataFrame({"c": levels.to_pylist()}))
    assert_array_equal(table_encoder().fit_transform(frames[0]), expected)
    for frame in frames:  # Their order may mean nothing.
        codes = column_encoder(frame).fit_transform(frame)
        assert_array_equal(codes[:4, 0], [0.0, 1.0, 2.0, np.nan])
    ranks = column_encoder(frames[1], {"c": ["low", "mid", "high"]}).fit_transform(frames[1])
    assert_array_equal(ranks[:4, 0], [2.0, 0.0, 1.0, np.nan])


def test_times_of_day_are_hours() -> None:
    cells = [*HOURS[:-1], None]
    usual = pd.DataFrame({"t": [f"{at:%H:%M}" for at in HOURS[:-1]] + [None]})
    frames = [pd.DataFrame({"t": cells}), pd.DataFrame({"t": held_by_arrow(cells)})]
    assert_allclose(convert(frames[0], "date")[:2, 0] * 24.0, [0.0, 1.0 + 7 / 60])
    for frame in frames:
        assert kind_of(frame["t"]) == "date"
        found = table_encoder().fit(frame)
        assert_allclose(found.transform(frame), table_encoder().fit_transform(usual))
        assert "t_hour_cos" in found.get_feature_names_out()


def test_times_of_day_and_lists_of_polars() -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"t": HOURS, "tags": [[1, 2]] * N})
    usual = table_encoder().fit_transform(pd.DataFrame({"t": HOURS}))
    with pytest.warns(UserWarning, match="neither numbers nor categories are left out: 'tags'"):
        assert_array_equal(table_encoder().fit_transform(frame), usual)


@pytest.mark.parametrize("cells", [[[1, 2]] * N, [{"a": 1}] * N, [b"x1", b"x2"] * (N // 2)])
def test_lists_records_and_bytes_are_left_out_with_a_warning(cells: list[Any]) -> None:
    x = np.random.default_rng(0).normal(size=N)
    for other in (cells, held_by_arrow(cells)):
        frame = pd.DataFrame({"x": x, "tags": other})
        with pytest.warns(UserWarning, match="neither numbers nor categories are left out: 'tags'"):
            assert table_encoder().fit_transform(frame).shape == (N, 1)
