"""Dates outside of the range of the training rows: their trend is held, their calendar is not."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from model_file_cases import saved_and_loaded
from sklearn.pipeline import make_pipeline

from mercer import TwoStageRegressor, UniformCombination
from mercer.inspection import shapley_values
from mercer.preprocessing import table_encoder
from mercer.preprocessing._clipped_dates import ClippedDates


def days(*texts: str) -> Any:
    return np.array(texts, dtype="datetime64[D]")[:, None]


def test_dates_outside_of_the_range_are_its_ends() -> None:
    encoder = ClippedDates().fit(days("1970-01-05", "NaT", "1970-01-11"))
    new = days("1969-12-01", "1970-01-05", "1970-01-08", "1970-01-12", "2030-01-01", "NaT")
    np.testing.assert_array_equal(encoder.transform(new).ravel(), [4, 4, 7, 10, 10, np.nan])


def test_durations_and_unknown_dates_have_no_range() -> None:
    frame = pd.DataFrame(
        {
            "lasted": pd.to_timedelta([1, 2], "D"),
            "at": pd.to_datetime(["1970-01-05", "1970-01-11"]),
            "none": pd.to_datetime([None, None]),
        }
    )
    encoder = ClippedDates().fit(frame)
    later = frame.assign(
        lasted=pd.to_timedelta([0.5, 9], "D"), at=pd.Timestamp("2000-01-01"), none=frame["at"]
    )
    np.testing.assert_array_equal(encoder.transform(later), [[0.5, 10, 4], [9, 10, 10]])
    assert encoder.get_feature_names_out().tolist() == ["lasted", "at", "none"]


def sales(start: str, n: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    day = pd.date_range(start, periods=n, freq="7h")
    return pd.DataFrame({"day": day, "price": rng.normal(size=n)})


@pytest.mark.parametrize("extrapolate", [False, True])
def test_the_trend_alone_is_held(extrapolate: bool) -> None:
    encoder = table_encoder(extrapolate).set_output(transform="pandas").fit(sales("2022-01-01", 99))
    later, last = sales("2025-06-01", 50), sales("2022-01-01", 99)[-1:]
    found, held = encoder.transform(later), encoder.transform(last)["day"].iloc[0]
    assert (found["day"] == held).all() != extrapolate
    calendar = [name for name in found if name.startswith("day_")]
    assert {name.split("_")[1] for name in calendar} == {"weekday", "hour"}
    assert (found[calendar].nunique() > 3).all()
    if not extrapolate:
        # A later week with the same weekdays and hours is encoded in the same way.
        shifted = later.assign(day=later["day"] + pd.Timedelta(days=70))
        np.testing.assert_allclose(encoder.transform(shifted), found, atol=1e-9)


def test_contributions_to_predictions_of_later_dates_add_up() -> None:
    train = sales("2022-01-01", 80)
    y = np.linspace(0.0, 3.0, 80) + train["price"]
    model = make_pipeline(table_encoder(), TwoStageRegressor(UniformCombination())).fit(train, y)
    later = sales("2023-01-01", 12, 1)
    values = shapley_values(model, later)
    predicted = model.predict(later)
    np.testing.assert_allclose(values.values.sum(axis=1) + values.base_value, predicted, atol=1e-8)
    assert list(values.feature_names) == ["day", "price"]
    np.testing.assert_array_equal(saved_and_loaded(model).predict(later), predicted)
