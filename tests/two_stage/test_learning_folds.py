"""Folds are the same in every fit, and those that cannot score a penalty are left out."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from mercer._two_stage.learning_folds import scorable_folds, split_into_folds

CODES = np.repeat([0, 1], [6, 4])
X = np.zeros((10, 1))


def test_numbers_of_folds_are_shuffled_and_stratified() -> None:
    splits = split_into_folds(2, X, CODES)
    assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(10))
    assert all(CODES[test].sum() == 2 for _, test in splits)
    for (train, _), (again, _) in zip(splits, split_into_folds(2, X, CODES), strict=True):
        assert_array_equal(train, again)
    assert len(split_into_folds(None, X)) == 5


def test_given_folds_are_kept() -> None:
    given = [(np.arange(5), np.arange(5, 10))]
    assert split_into_folds(given, X) == given


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


def test_probabilities_need_every_class() -> None:
    splits = split_into_folds(2, X, CODES)
    assert scorable_folds(splits, CODES, 2, every_class=True) == splits
    missing_in_training = (np.arange(6), np.arange(6, 10))
    missing_held_out = (np.arange(8), np.arange(8, 10))
    for split in (missing_in_training, missing_held_out):
        with pytest.raises(ValueError, match="with cv=7 a class is missing"):
            scorable_folds([split], CODES, 7, every_class=True)
