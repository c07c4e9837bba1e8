"""Classes, their counts united over blocks, and weights of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mercer._blocks import GivenWeights, RowWeights, block_source, class_counts, class_row_weights
from mercer._data.sample import with_class_weights

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


def test_sorted_rows_leave_classes_out_of_blocks() -> None:
    found = counted(np.repeat(["a", "b", "c"], [8, 2, 5]))
    assert found.classes.tolist() == ["a", "b", "c"]
    assert found.counts.tolist() == [8, 2, 5]


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


@pytest.mark.parametrize("kind", ["given", "classes"])
def test_rows_have_their_weights(kind: str) -> None:
    source = block_source(X, Y, block_rows=7)
    weights: RowWeights
    if kind == "given":
        values = RNG.uniform(0.5, 2.0, 40)
        weights = GivenWeights(values)
    else:
        values = with_class_weights(None, {"a": 0.5, "c": 3.0}, Y)
        weights = class_row_weights(source, {"a": 0.5, "c": 3.0})
    np.testing.assert_allclose(weights.mean, values.mean())
    rows = np.array([3, 17, 31])
    np.testing.assert_allclose(weights.of(Y[rows], rows), values[rows])


def test_balanced_classes_have_equal_weight() -> None:
    found = class_row_weights(block_source(X, Y), "balanced")
    np.testing.assert_allclose(
        found.of(Y, np.arange(40)), with_class_weights(None, "balanced", Y), rtol=1e-12
    )


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
