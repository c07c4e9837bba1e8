"""Samples and folds of rows, and classes, their counts and weights: independent of blocks."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from block_cases import sample_blocks
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.model_selection import TimeSeriesSplit

from mercer._blocks.listed_folds import ListedFolds
from mercer._blocks.row_sample import class_quotas, row_folds, row_keys
from mercer._blocks.tables import block_source
from mercer._data.resampling import InSplits, Together


def splitmix(seed: int, n: int) -> list[int]:
    """The first n numbers of SplitMix64, one by one, with whole numbers of any size."""
    state, numbers = seed, []
    for _ in range(n):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        numbers.append(z ^ (z >> 31))
    return numbers


@given(st.integers(0, 2**63), st.integers(0, 30))
def test_keys_are_those_of_splitmix(seed: int, start: int) -> None:
    found = row_keys(seed, np.arange(start, start + 10))
    assert found.tolist() == splitmix(seed, start + 10)[start:]


@given(st.integers(0, 2**63), st.integers(2, 6), st.permutations(range(30)))
def test_folds_are_the_ranks_of_keys_in_groups(seed: int, n_folds: int, order: list[int]) -> None:
    keys = splitmix(seed, 36)
    groups = [keys[row // n_folds * n_folds :][:n_folds] for row in order]
    ranks = [sorted(group).index(keys[row]) for row, group in zip(order, groups, strict=True)]
    assert_array_equal(row_folds(seed, np.array(order), n_folds), ranks)


def test_drawn_rows_have_the_smallest_keys_of_their_class() -> None:
    y = np.random.default_rng(0).integers(0, 3, 30_000)
    source = block_source(np.arange(30_000.0)[:, None], y)
    _, drawn = sample_blocks(source, 600, 0)
    X, stratified = sample_blocks(source, 600, 0, stratify=True)
    seed = int(np.random.RandomState(0).randint(np.iinfo(np.int64).max, dtype=np.int64))
    keys, quotas = row_keys(seed, np.arange(30_000)), np.bincount(stratified)
    expected = [
        rows[np.argsort(keys[rows])[:quota]]
        for rows, quota in ((np.flatnonzero(y == c), quotas[c]) for c in range(3))
    ]
    assert_array_equal(X[:, 0], np.sort(np.concatenate(expected)))
    assert_array_equal(drawn, y[np.sort(np.argsort(keys)[:600])])


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=8), st.data())
def test_quotas_sum_to_the_sample_and_do_not_exceed_counts(counts: Any, data: Any) -> None:
    total = sum(counts)
    max_samples = data.draw(st.integers(len(counts), max(total, len(counts))))
    if max_samples >= total:
        return
    quotas = class_quotas(np.array(counts), max_samples)
    assert quotas.sum() == max_samples
    assert np.all(quotas <= counts)
    assert np.all(quotas >= np.minimum(counts, min(5, max_samples // len(counts))))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array(["a", None, "b"], dtype=object), "contains None"),
        (np.array(["a", "b", "c"]), "number of classes, 3"),
        (np.ones((3, 2)), "1d array"),
    ],
)
def test_rows_of_other_classes_are_not_drawn(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sample_blocks(block_source(np.zeros((3, 1)), y), 2, stratify=True)


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
    assert ListedFolds.of_resampling(Together(5)) is None


def test_folds_beyond_the_memory_are_refused() -> None:
    found = ListedFolds.of(list(TimeSeriesSplit(4).split(np.zeros(10))), 10)
    with config_context(working_memory=1):
        found.check_memory(100)
        with pytest.raises(ValueError, match="into 5 parts, whose sums take 3 MB for 200"):
            found.check_memory(200)
