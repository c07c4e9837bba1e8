"""Values that an encoder has filled in are found by the names of the columns that mark them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from mercer.preprocessing import table_encoder
from mercer.preprocessing._filled_values import FilledValues

N = 40
RNG = np.random.default_rng(0)
ROWS = np.arange(N)
FRAME = pd.DataFrame(
    {
        "size": np.where(ROWS % 7 == 3, np.nan, RNG.normal(size=N)),
        "missingindicator_size": RNG.normal(size=N),
        "small_": np.where(ROWS % 4 == 1, np.nan, RNG.normal(size=N)),
        "when": pd.Series(pd.date_range("2024-01-01", periods=N)).where(ROWS % 5 > 0),
        "fresh": ROWS % 2 == 0,
        "color": np.array(["red", "green", None], dtype=object)[ROWS % 3],
    }
)


def columns() -> Any:
    return make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["fresh"]),
        (SimpleImputer(add_indicator=True), ["size"]),
        ("passthrough", ["missingindicator_size"]),
    )


@pytest.mark.parametrize("make", [table_encoder, columns])
def test_missing_values_come_back_and_one_column_tells_two_categories_apart(make: Any) -> None:
    encoder = make()
    numbers = encoder.fit_transform(FRAME)
    names = [str(name).rpartition("__")[2] for name in encoder.get_feature_names_out()]
    filled = FilledValues.of(encoder, numbers)
    assert filled is not None
    found, given = filled.removed(numbers), numbers.copy()
    place = names.index("size")
    assert_array_equal(np.isnan(found[:, place]), FRAME["size"].isna())
    assert not found[:, filled.marks].any()
    assert not found[:, names.index("fresh_False")].any()
    for name in {"small_", "when"} & {*names}:
        assert_array_equal(np.isnan(found[:, names.index(name)]), FRAME[name].isna())
    changed = [*filled.values, *filled.marks, *filled.opposites]
    assert len(changed) == (7 if "when" in names else 3)
    assert_array_equal(np.delete(found, changed, axis=1), np.delete(given, changed, axis=1))
    known = ~np.isnan(found[:, filled.values])
    assert_array_equal(found[:, filled.values][known], given[:, filled.values][known])
    assert_array_equal(numbers, given)


def test_nothing_is_found_where_nothing_was_filled_in_or_known() -> None:
    numbers = RNG.normal(size=(N, 2))
    for encoder in (StandardScaler().fit(numbers), make_pipeline("passthrough"), None):
        assert FilledValues.of(encoder, numbers) is None
    names = make_column_transformer(
        (SimpleImputer(add_indicator=True), ["size"]),
        ("passthrough", ["missingindicator_size"]),
        verbose_feature_names_out=False,
    )
    assert FilledValues.of(names, names.fit_transform(FRAME)) is None
    colors = pd.DataFrame({"color": ["red", "green", "blue"] * 5})
    encoder = table_encoder()
    assert FilledValues.of(encoder, encoder.fit_transform(colors)) is None
