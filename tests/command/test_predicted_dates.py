"""Predicted dates are written as the dates of the table are."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("pandas")

from mercer_command.values import as_dates, format_dates


def test_predicted_days_become_the_nearest_date_as_it_was_read() -> None:
    days = np.array([19734.4, 19734.6, -0.6, -1.4, np.nan])
    nearest = ["2024-01-12", "2024-01-13", "1969-12-31", "1969-12-31", "NaT"]
    assert_array_equal(as_dates(days, "%d.%m.%Y"), np.array(nearest, "datetime64[D]"))
    assert format_dates(days[[0, 1, 4]], "%d.%m.%Y") == ["12.01.2024", "13.01.2024", ""]
    assert format_dates(np.array([19734.5]), "ISO8601") == ["2024-01-12T12:00:00"]


@pytest.mark.parametrize("name", ["ISO8601", "%m/%d/%Y %I:%M:%S %p"])
def test_times_are_those_that_were_read_to_the_second(name: str) -> None:
    """Days since 1970 are not exact, and are a little less than the time for some seconds."""
    times = np.datetime64("2024-01-12T00:00:00") + np.arange(86_400).astype("timedelta64[s]")
    days = (times - np.datetime64(0, "s")) / np.timedelta64(1, "D")
    assert (np.floor(days * 86_400e6) < np.round(days * 86_400e6)).any()
    assert_array_equal(as_dates(days, name), times)
