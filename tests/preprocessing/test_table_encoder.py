"""Encoding of tables of mixed types: arrays, data frames of pandas and polars, odd columns."""

from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from mercer.preprocessing import SoftClippingScaler, table_encoder
from mercer.preprocessing._table_encoder import CalendarFeatures, TextFeatures


def mixed(n_rows: int = 60) -> Any:
    """Return a data frame with a column of every kind."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows),
            "price": np.exp(3.0 * rng.normal(size=n_rows)),
            "flag": rng.random(n_rows) < 0.5,
            "count": pd.array(rng.integers(0, 5, n_rows), dtype="Int64"),
            "color": rng.choice(["red", "green", "blue"], n_rows),
            "grade": pd.Categorical(rng.choice([1, 2, 3], n_rows)),
            "code": rng.choice(["x", 1, 2.5], n_rows).astype(object),
            "sure": pd.array(rng.random(n_rows) < 0.5, dtype="boolean"),
            "when": pd.date_range("2020-01-01", periods=n_rows, tz=ZoneInfo("Europe/Berlin")),
            "name": [f"row {i}" for i in range(n_rows)],
            "void": [None] * n_rows,
            "same": ["a"] * n_rows,
            "one": np.ones(n_rows),
        }
    )
    frame["flag"] = frame["flag"].astype(object)
    for j, name in enumerate(["size", "flag", "count", "color", "grade", "code", "sure", "when"]):
        frame.loc[j, name] = None
    return frame


def encoded(table: Any) -> Any:
    return table_encoder().fit_transform(table)


class TestArrays:
    def test_mixed_types(self) -> None:
        X = np.array([[1.0, "a"], [np.nan, "b"], [3.0, None], [2.0, "a"]], dtype=object)
        encoder = table_encoder().fit(X)
        names = ["x0", "missingindicator_x0", "x1_a", "x1_b", "x1_nan"]
        assert encoder.get_feature_names_out().tolist() == names
        out = encoder.transform(X)
        assert out[1, 0] == np.median(out[[0, 2, 3], 0])
        np.testing.assert_array_equal(out[:, 1], [0, 1, 0, 0])
        np.testing.assert_array_equal(out[:, 2:], np.eye(3)[[0, 1, 2, 0]])

    def test_numbers_are_scaled(self) -> None:
        X = np.random.default_rng(0).standard_cauchy(size=(30, 40))
        np.testing.assert_array_equal(encoded(X), SoftClippingScaler().fit_transform(X))
        assert encoded(X.astype(np.float32)).dtype == np.float32


class TestDataFrames:
    def test_every_kind_of_column(self) -> None:
        frame = mixed()
        encoder = table_encoder().set_output(transform="pandas")
        out = encoder.fit_transform(frame)
        assert out.notna().all(axis=None)
        indicators = [f"missingindicator_{name}" for name in ("size", "count", "when")]
        categories = {
            "flag": ["False", "True", "nan"],
            "color": ["blue", "green", "red", "nan"],
            "grade": ["1", "2", "3", "nan"],
            "code": ["1", "2.5", "x", "nan"],
            "sure": ["False", "True", "nan"],
            "same": ["a"],
        }
        one_hot = {f"{name}_{value}" for name, values in categories.items() for value in values}
        numbers = {"size", "price", "count", "one", "when"}
        # In Berlin, the days are of two months, and the hour is always zero.
        calendar = {"when_weekday_sin", "when_weekday_cos"}
        assert set(out.columns) == numbers | set(indicators) | one_hot | calendar
        assert (out["one"] == 0.0).all()
        for name, values in categories.items():
            columns = out[[f"{name}_{value}" for value in values]]
            np.testing.assert_array_equal(columns.sum(axis=1), 1.0)
        for name in ("size", "count", "when"):
            missing = out[f"missingindicator_{name}"] == 1.0
            np.testing.assert_array_equal(missing, frame[name].isna())

    def test_polars_and_pandas_agree(self) -> None:
        pl = pytest.importorskip("polars")
        frame = mixed().drop(columns=["code", "grade"]).convert_dtypes()
        known = frame.astype(object).where(frame.notna(), None)
        columns = {name: known[name].tolist() for name in known}
        table = pl.DataFrame(columns)
        zone = str(frame["when"].dt.tz)  # Older versions of polars convert times to UTC.
        table = table.with_columns(pl.col("when").dt.convert_time_zone(zone))
        np.testing.assert_allclose(encoded(table), encoded(frame))

    def test_the_order_of_rows_does_not_matter(self) -> None:
        frame = mixed()
        order = np.random.default_rng(1).permutation(len(frame))
        np.testing.assert_allclose(encoded(frame.iloc[order]), encoded(frame)[order], atol=1e-12)

    def test_columns_are_found_by_their_names(self) -> None:
        frame = mixed()
        encoder = table_encoder().fit(frame)
        # Those that are not used may be absent.
        backwards = frame[frame.columns[::-1]].drop(columns=["name", "void"]).assign(more=1)
        np.testing.assert_array_equal(encoder.transform(backwards), encoder.transform(frame))
        with pytest.raises(ValueError, match=r"columns are missing: .*color"):
            encoder.transform(frame.drop(columns="color"))


class TestNewData:
    def test_new_categories_are_zero(self) -> None:
        X = np.array([["a"], ["b"], ["a"], ["b"]], dtype=object)
        encoder = table_encoder().fit(X)
        new = np.array([["c"], [None], ["a"]], dtype=object)
        np.testing.assert_array_equal(encoder.transform(new), [[0, 0], [0, 0], [1, 0]])

    def test_rare_categories_share_a_column(self) -> None:
        levels = [f"level {i:03d}" for i in range(100)]
        X = np.array([[level] for i, level in enumerate(levels) for _ in range(1 + (i < 29))] * 3)
        encoder = table_encoder().fit(X)
        assert encoder.get_feature_names_out()[-1] == "x0_infrequent_sklearn"
        out = encoder.transform(np.array([["level 000"], ["level 050"], ["level 1000"]]))
        assert out.shape == (3, 30)
        np.testing.assert_array_equal(out.argmax(axis=1), [0, 29, 29])
        np.testing.assert_array_equal(out.sum(axis=1), 1.0)

    def test_numbers_in_columns_of_text_are_text(self) -> None:
        encoder = table_encoder().fit(np.array([["1"], ["2"], ["x"]], dtype=object))
        new = np.array([[1], [2]])
        np.testing.assert_array_equal(encoder.transform(new), [[1, 0, 0], [0, 1, 0]])
        np.testing.assert_array_equal(encoder.transform(new.astype(float)), encoder.transform(new))


@pytest.mark.parametrize(("value", "expected"), [("a", 1.0), (True, 1.0), (1e300, 0.0)])
def test_a_table_without_variation_is_constant(value: Any, expected: float) -> None:
    for n_rows in (1, 5):
        out = encoded(np.array([[3.0, value]] * n_rows, dtype=object))
        np.testing.assert_array_equal(out, [[0.0, expected]] * n_rows)


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
    years = column("2020-07-01", "2021-07-01", "2021-01-01", "2022-04-01")
    season = CalendarFeatures().fit(years).transform(years)[:, :2]
    assert np.linalg.norm(season[0] - season[1]) < 0.02
    assert np.linalg.norm(season[0] - season[2]) == pytest.approx(2.0, abs=0.01)


def texts(*cells: str | None) -> np.ndarray:
    return np.array(cells, dtype=object)[:, None]


def test_texts_that_share_words_are_similar() -> None:
    X = texts("red house", "a red car", "blue boat", "the blue sea")
    features = TextFeatures(n_components=3).fit_transform(X)
    products = features @ features.T
    assert products[0, 1] > 2 * products[0, 2]
    assert products[2, 3] > 2 * products[0, 3]


def test_missing_text_is_empty_and_text_without_words_has_no_features() -> None:
    encoder = TextFeatures().fit(texts("one word", "two words", None))
    np.testing.assert_array_equal(encoder.transform(texts(None, "")), 0.0)
    assert TextFeatures().fit_transform(texts("", " ", None)).shape == (3, 0)
    assert list(encoder.get_feature_names_out(["c"])[:2]) == ["c_text_0", "c_text_1"]
