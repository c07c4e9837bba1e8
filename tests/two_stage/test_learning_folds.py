"""Folds are the same in every fit, and those that cannot score a penalty are left out."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from mercer._two_stage.learning_folds import (
    folds_for_probabilities,
    scorable_folds,
    split_into_folds,
)

CODES = np.repeat([0, 1], [6, 4])
X = np.zeros((10, 1))


def test_numbers_of_folds_are_shuffled_and_stratified() -> None:
    splits = split_into_folds(2, X, CODES)
    assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(10))
    assert all(CODES[test].sum() == 2 for _, test in splits)
    for (train, _), (again, _) in zip(splits, split_into_folds(2, X, CODES), strict=True):
        assert_array_equal(train, again)
    assert len(split_into_folds(None, X)) == 5


@pytest.mark.parametrize(
    ("codes", "n_folds"), [([0, 0, 0, 1, 1], 3), ([0, 0, 1], 1), ([0, 1], 0), ([0] * 9 + [1], 4)]
)
def test_probabilities_take_as_many_folds_as_there_can_be(codes: list[int], n_folds: int) -> None:
    found = folds_for_probabilities(5, X[: len(codes)], np.array(codes))
    assert len(found) == n_folds
    assert folds_for_probabilities([(np.arange(9), np.array([9]))], X, CODES) != []


def test_given_folds_are_kept() -> None:
    given = [(np.arange(5), np.arange(5, 10))]
    (train, test), *rest = split_into_folds(given, X)
    assert_array_equal(train, given[0][0])
    assert_array_equal(test, given[0][1])
    assert not rest


@pytest.mark.parametrize(
    ("cv", "codes", "message"),
    [
        (1, CODES, "cv must be at least 2 folds; got cv=1"),
        (11, None, "cv=11 folds need as many samples; there are 10"),
        (7, CODES, "cv=7 folds need a class of as many samples, and the largest class has 6: "),
    ],
)
def test_numbers_of_folds_that_cannot_be_are_refused(
    cv: int, codes: NDArray[np.intp] | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        split_into_folds(cv, X, codes)


def test_a_class_with_fewer_samples_than_folds_is_named_with_cv() -> None:
    with pytest.warns(UserWarning, match=r"smallest class has 4 samples, .* cv=5 .* pass cv=4"):
        assert len(split_into_folds(5, X, CODES)) == 5
    with pytest.warns(UserWarning, match=r"smallest class has 1 sample, less than the cv=3"):
        split_into_folds(3, X, np.repeat([0, 1], [9, 1]))


def test_folds_that_train_on_one_class_are_left_out() -> None:
    one, both = (np.arange(6), np.arange(6, 10)), (np.arange(8), np.arange(8, 10))
    assert scorable_folds([one, both], CODES, 2) == [both]
    with pytest.raises(ValueError, match="With cv=2, no fold trains on more than one class"):
        scorable_folds([one], CODES, 2)
