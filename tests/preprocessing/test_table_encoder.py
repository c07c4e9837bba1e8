"""Encoding of tables of mixed types: arrays, data frames of pandas and polars, odd columns."""

import pickle
import sys
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from skrub import DatetimeEncoder, MinHashEncoder, TableVectorizer

import mercer
from mercer import TwoStageRegressor, UniformCombination
from mercer.preprocessing import (
    SoftClippingScaler,
    convert,
    table_encoder,
)
from mercer.preprocessing._circles import Circles


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


class TestDataFrames:
    def test_every_kind_of_column(self) -> None:
        frame = mixed()
        encoder = table_encoder().set_output(transform="pandas")
        out = encoder.fit_transform(frame)
        assert out.notna().all(axis=None)
        marked = {"size": "size", "count": "count", "when": "when"}
        indicators = [f"missingindicator_{name}" for name in marked.values()]
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
        # In Berlin, all times are midnight, and they are within two months.
        circles = {"when_weekday_sin", "when_weekday_cos"}
        assert set(out.columns) == numbers | set(indicators) | one_hot | circles
        assert (out["one"] == 0.0).all()
        for name, values in categories.items():
            columns = out[[f"{name}_{value}" for value in values]]
            np.testing.assert_array_equal(columns.sum(axis=1), 1.0)
        for name, output in marked.items():
            missing = out[f"missingindicator_{output}"] == 1.0
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


@pytest.mark.parametrize(
    "options", [{}, {"low_cardinality": OneHotEncoder(handle_unknown="ignore")}, {"n_jobs": 2}]
)
def test_encoders_alone_return_what_the_column_transformer_does(options: Any) -> None:
    encoder = table_encoder().set_params(**options).fit(mixed().assign(told="good and bad"))
    new = mixed(9).assign(told="bad", color=pd.Series([None, "red", "new"] * 3, dtype=object))
    expected = encoder.column_transformer_.transform(encoder.reader_.transform(new))
    np.testing.assert_array_equal(encoder.transform(new[new.columns[::-1]]), expected)


class TestNewData:
    def test_new_categories_are_zero(self) -> None:
        X = np.array([["a"], ["b"], ["a"], ["b"]], dtype=object)
        encoder = table_encoder().fit(X)
        new = np.array([["c"], [None], ["a"]], dtype=object)
        np.testing.assert_array_equal(encoder.transform(new), [[0, 0], [0, 0], [1, 0]])

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


class TestParametersOfSkrub:
    def test_specific_encoders(self) -> None:
        frame = mixed()
        encoder = table_encoder()
        assert isinstance(encoder, TableVectorizer)
        encoders = [
            (StandardScaler(), ["price"]),
            (MinHashEncoder(n_components=2), ["code"]),
            ("drop", ["when"]),
        ]
        encoder.set_params(specific_transformers=encoders).set_output(transform="pandas")
        found = encoder.fit_transform(frame)
        assert encoder.get_feature_names_out().tolist() == found.columns.tolist()
        assert encoder.kind_to_columns_["numeric"] == ["size", "count", "one"]
        assert found["price"].mean() == pytest.approx(0.0, abs=1e-6)
        assert not any(name.startswith("when") for name in found)
        assert encoder.column_to_kind_["color"] == "low_cardinality"
        assert encoder.input_to_outputs_["size"] == ["size", "missingindicator_size"]
        assert encoder.input_to_outputs_["code"] == ["code_0", "code_1"]
        assert encoder.input_to_outputs_["when"] == encoder.input_to_outputs_["name"] == []
        assert isinstance(encoder.transformers_["price"], StandardScaler)

    @pytest.mark.parametrize("encoder", ["drop", "passthrough"])
    def test_numbers_are_dropped_or_kept_as_they_are(self, encoder: str) -> None:
        frame = mixed()[["price", "color"]]
        found = table_encoder().set_params(numeric=encoder).fit_transform(frame)
        assert found.shape[1] == 4 + (encoder == "passthrough")
        np.testing.assert_array_equal(
            found[:, :-4], frame[["price"]].to_numpy()[:, : found.shape[1] - 4]
        )
        with pytest.raises(ValueError, match="No column is encoded"):
            table_encoder().set_params(numeric="drop").fit(frame[["price"]])

    def test_columns_that_skrub_drops_have_no_outputs(self) -> None:
        frame = mixed()[["price"]].assign(color=["red", None, None] * 20)
        encoder = table_encoder().set_params(drop_null_fraction=0.5).fit(frame)
        assert encoder.get_feature_names_out().tolist() == ["price"]
        assert encoder.transform(frame).shape == (60, 1)

    @pytest.mark.parametrize("as_array", [False, True])
    def test_encoders_of_skrub_for_single_columns(self, as_array: bool) -> None:
        days = [time.date() for time in pd.date_range("2020-01-01", periods=60)]
        frame = mixed()[["price", "color"]].assign(day=days)
        encoder = table_encoder().set_params(datetime=DatetimeEncoder())
        encoder.set_params(
            specific_transformers=[(OneHotEncoder(), ["x1" if as_array else "color"])]
        )
        table = frame.to_numpy(object) if as_array else frame
        found = encoder.fit_transform(table)
        np.testing.assert_array_equal(encoder.transform(table), found)
        name = "x2" if as_array else "day"
        assert f"{name}_month" in encoder.input_to_outputs_[name]


def test_numbers_keep_their_precision() -> None:
    """In single precision, these numbers are one, and the others infinite."""
    X = np.random.default_rng(0).normal(size=(9, 2)).astype(np.float32)
    assert encoded(X).dtype == np.float32
    X = pd.DataFrame({"at": 1.7e9 + np.arange(40) % 7, "size": 1e300 * np.arange(40.0) ** 2})
    np.testing.assert_array_equal(encoded(X), SoftClippingScaler().fit_transform(X))


def test_outputs_of_different_columns_have_different_names() -> None:
    frame = pd.DataFrame({"c_a": [1.5, 2.5, 4.0], "c": ["a", "b", "a"], "c_b": ["x", "y", "y"]})
    encoder = table_encoder().fit(frame)
    names = encoder.get_feature_names_out().tolist()
    assert len(set(names)) == 5
    assert [encoder.output_to_input_[name] for name in names] == ["c_a", "c", "c", "c_b", "c_b"]


def sales(start: str, n: int) -> Any:
    rng = np.random.default_rng(0)
    day = pd.date_range(start, periods=n, freq="7h")
    return pd.DataFrame({"day": day, "price": rng.normal(size=n)})


def test_the_trend_alone_is_held_after_the_last_date() -> None:
    encoder = table_encoder().set_output(transform="pandas").fit(sales("2022-01-01", 99))
    later, last = sales("2025-06-01", 50), sales("2022-01-01", 99)[-1:]
    found, held = encoder.transform(later), encoder.transform(last)["day"].iloc[0]
    assert (found["day"] == held).all()
    circles = [name for name in found if name.startswith("day_")]
    assert {name.split("_")[1] for name in circles} == {"hour", "weekday"}
    assert (found[circles].nunique() > 3).all()
    squares = found[circles].to_numpy().reshape(50, 2, 2) ** 2
    np.testing.assert_allclose(squares.sum(axis=2), 1.0, atol=1e-6)


def test_missing_dates_are_in_the_center_of_the_circles() -> None:
    frame = sales("2022-01-01", 40)
    frame.loc[3, "day"] = None
    found = table_encoder().set_output(transform="pandas").fit_transform(frame)
    circles = [name for name in found if name.startswith("day_")]
    assert len(circles) == 4
    assert (found.loc[3, circles] == 0.0).all()
    assert found["missingindicator_day"].to_numpy().nonzero()[0].tolist() == [3]


def test_texts_that_share_words_are_similar() -> None:
    said = [f"{'good and red' if k % 2 else 'bad but blue'} table {k}" for k in range(60)]
    found = encoded(pd.DataFrame({"said": said}))
    assert found.shape == (60, 30)
    products = found @ found.T
    assert products[0, 2] > 2.0 * products[0, 1]


def test_without_skrub_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skrub", None)
    with pytest.raises(ImportError, match=r'pip install "mercer\[tables\]"'):
        table_encoder()


def days(*texts: str) -> np.ndarray:
    return convert(np.array(texts, dtype="datetime64[s]")[:, None], "date")


def test_points_on_circles_are_those_of_the_calendar() -> None:
    X = days("2020-01-01T00:00", "2021-07-01T06:00", "2022-07-02T12:00", "NaT")
    encoder = Circles().fit(X)
    assert encoder.cycles_ == [(0, "season"), (0, "weekday"), (0, "hour")]
    assert encoder.get_feature_names_out(["d"])[0] == "d_season_sin"
    found = encoder.transform(X)
    np.testing.assert_allclose(found[:3, 4:], [[0, 1], [1, 0], [0, -1]], atol=1e-9)
    assert np.linalg.norm(found[1, :2] - found[2, :2]) < 0.05
    assert np.linalg.norm(found[0, :2] - found[1, :2]) == pytest.approx(2.0, abs=0.01)
    np.testing.assert_array_equal(found[3], 0.0)


@pytest.mark.parametrize(
    ("texts", "cycles"),
    [
        (["2024-01-01", "2024-01-02"], []),
        (["2024-01-01T08:00", "2024-01-01T09:00"], []),
        (["2024-01-01T08:00", "2024-01-02T09:00"], ["hour"]),
        (["2024-01-01", "2024-05-01"], ["season", "weekday"]),
        (["2024-01-01", "2024-04-29"], ["season"]),
        (["NaT"], []),
    ],
)
def test_circles_that_tell_nothing_are_left_out(texts: list[str], cycles: list[str]) -> None:
    encoder = Circles().fit(days(*texts))
    assert encoder.cycles_ == [(0, cycle) for cycle in cycles]
    assert encoder.transform(days(*texts)).shape == (len(texts), 2 * len(cycles))


def test_saved_encoders_of_text_are_small(tmp_path: Any) -> None:
    """Terms of text are saved as plain values, not as an object each."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice([*"abcdefghijklmnop"], 7)) for _ in range(2000)]
    said = [" ".join(rng.choice(words, 20)) for _ in range(400)]
    frame = pd.DataFrame({f"said {k}": said[k:] + said[:k] for k in range(2)})
    frame["day"] = pd.date_range("2020-01-01", periods=400, freq="31h")
    model = make_pipeline(table_encoder(), TwoStageRegressor(UniformCombination()))
    model.fit(frame, rng.normal(size=400))
    mercer.save(model, tmp_path / "model.skops")
    assert (tmp_path / "model.skops").stat().st_size < 7e6
    loaded = mercer.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(model)).predict(frame), model.predict(frame)
    )


class TestDatesAtPrediction:
    TIMES = pd.date_range("2020", periods=60, freq="37h", tz="Europe/Berlin")
    FRAME = pd.DataFrame({"size": np.sin(np.arange(60.0)), "at": TIMES, "took": TIMES - TIMES[0]})
    encoder = table_encoder().fit(FRAME)

    @pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC"])
    def test_text_of_a_file_is_read_as_the_dates_that_it_was(self, zone: str) -> None:
        at = self.TIMES.tz_convert(zone).astype(str)
        written = self.FRAME.assign(at=at, took=self.FRAME["took"].astype(str))
        np.testing.assert_array_equal(
            self.encoder.transform(written), self.encoder.transform(self.FRAME)
        )

    @pytest.mark.parametrize("value", [True, 5, "abc"])
    def test_what_is_no_date_is_refused(self, value: object) -> None:
        with pytest.raises(ValueError, match=r"hold neither dates nor durations.*: at"):
            self.encoder.transform(self.FRAME.assign(at=value))

    def test_text_without_the_zone_is_refused(self) -> None:
        written = self.TIMES.tz_localize(None).astype(str)
        with pytest.raises(ValueError, match="'at' have no time zone"):
            self.encoder.transform(self.FRAME.assign(at=written))

    def test_one_row_may_lack_them(self) -> None:
        found = self.encoder.transform(pd.DataFrame({"size": [1.0], "at": np.nan, "took": np.nan}))
        assert np.isfinite(found).all()

    def test_periods_begin_at_a_date(self) -> None:
        months = pd.period_range("2010-01", periods=60, freq="M")
        frame = pd.DataFrame({"size": np.sin(np.arange(60.0)), "month": months})
        dates = frame.assign(month=months.to_timestamp())
        np.testing.assert_array_equal(
            table_encoder().fit_transform(frame), table_encoder().fit_transform(dates)
        )


def test_encoders_of_constant_columns_are_saved(tmp_path: Any) -> None:
    pytest.importorskip("skops.io")
    frame = mixed()[["price", "color", "one"]].assign(day=pd.Timestamp("2020-01-01"))
    encoder = table_encoder().set_params(specific_transformers=[("drop", ["price"])]).fit(frame)
    mercer.save(encoder, tmp_path / "encoder.skops")
    loaded = mercer.load(tmp_path / "encoder.skops")
    np.testing.assert_array_equal(loaded.transform(frame), encoder.transform(frame))
    assert loaded.input_to_outputs_ == encoder.input_to_outputs_
