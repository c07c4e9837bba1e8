"""Labels and responses as target factors, against the target kernel's definition."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from reference import center, target_kernel

from mercer._targets import Target, as_target
from mercer._validation import infer_task


def kernel_of(target: Target) -> np.ndarray:
    return (target.factor * target.signs) @ target.factor.T


@given(y=arrays(int, st.integers(2, 20), elements=st.integers(-3, 3)))
def test_labels(y: np.ndarray) -> None:
    if np.unique(y).size < 2:
        with pytest.raises(ValueError, match="only one class"):
            as_target(y)
        return
    target = as_target(y)
    assert_allclose(kernel_of(target), target_kernel(y), atol=1e-12)
    assert_allclose(target.centered @ target.centered.T, center(target_kernel(y)), atol=1e-12)
    assert_array_equal(target.classes, np.unique(y))
    # equal codes for equal labels, and for them alone
    same = target.codes[:, None] == target.codes[None, :]
    assert_array_equal(same, y[:, None] == y[None, :])


@pytest.mark.parametrize(
    "y",
    [
        np.array(["b", "a", "b", "c"]),
        np.array(["b", "a", "b", "c"], dtype=object),
        ["b", "a", "b", "c"],
        np.array([True, False, True, True]),
        np.array([2.0, 1.0, 2.0, 7.0]),
        np.array([[2], [1], [2]]).ravel(),
    ],
)
def test_labels_of_any_type(y: Any) -> None:
    assert_allclose(kernel_of(as_target(y)), target_kernel(np.asarray(y)), atol=1e-12)


responses = arrays(
    float,
    st.tuples(st.integers(2, 10), st.integers(1, 3)),
    elements=st.floats(-1e3, 1e3, allow_subnormal=False),
)


@given(y=responses)
def test_responses(y: np.ndarray) -> None:
    if (y.std(axis=0) <= 1e-10 * (1 + np.abs(y).max(axis=0))).any():
        return
    target = as_target(y, "regression")
    L = target_kernel(y, "regression")
    assert_allclose(kernel_of(target), L, rtol=1e-9, atol=1e-9 * np.abs(L).max())
    deviations = target.factor.std(axis=0)
    if y.shape[1] < len(y):  # Else the factor has fewer columns than the responses.
        assert_allclose(deviations, 1.0, rtol=1e-9)
    assert_allclose((deviations**2).sum(), y.shape[1], rtol=2e-9)
    assert_allclose(target.centered.sum(axis=0), 0.0, atol=1e-9 * np.abs(target.factor).max())
    assert target.classes is None


@pytest.mark.parametrize("factor", [1e-150, 1e-8, 1e8, 1e150])
def test_the_unit_of_a_response_does_not_matter(factor: float) -> None:
    y = np.random.default_rng(0).normal(size=(9, 2))
    here, there = as_target(y, "regression"), as_target(y * [factor, 1.0], "regression")
    assert_allclose(there.factor, here.factor, rtol=1e-9)


def test_the_task_may_be_given() -> None:
    y = np.array([0, 1, 2, 5])
    assert as_target(y, "regression").classes is None
    assert_array_equal(as_target(y, "classification").classes, y)


@pytest.mark.parametrize(
    ("y", "settings", "message"),
    [
        ([1, 1, 1], {}, "only one class: .*1"),
        (["a", "a"], {}, "only one class: .*a"),
        ([0.5, 0.5, 0.5], {}, "y is constant"),
        ([0.1 + 0.2, 0.3, 0.3], {"task": "regression"}, "y is constant"),
        ([[0.5, 1.0], [0.7, 1.0], [0.1, 1.0]], {}, r"y is constant \(response 1\)"),
        (["a", "b"], {"task": "regression"}, "could not convert string to float|dtype|numeric"),
        ([0.5, 1.5], {"task": "classification"}, "Unknown label type: continuous"),
        ([[0, 1], [2, 0]], {"task": "classification"}, "1d array|multi"),
        ([0.5, np.nan], {}, "NaN"),
        ([0.5, np.inf], {"task": "regression"}, "infinity"),
        ([0, 1], {"task": "both"}, 'task must be one of "auto", "classification", "regression"'),
        ([], {}, "sample"),
        (None, {}, "None|array-like|label"),
        ([0, 1, 1], {"n_samples": 4}, r"inconsistent numbers of samples: \[4, 3\]"),
        (np.arange(16.0).reshape(4, 2, 2), {}, r"dim|dimension|Unknown label type"),
    ],
)
def test_bad_targets(y: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_target(y, **settings)


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b", "a"], "classification"),
        ([True, False, True], "classification"),
        ([0, 1, 1], "classification"),
        (np.arange(10.0), "classification"),
        ([0.5, 1.5, 0.5], "regression"),
        (np.linspace(0.0, 1.0, 69), "regression"),
        ([[1, 2], [3, 4], [3, 6]], "regression"),
    ],
)
def test_the_task_is_inferred_without_a_guess(y: Any, task: str) -> None:
    """As documented: fractions and several columns are responses, everything else labels."""
    assert infer_task(y) == task
    assert (as_target(y).classes is None) == (task == "regression")


@pytest.mark.parametrize(
    ("y", "task", "taken"),
    [
        (np.arange(11), "classification", "classes"),
        (np.arange(20.0), "classification", "classes"),
        (np.arange(21), "regression", "responses"),
        (np.round(50 + 10 * np.linspace(-3.4, 3.4, 69)), "regression", "responses"),
    ],
)
def test_whole_numbers_of_many_values_are_a_guess_that_a_warning_tells(
    y: Any, task: str, taken: str
) -> None:
    with pytest.warns(UserWarning, match=rf"distinct values, which were taken for {taken}: "):
        assert infer_task(y) == task
