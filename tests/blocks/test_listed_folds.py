"""Parts of rows that make up the folds of splitters."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.model_selection import RepeatedKFold, TimeSeriesSplit

from mercer._blocks.listed_folds import ListedFolds
from mercer._data.resampling import InSplits, OneAtATime, Together

ROLES = st.lists(st.integers(0, 2), min_size=12, max_size=12)


@given(st.lists(ROLES, min_size=1, max_size=5))
def test_parts_make_up_the_rows_and_the_folds(roles: list[list[int]]) -> None:
    splits = [
        (np.flatnonzero(np.array(own) == 1), np.flatnonzero(np.array(own) == 2)) for own in roles
    ]
    found = ListedFolds.of(splits, 12)
    assert len(found.folds) == len(splits)
    assert_array_equal(np.unique(found.numbers), np.arange(found.n_parts))
    for fold, (train, test) in zip(found.folds, splits, strict=True):
        for parts, rows in ((fold.trained, train), (fold.held_out, test)):
            assert_array_equal(np.flatnonzero(np.isin(found.numbers, parts).any(axis=0)), rows)
        # All rows are in one part each.
        own = np.concatenate([fold.trained, fold.left_out])
        assert_array_equal(np.isin(found.numbers, own).sum(axis=0), np.ones(12))
        assert np.isin(fold.held_out, fold.left_out).all()
    rows = np.array([7, 2])
    expected = [np.isin(rows, test) for _, test in splits]
    assert_array_equal(found.held_out(rows), expected)
    assert_array_equal(found.take(rows).held_out(np.arange(2)), expected)


@pytest.mark.parametrize(
    ("cv", "n_layers", "n_parts"),
    [
        (TimeSeriesSplit(4), 1, 5),
        (TimeSeriesSplit(4, gap=2), 1, 9),
        (RepeatedKFold(n_splits=5, n_repeats=3, random_state=0), 3, 15),
    ],
)
def test_rows_are_summed_as_rarely_as_possible(
    cv: TimeSeriesSplit, n_layers: int, n_parts: int
) -> None:
    found = ListedFolds.of(list(cv.split(np.zeros(50))), 50)
    assert found.numbers.shape == (n_layers, 50)
    assert found.n_parts == n_parts


def test_folds_are_those_by_which_samples_are_left_out() -> None:
    codes = np.array([0, 1, 1, -1, 0])
    found = ListedFolds.of_resampling(Together(5, None, codes))
    assert found is not None
    held_out = Counter(tuple(np.flatnonzero(row)) for row in found.held_out(np.arange(5)))
    assert held_out == Counter([(0, 4), (1, 2)])
    split = (np.array([0, 1]), np.array([3]))
    found = ListedFolds.of_resampling(InSplits(5, None, (split,)))
    assert found is not None
    assert_array_equal(np.isin(found.numbers[0], found.folds[0].trained), np.arange(5) < 2)
    assert_array_equal(found.held_out(np.arange(5)), [np.arange(5) == 3])
    assert ListedFolds.of_resampling(OneAtATime(5)) is None


def test_folds_beyond_the_memory_are_refused() -> None:
    found = ListedFolds.of(list(TimeSeriesSplit(4).split(np.zeros(10))), 10)
    with config_context(working_memory=1):
        found.check_memory(100)
        with pytest.raises(ValueError, match="into 5 parts, whose sums take 3 MB for 200"):
            found.check_memory(200)
