"""The largest contributions to a prediction, by name, value and amount, and in words."""

from datetime import date, datetime
from typing import Any

import numpy as np
import pytest

from mercer.inspection import Contribution, ShapleyValues
from mercer.inspection._contributions import cell_text


def values(amounts: Any, scale: Any = "response", outputs: Any = (), base: Any = 1.0) -> Any:
    amounts = np.asarray(amounts, dtype=float)
    data = np.array([[61.0, "Bern"], [np.nan, "Chur"]], dtype=object)[: len(amounts)]
    rest = np.zeros((len(amounts), *amounts.shape[2:]))
    return ShapleyValues(
        amounts,
        base,
        np.zeros((*amounts.shape[:2], *2 * (amounts.shape[2:] or (1,)))),
        data,
        ["age", "town"],
        list(outputs),
        scale,
        rest,
    )


class TestLargest:
    found = values([[2.314, -4.0], [0.0, 0.5]])

    def test_the_largest_absolute_amount_comes_first(self) -> None:
        assert self.found.largest() == [
            Contribution("town", "Bern", -4.0, 0.0),
            Contribution("age", 61.0, 2.314, 0.0),
        ]
        assert [one.name for one in self.found.largest(1, 1)] == ["town"]
        np.testing.assert_allclose(self.found.importances, [1.157, 2.25])

    def test_responses_in_words(self) -> None:
        assert self.found.in_words(unit="kg") == [
            "town Bern: 4.00 kg below the average row",
            "age 61: 2.31 kg above the average row",
        ]
        assert self.found.in_words(1) == [
            "town Chur: 0.50 above the average row",
            "age missing: as the average row",
        ]

    def test_rows_that_are_not_explained(self) -> None:
        for row in (2, -3):
            with pytest.raises(IndexError, match=f"There is no row {row}: 2 rows are explained"):
                self.found.in_words(row)


class TestClasses:
    two = values([[np.log(2.3), -np.log(4.0)]], "log-odds", ["yes"])
    three = values(
        [[[1.0, 0.0, -1.0], [0.2, 0.1, 0.0]]], "logit", ["a", "b", "c"], np.array([0.0, 0.0, 2.5])
    )

    def test_odds_in_words(self) -> None:
        assert self.two.in_words() == [
            "town Bern: multiplies the odds of yes by 0.25",
            "age 61: multiplies the odds of yes by 2.3",
        ]

    def test_odds_of_a_class_are_those_against_the_others(self) -> None:
        # Scores are 1.2, 0.1 and 1.5, so that c is the most probable class.
        assert self.three.in_words(n_largest=1) == ["age 61: multiplies the odds of c by 0.22"]
        one = self.three.of_output("a")
        assert (one.scale, one.output_names, one.base_value) == ("log-odds", ["a"], -1.25)
        np.testing.assert_allclose(one.values, [[1.5, 0.15]])
        np.testing.assert_allclose(one.predictions, 1.2 - 0.5 * (0.1 + 1.5))

    def test_a_class_that_does_not_exist(self) -> None:
        with pytest.raises(ValueError, match="output must be one of a, b, c; got 'd'"):
            self.three.largest(output="d")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (61.0, "61"),
        (123456.78, "123457"),
        (0.000123456, "0.0001235"),
        (np.nan, "missing"),
        (None, "missing"),
        (True, "True"),
        (datetime(2024, 1, 31, 8, 30), "2024-01-31 08:30"),
        (date(2024, 1, 31), "2024-01-31"),
        ("x" * 60, "x" * 39 + "…"),
    ],
)
def test_cells(value: Any, text: str) -> None:
    assert cell_text(value) == text


class TestHeadlines:
    def test_probabilities(self) -> None:
        two = values([[np.log(2.0), np.log(3.0)]], "log-odds", ["yes"], 0.0)
        assert two.headline() == "Probability of yes 85.7%, average row 50%"
        assert TestClasses.three.headline() == "Probability of c 50.3%, average row 85.9%"
        assert TestClasses.three.headline(output="b").startswith("Probability of b 12.4%, ")
