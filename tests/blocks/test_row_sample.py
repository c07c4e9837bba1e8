"""Samples and folds of rows, and classes, their counts and weights: independent of blocks."""

from typing import Any

import numpy as np
import pytest
from block_cases import sample_blocks, table
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mercer._blocks.row_sample import (
    ClassCounts,
    RowWeights,
    class_counts,
    class_quotas,
    class_row_weights,
    row_folds,
    row_keys,
)
from mercer._blocks.tables import block_source
from mercer._data.weights import SampleWeights, with_class_weights


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


class TestSampleBlocks:
    @given(st.integers(1, 60), st.integers(1, 60), st.booleans())
    def test_it_does_not_depend_on_blocks(self, block_rows, max_samples, stratify) -> None:
        X, _ = table(60)
        y = np.array(["a", "b", "c"])[np.random.default_rng(1).choice(3, 60, p=[0.7, 0.2, 0.1])]
        stratify = stratify and max_samples >= 3
        first, second = (
            sample_blocks(
                block_source(X, y, block_rows=rows), max_samples, random_state=0, stratify=stratify
            )
            for rows in (block_rows, 60)
        )
        for one, other in zip(first, second, strict=True):
            assert_array_equal(one, other)
        assert first[0].shape == (min(max_samples, 60), 3)

    def test_rows_and_targets_belong_together_in_order(self) -> None:
        y = np.arange(1000)
        X, drawn = sample_blocks(block_source(y[:, None] * 2.0, y), 100, random_state=0)
        assert_array_equal(X[:, 0], 2.0 * drawn)
        assert np.all(np.diff(drawn) > 0)

    def test_every_row_is_drawn_equally_often(self) -> None:
        y = np.arange(20)
        counts = np.zeros(20)
        for seed in range(500):
            counts[sample_blocks(block_source(y[:, None], y), 5, random_state=seed)[1]] += 1
        # Five standard deviations of a binomial count with n = 500 and p = 1/4.
        assert np.all(np.abs(counts - 125) < 5 * np.sqrt(500 * 0.25 * 0.75))

    def test_many_rows_are_pruned_on_the_way(self) -> None:
        """More rows than twice the sample come in several blocks: equal to sorting all keys."""
        y = np.random.default_rng(0).integers(0, 3, 300_000)
        source = block_source(np.arange(300_000.0)[:, None], y)
        _, drawn = sample_blocks(source, 600, 0)
        X, stratified = sample_blocks(source, 600, 0, stratify=True)
        seed = int(np.random.RandomState(0).randint(np.iinfo(np.int64).max, dtype=np.int64))
        keys, quotas = row_keys(seed, np.arange(300_000)), np.bincount(stratified)
        expected = [
            rows[np.argsort(keys[rows])[:quota]]
            for rows, quota in ((np.flatnonzero(y == c), quotas[c]) for c in range(3))
        ]
        assert_array_equal(X[:, 0], np.sort(np.concatenate(expected)))
        assert_array_equal(drawn, y[np.sort(np.argsort(keys)[:600])])

    def test_rare_classes_have_at_least_five_rows(self) -> None:
        y = np.repeat(["common", "rare", "rarest"], [1000, 7, 3])
        _, drawn = sample_blocks(block_source(np.zeros((1010, 1)), y), 100, 0, stratify=True)
        assert np.unique(drawn, return_counts=True)[1].tolist() == [92, 5, 3]

    def test_more_classes_than_rows_are_refused(self) -> None:
        source = block_source(np.zeros((10, 1)), np.arange(10))
        with pytest.raises(ValueError, match="at least the number of classes, 10; got 4"):
            sample_blocks(source, 4, stratify=True)

    def test_frames_are_sampled_as_they_are(self) -> None:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame({"city": list("abcdefghij"), "size": range(10)})
        X, _ = sample_blocks(block_source(frame), 4, random_state=0, raw=True)
        assert X.equals(frame.loc[X.index])
        with pytest.raises(ValueError, match="not hold numbers: city"):
            sample_blocks(block_source(frame), 4)


class TestClassQuotas:
    @given(st.lists(st.integers(1, 10_000), min_size=1, max_size=8), st.data())
    def test_they_sum_to_the_sample_and_do_not_exceed_counts(self, counts, data) -> None:
        total = sum(counts)
        max_samples = data.draw(st.integers(len(counts), max(total, len(counts))))
        found = ClassCounts(np.arange(len(counts)), np.array(counts))
        if max_samples >= total:
            return
        quotas = class_quotas(found, max_samples)
        assert quotas.sum() == max_samples
        assert np.all(quotas <= counts)
        assert np.all(quotas >= np.minimum(counts, min(5, max_samples // len(counts))))


RNG = np.random.default_rng(0)


X = RNG.normal(size=(40, 2))


Y = RNG.choice(["a", "b", "c"], 40, p=[0.6, 0.3, 0.1])


def counted(y, block_rows=4):
    source = block_source(np.zeros((len(y), 1)), y, block_rows=block_rows)
    return class_counts(source)


@pytest.mark.parametrize("dtype", [int, object, str, bool, float])
@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.integers(1, 30))
def test_any_division_gives_the_same_counts(dtype, y, block_rows) -> None:
    y = np.array(y).astype(str).astype(object) if dtype is object else np.array(y).astype(dtype)
    found = counted(y, block_rows)
    classes, counts = np.unique(y, return_counts=True)
    assert_array_equal(found.classes, classes)
    assert_array_equal(found.counts, counts)
    assert_array_equal(found.classes[found.codes(y)], y)


@pytest.mark.parametrize("dtype", [object, "U2"])
@pytest.mark.parametrize("new", ["c", "", "aa"])
def test_unknown_classes_are_refused(dtype, new) -> None:
    with pytest.raises(ValueError, match="unknown class"):
        counted(np.array(["a", "b"], dtype=dtype)).codes(np.array(["a", new], dtype=dtype))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array(["a", None, "b"], dtype=object), "missing"),
        (np.array(["a", 1, "b"], dtype=object), "several types: int, str"),
        (np.zeros((5, 2)), "one column"),
    ],
)
def test_what_is_no_class_is_refused(y, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        counted(y)


@pytest.mark.parametrize("class_weight", [None, "balanced", {"a": 0.5, "c": 3.0}])
def test_rows_have_their_weights(class_weight: Any) -> None:
    weights: RowWeights = SampleWeights(RNG.uniform(0.5, 2.0, 40))
    values = weights.values
    if class_weight is not None:
        values = with_class_weights(None, class_weight, Y)
        weights = class_row_weights(block_source(X, Y, block_rows=7), class_weight)
    np.testing.assert_allclose(weights.average, values.mean())
    rows = np.array([3, 17, 31])
    np.testing.assert_allclose(weights.of(Y[rows], rows).values, values[rows])


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({"a": 0.0}, "must be positive"),
        ({"a": -1.0}, "must be positive"),
        ({"d": 2.0}, "not in class_weight"),
        ("equal", "class_weight"),
    ],
)
def test_weights_of_classes_are_checked(class_weight: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        class_row_weights(block_source(X, Y), class_weight)
