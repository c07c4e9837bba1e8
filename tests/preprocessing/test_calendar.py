"""Season, weekday and time of day of dates."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.preprocessing._calendar import CalendarFeatures


def column(*texts: str) -> np.ndarray:
    return np.array(texts, dtype="datetime64[m]")[:, None]


def names(X: np.ndarray) -> list[str]:
    encoder = CalendarFeatures().fit(X)
    return [name.removesuffix("_sin") for name in encoder.get_feature_names_out(["d"])[::2]]


def test_features_that_do_not_vary_are_left_out() -> None:
    assert names(column("2024-01-01", "2024-01-02")) == ["d_weekday"]
    assert names(column("2024-01-01", "2024-01-08", "2024-01-15")) == []
    assert names(column("2024-01-01T08:00", "2024-01-01T09:00")) == ["d_hour"]
    assert names(column("2024-01-01", "2024-02-05", "2024-03-04")) == ["d_season"]
    assert names(np.array([[1], [5]], dtype="timedelta64[h]")) == []


def test_angles_are_those_of_the_calendar() -> None:
    X = column("2024-01-01T00:00", "2024-01-04T06:00", "2024-04-01T12:00", "NaT")
    found = CalendarFeatures().fit(X).transform(X)
    angles = np.arctan2(found[:3, ::2], found[:3, 1::2]) % (2 * np.pi) / (2 * np.pi)
    # The first and the last of the three days are Mondays, the other is a Thursday.
    np.testing.assert_allclose(angles[:, 0] * 7, [0, 3, 0], atol=1e-9)
    np.testing.assert_allclose(angles[:, 1] * 24, [0, 6, 12], atol=1e-9)
    np.testing.assert_array_equal(found[3], 0.0)


def test_a_season_returns_each_year() -> None:
    X = column("2020-07-01", "2021-07-01", "2021-01-01", "2022-04-01")
    season = CalendarFeatures().fit(X).transform(X)[:, :2]
    assert np.linalg.norm(season[0] - season[1]) < 0.02
    assert np.linalg.norm(season[0] - season[2]) == pytest.approx(2.0, abs=0.01)
