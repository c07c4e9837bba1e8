"""Folds are the same in every fit, and those that cannot score a penalty are left out."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from mercer._data.cross_validation import folds_of, folds_of_classes
from mercer._data.folds import Split, sample_rows, shuffled_folds
from mercer._data.resampling import left_out_together, resampled
from mercer._data.sample import Sample

CODES = np.repeat([0, 1], [6, 4])


def split_into_folds(cv: Any, codes: NDArray[np.intp] | None = None, n: int = 10) -> list[Split]:
    sample = Sample.of(np.zeros((n, 1)), None)
    return folds_of(cv, sample, sample, codes)


def several_classes(cv: Any, codes: NDArray[np.intp], *, score: bool) -> list[Split]:
    sample = Sample.of(np.zeros((len(codes), 1)), None)
    return folds_of_classes(cv, sample, sample, codes, score=score)


def test_folds_are_shuffled_and_stratified_or_as_given() -> None:
    splits = split_into_folds(2, CODES)
    assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(10))
    assert all(CODES[test].sum() == 2 for _, test in splits)
    for (train, _), (again, _) in zip(splits, split_into_folds(2, CODES), strict=True):
        assert_array_equal(train, again)
    assert len(split_into_folds(None)) == 5
    listed = [(np.arange(5), np.arange(5, 10))]
    [(train, test)] = split_into_folds(listed)
    assert_array_equal(train, listed[0][0])
    assert_array_equal(test, listed[0][1])


@pytest.mark.parametrize(
    ("codes", "n_folds"), [([0, 0, 0, 1, 1], 3), ([0, 0, 1], 1), ([0, 1], 0), ([0] * 9 + [1], 4)]
)
def test_probabilities_take_as_many_folds_as_there_can_be(codes: list[int], n_folds: int) -> None:
    found = several_classes(5, np.array(codes), score=False)
    assert len(found) == n_folds
    assert several_classes([(np.arange(9), np.array([9]))], CODES, score=False) != []


@pytest.mark.parametrize(
    ("cv", "codes", "message"),
    [
        (11, None, "n_splits=11 greater than the number of samples"),
        (7, CODES, "n_splits=7 cannot be greater than the number of members in each class"),
        ([(np.arange(5), np.array([6, 7, 6]))], None, "holds out a sample twice"),
    ],
)
def test_folds_that_cannot_be_are_refused(
    cv: Any, codes: NDArray[np.intp] | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        split_into_folds(cv, codes)


def test_a_class_with_fewer_samples_than_folds_is_named_with_cv() -> None:
    with pytest.warns(UserWarning, match="only 4 members, which is less than n_splits=5"):
        assert len(split_into_folds(5, CODES)) == 5


@pytest.mark.filterwarnings("ignore:A fold of cv holds out samples of a class")
def test_folds_that_train_on_one_class_are_left_out() -> None:
    one, both = (np.arange(6), np.arange(6, 10)), (np.arange(8), np.arange(8, 10))
    found = several_classes([one, both], CODES, score=True)
    assert [len(train) for train, _ in found] == [8]
    with pytest.raises(ValueError, match=r"With cv=\[.*, no fold trains on more than one class"):
        several_classes([one], CODES, score=True)


def test_what_several_folds_hold_out_has_the_mean_of_their_values() -> None:
    rows = np.arange(6)
    overlapping = [(rows[:2], rows[2:]), (rows[3:], rows[:3])]
    found = resampled(split_into_folds(overlapping, n=6), 6)
    values = iter([10.0, 20.0])
    total = found.assembled(lambda batches: [np.full((*b.shape, 1), next(values)) for b in batches])
    assert_array_equal(total.ravel(), [20.0, 20.0, 15.0, 10.0, 10.0, 10.0])


def test_folds_of_a_part_are_those_of_its_samples() -> None:
    everything = Sample.of(np.zeros((10, 1)), None)
    part = everything.weighted(np.arange(10) % 2)
    (train, test), *_ = folds_of([(np.arange(6), np.arange(6, 10))], part, everything)
    assert_array_equal(train, [0, 1, 2])
    assert_array_equal(test, [3, 4])
    with pytest.raises(ValueError, match=r"No fold of cv .* positive sample_weight"):
        folds_of([(np.array([0, 2]), np.arange(5, 10))], part, everything)


def test_shuffled_folds_divide_classes_in_proportion_where_possible() -> None:
    codes = np.arange(40) % 4
    divided = shuffled_folds(40, 5, codes, 0)
    assert_array_equal(np.sort(np.concatenate([inside for _, inside in divided])), np.arange(40))
    for outside, inside in divided:
        assert_array_equal(np.bincount(codes[inside]), 2)
        assert not set(outside) & set(inside)
    assert len(shuffled_folds(4, 5, np.array([0, 0, 0, 1]), 0)) == 4


def test_folds_of_groups_divide_frequent_classes_in_proportion_beside_a_rare_one() -> None:
    codes, groups = np.repeat([0, 1, 2], [40, 20, 2]), np.repeat(np.arange(31), 2)
    divided = left_out_together(len(codes), groups).folds(5, codes, 0)
    assert_array_equal(np.sort(np.concatenate([inside for _, inside in divided])), np.arange(62))
    for outside, inside in divided:
        assert_array_equal(np.bincount(codes[inside])[:2], [8, 4])
        assert not set(groups[outside]) & set(groups[inside])


# --- samples of the rows -----------------------------------------------------------------------


@pytest.mark.parametrize("counts", [[1, 30, 270], [1, 1, 98, 100], [1, 500]])
@pytest.mark.parametrize("part", [0.1, 0.3, 0.9])
def test_a_sample_takes_every_class_in_proportion_where_some_have_one_sample(
    counts: list[int], part: float
) -> None:
    """Class k has all samples whose rank is below t n_k, and so t n_k of them to t n_k + 1."""
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    m = int(part * len(codes))
    taken = np.bincount(codes[sample_rows(len(codes), m, codes, 0)], minlength=len(counts))
    shares = np.array(counts) / len(codes)
    assert taken.sum() == m
    assert taken.min() >= 1
    assert np.all(taken <= m * shares + 1.0)
    assert np.all(taken >= (m - len(counts)) * shares)
