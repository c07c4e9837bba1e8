"""Dates with time zones: the local clock, and tables whose times have a zone or none."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from mercer.preprocessing import cell_readings, column_encoder, parse_cells, table_encoder
from mercer.preprocessing._column_converter import ColumnConverter

BERLIN = "Europe/Berlin"


def aware(zone: str = BERLIN, n: int = 40) -> Any:
    """Times on both sides of a change of the clock."""
    return pd.Series(pd.date_range("2024-03-20 20:00", periods=n, freq="13h", tz=zone), name="at")


def as_arrow(times: Any) -> Any:
    pytest.importorskip("pyarrow")
    return times.astype(f"timestamp[us, tz={BERLIN}][pyarrow]").to_frame()


def as_polars(times: Any) -> Any:
    pl = pytest.importorskip("polars")
    table = pl.DataFrame({"at": times.dt.tz_convert("UTC").dt.tz_localize(None).tolist()})
    instants = pl.col("at").dt.replace_time_zone("UTC")
    return table.with_columns(instants.dt.convert_time_zone(str(times.dt.tz)))


FORMS: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda times: times.to_frame(),
    "objects": lambda times: times.astype(object).to_frame(),
    "array": lambda times: times.astype(object).to_numpy()[:, None],
    "arrow": as_arrow,
    "polars": as_polars,
    "offsets": lambda times: times.map(lambda time: time.isoformat()).to_frame(),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_clock_is_the_local_one(form: str) -> None:
    times = aware()
    local = times.dt.tz_localize(None).to_frame()
    table = FORMS[form](times)
    found = table_encoder().fit(table).transform(table)
    expected = table_encoder().fit(local)
    cyclic = [name.startswith("at_") for name in expected.get_feature_names_out()]
    assert sum(cyclic) == 4
    np.testing.assert_allclose(
        found[:, cyclic], expected.transform(local)[:, cyclic], rtol=0.0, atol=1e-12
    )


@pytest.mark.parametrize("form", FORMS)
def test_instants_stay_what_they_are(form: str) -> None:
    times = aware()
    table, elsewhere = FORMS[form](times), FORMS[form](times.dt.tz_convert("Asia/Tokyo"))
    encoder = table_encoder().fit(table)
    found = encoder.transform(elsewhere)
    if form != "offsets":
        np.testing.assert_array_equal(found, encoder.transform(table))
    else:  # These name no zone, and are read as they are written.
        assert (found[:, 0] > encoder.transform(table)[:, 0])[:-1].all()


@pytest.mark.parametrize("make", [table_encoder, lambda: column_encoder(aware().to_frame())])
def test_tables_of_the_other_kind_are_refused(make: Callable[[], Any]) -> None:
    times = aware()
    zoned, naive = times.to_frame(), times.dt.tz_localize(None).to_frame()
    with pytest.raises(ValueError, match=r"'at' have no time zone, and .* training rows had one"):
        make().fit(zoned).transform(naive)
    with pytest.raises(ValueError, match=r"'at' have a time zone, and .* training rows had none"):
        make().fit(naive).transform(zoned)
    empty = pd.DataFrame({"at": pd.Series([pd.NaT] * 3)})
    assert len(make().fit(zoned).transform(empty)) == 3


@pytest.mark.parametrize("other", [datetime(2024, 1, 1, 8), date(2024, 1, 1)])
def test_a_column_of_both_kinds_is_refused(other: date) -> None:
    times = [datetime(2024, 1, day, 8, tzinfo=UTC) for day in range(1, 9)]
    table = pd.DataFrame({"at": pd.Series([*times, other, None], dtype=object)})
    with pytest.raises(ValueError, match="Column 'at' holds times with a time zone and times with"):
        table_encoder().fit(table)


def test_the_last_day_of_python_has_a_clock() -> None:
    times = [datetime(9999, 12, 31, 23, tzinfo=UTC), datetime(2024, 1, 2, 8, tzinfo=UTC)] * 3
    encoder = table_encoder().fit(aware().to_frame())
    table = pd.DataFrame({"at": pd.Series(times, dtype=object)})
    assert np.isfinite(encoder.transform(table)).all()


def parsed(cells: list[str | None]) -> Any:
    frame = pd.DataFrame({"at": pd.Series(cells, dtype=object)})
    return parse_cells(frame["at"], cell_readings(frame)["at"])[0]


def test_offsets_in_text() -> None:
    hours = [f"2024-05-0{day} 08:00:00" for day in range(1, 9)]
    for offset in ("+02:00", "+0200", "+02"):
        found = parsed([*(hour + offset for hour in hours), None])
        assert str(found.dt.tz) == "UTC+02:00"
        assert found.dt.hour.dropna().unique().tolist() == [8]
    assert str(parsed([hour.replace(" ", "T") + "Z" for hour in hours]).dt.tz) == "UTC"
    summer_and_winter = [*(hour + "-03:30" for hour in hours), "2024-12-01 08:00:00-02:30"]
    assert [time.hour for time in parsed(summer_and_winter)] == [8] * 9
    assert parsed(hours).dt.tz is None
    with pytest.raises(ValueError, match="Column 'at' holds times with a time zone and times with"):
        parsed([*hours, "2024-05-01 08:00:00+02:00"])


def test_a_zone_without_a_name_is_read_as_it_is_written() -> None:
    times = aware("Etc/GMT-2")
    offset = times.dt.tz_convert(datetime(2024, 5, 1, tzinfo=ZoneInfo("Etc/GMT-2")).tzinfo)
    fixed = pd.Series(pd.to_datetime(offset.map(lambda time: time.isoformat())), name="at")
    encoder = ColumnConverter("date").fit(fixed.to_frame())
    assert encoder.zones_ == [""]
    found = encoder.transform(fixed.to_frame())
    np.testing.assert_array_equal(found, encoder.transform(times.to_frame()))
