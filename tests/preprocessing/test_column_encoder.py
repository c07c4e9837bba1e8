"""One number for each cell of a table, and one for each letter of a string."""

from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from mercer.preprocessing import LetterCodes, SoftClippingScaler, column_encoder
from mercer.preprocessing._encoded_columns import encoded_columns

FRAME = pd.DataFrame(
    {
        "job": ["cook", "nurse", None, "cook"],
        "age": [20.0, np.nan, 40.0, 50.0],
        "size": pd.Categorical(["S", "L", "M", None], ["S", "M", "L"], ordered=True),
        "born": [date(1970, 1, 2), date(1970, 1, 5), None, date(1971, 1, 1)],
        "grade": ["good", "bad", "fair", "bad"],
        "empty": [None] * 4,
    }
)
GRADES = {"grade": ["bad", "fair", "good"], "size": ["S", "M", "L"]}


class TestColumnEncoder:
    def test_each_column_becomes_one_of_numbers(self) -> None:
        encoder = column_encoder(FRAME, GRADES).set_output(transform="pandas")
        found = encoder.fit_transform(FRAME)
        assert list(found.columns) == ["age", "born", "size", "grade", "job"]
        assert_allclose(found["age"], SoftClippingScaler().fit_transform(FRAME[["age"]])[:, 0])
        assert_array_equal(found["born"], [1.0, 4.0, np.nan, 365.0])
        assert_array_equal(found["size"], [0.0, 2.0, 1.0, np.nan])
        assert_array_equal(found["grade"], [2.0, 0.0, 1.0, 0.0])
        assert_array_equal(found["job"], [0.0, 1.0, np.nan, 0.0])
        assert_array_equal(encoded_columns(encoder, 6), [1, 3, 2, 4, 0])

    def test_new_categories_have_a_code_of_their_own(self) -> None:
        encoder = clone(column_encoder(FRAME, GRADES)).fit(FRAME)
        new = FRAME.assign(job=["priest", "cook", "nun", None])
        assert_array_equal(encoder.transform(new)[:, -1], [-1.0, 0.0, -1.0, np.nan])

    def test_categories_that_a_file_marks_as_ordered_are_categories(self) -> None:
        found = column_encoder(FRAME).set_output(transform="pandas").fit_transform(FRAME)
        assert_array_equal(found["size"], [2.0, 0.0, 1.0, np.nan])

    def test_numbers_may_be_ordered_categories(self) -> None:
        table = np.array([[1.0, 10.0], [3.0, 20.0], [1.0, 40.0]])
        encoder = column_encoder(table, {1: [10, 20, 40]})
        assert_array_equal(encoder.fit_transform(table)[:, 1], [0.0, 1.0, 2.0])

    def test_bad_orders_and_tables_are_refused(self) -> None:
        encoder = column_encoder(FRAME, GRADES).fit(FRAME)
        for call, message in (
            (
                lambda: column_encoder(FRAME, {"grade": ["bad", "good"]}).fit(FRAME),
                r"Found unknown categories \['fair'\]",
            ),
            (
                lambda: encoder.transform(FRAME.assign(grade="worse")),
                r"Found unknown categories \['worse'\]",
            ),
            (
                lambda: column_encoder(FRAME, {"mark": ["a", "b"]}),
                "ordered names columns that are absent: mark",
            ),
            (lambda: column_encoder(FRAME[["empty"]]), "No column can be used"),
        ):
            with pytest.raises(ValueError, match=message):
                call()


class TestLetterCodes:
    def test_letters_are_code_points_and_the_end_is_minus_one(self) -> None:
        found = LetterCodes().fit_transform(pd.Series(["ACG", "Ω", None]))
        assert_array_equal(found, [[65, 67, 71], [0x3A9, -1, -1], [np.nan] * 3])

    def test_tables_of_one_column_and_lists_are_the_same(self) -> None:
        strings = ["AC", "TTT"]
        encoder = LetterCodes().fit(strings)
        expected = encoder.transform(strings)
        for table in (np.array(strings)[:, None], pd.DataFrame({"s": strings}), pd.Series(strings)):
            assert_array_equal(LetterCodes().fit_transform(table), expected)
        assert encoder.get_feature_names_out(["s"]).tolist() == ["s_0", "s_1", "s_2"]
        assert_array_equal(encoded_columns(encoder, 1), [0, 0, 0])

    def test_a_given_length_leaves_room(self) -> None:
        assert LetterCodes(length=5).fit(["A"]).transform(["ACGTA"]).shape == (1, 5)

    @pytest.mark.parametrize(
        ("strings", "new", "message"),
        [
            (["A", "", "B"], [], "String 1 is empty"),
            (["A"], [""], "String 0 is empty"),
            (["AC", "GT"], ["AC", "ACG"], "String 1 has 3 letters, and the table 2 columns"),
            ([["A", "C"]], [], "takes one column of strings"),
        ],
    )
    def test_bad_strings_are_refused(self, strings: Any, new: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            LetterCodes().fit(strings).transform(new)

    def test_lengths_are_positive_whole_numbers(self) -> None:
        for length, error in ((0, ValueError), (1.5, TypeError)):
            with pytest.raises(error, match="length must be"):
                LetterCodes(length=length).fit(["A"])
