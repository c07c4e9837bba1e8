"""Classes and their counts, united over blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mercer._blocks import ClassStatistics, block_source, class_counts, reduce_blocks


def counted(y, block_rows=4):
    source = block_source(np.zeros((len(y), 1)), y, block_rows=block_rows)
    return class_counts(reduce_blocks(source, ClassStatistics()))


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


@pytest.mark.parametrize("y", [["a", "b"], np.array(["a", "b"], dtype=object)])
@pytest.mark.parametrize("new", ["c", "", "aa"])
def test_unknown_classes_are_refused(y, new) -> None:
    with pytest.raises(ValueError, match="unknown class"):
        counted(y).codes(
            np.array(
                ["a", new], dtype=np.asarray(y).dtype if np.asarray(y).dtype == object else "U2"
            )
        )


def test_missing_classes_are_refused() -> None:
    with pytest.raises(ValueError, match="missing"):
        counted(np.array(["a", None, "b"], dtype=object))


def test_classes_of_several_types_are_refused() -> None:
    with pytest.raises(ValueError, match="several types: int, str"):
        counted(np.array(["a", 1, "b"], dtype=object))


def test_several_outputs_are_refused() -> None:
    with pytest.raises(ValueError, match="one column"):
        counted(np.zeros((5, 2)))
