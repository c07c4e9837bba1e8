"""Targets of every output kernel: factors against dense Gram matrices, tasks, and refusals."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
import reference
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from output_cases import CASES, CLASSES, SIMILARITIES, outputs, score
from reference import center

from mercer import AlignmentMaximization
from mercer._data.validation import infer_task
from mercer._search.targets import Target, as_target
from mercer.kernels import Gaussian

every_case = pytest.mark.parametrize("case", CASES)


def kernel_of(target: Target) -> np.ndarray:
    return (target.factor * target.signs) @ target.factor.T


def target_of(y: Any, kernel: Any) -> Target:
    return as_target(y, output_kernel=kernel)


# --- the factor -------------------------------------------------------------------------------


@every_case
def test_the_factor_is_that_of_the_output_gram_matrix(case: str) -> None:
    y, kernel, L = outputs(case, score(200))
    target = target_of(y, kernel)
    tolerance = 1e-7 * np.trace(L)
    assert_allclose(kernel_of(target), L, atol=tolerance)
    assert_allclose(target.centered @ target.centered.T, center(L), atol=tolerance)
    assert (np.ptp(target.factor[:, target.signs < 0], axis=0) == 0.0).all()
    assert target.factor.dtype == np.float64


@every_case
def test_a_part_is_a_block(case: str) -> None:
    y, kernel, L = outputs(case, score())
    rows = np.random.default_rng(0).permutation(60)[:25]
    target = target_of(y, kernel)
    part = target.take(rows)
    assert_allclose(kernel_of(part), L[np.ix_(rows, rows)], atol=1e-7 * np.trace(L))
    if case in CLASSES:
        assert_array_equal(part.classes[part.codes], y[rows])
        assert_array_equal(target.classes[target.codes], y)
    else:
        assert part.codes is None
        assert part.classes is None


def test_similarities_follow_the_sorted_classes() -> None:
    y, _, L = outputs("similarities", score())
    names = {"ash": "z", "elm": "a", "oak": "m"}
    renamed = np.array([names[name] for name in y])
    order = [1, 2, 0]
    here = target_of(renamed, SIMILARITIES[np.ix_(order, order)])
    assert_allclose(kernel_of(here), L, atol=1e-12)
    assert_allclose(kernel_of(target_of(y, SIMILARITIES.tolist())), L, atol=1e-7)


def test_similarities_of_low_rank_have_a_factor_of_low_rank() -> None:
    tree = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    y = np.arange(20) % 4
    target = target_of(y, tree.T @ tree)
    assert target.factor.shape == (20, 2)
    assert_allclose(kernel_of(target), (tree.T @ tree)[np.ix_(y, y)], atol=1e-12)


@pytest.mark.parametrize("case", ["linear", "gaussian", "gaussian of two"])
@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_the_unit_of_responses_does_not_matter(case: str, scale: float) -> None:
    y, kernel, L = outputs(case, score())
    assert_allclose(kernel_of(target_of(scale * y, kernel)), L, atol=1e-7 * np.trace(L))


def test_sparse_sets_of_labels() -> None:
    """Also of more labels than samples, whose factor has no more columns than samples."""
    Y = (np.random.default_rng(0).random((40, 200)) < 0.1).astype(int)
    target = target_of(sp.coo_array(Y), "multilabel")
    assert_allclose(kernel_of(target), Y @ Y.T, atol=1e-9)
    assert target.factor.shape[1] <= 40
    X = np.random.default_rng(0).normal(size=(60, 4))
    Y = (X[:, :2] > 0.0).astype(int)
    model = AlignmentMaximization(output_kernel="multilabel")
    dense, sparse = (model.fit(X, y).alignment_ for y in (Y, sp.csr_array(Y)))
    assert_allclose(sparse, dense, rtol=1e-12)


def test_numbers_that_are_classes_keep_their_values() -> None:
    """Grades 1, 2 and 6: one kernel on the numbers, and classes to split by."""
    y = np.array([1, 2, 6] * 10)
    target = as_target(y, "classification", output_kernel="gaussian")
    L = reference.output_kernel(y.astype(float), "gaussian")
    assert_allclose(kernel_of(target), L, atol=1e-7)
    assert_array_equal(target.classes, [1, 2, 6])
    assert_array_equal(target.codes, [0, 1, 2] * 10)
    assert as_target(y, output_kernel="gaussian").codes is None


def test_many_responses_are_never_a_matrix() -> None:
    y = np.random.default_rng(0).standard_t(3, size=20_000)
    tracemalloc.start()
    try:
        target = target_of(y, "gaussian")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert target.factor.shape[1] < 200
    assert peak < 0.1 * 8 * len(y) ** 2


# --- labels and responses ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "settings", "message"),
    [
        ([0.1 + 0.2, 0.3, 0.3], {"task": "regression"}, "y is constant"),
        ([[0.5, 1.0], [0.7, 1.0], [0.1, 1.0]], {}, r"y is constant \(response 1\)"),
        ([0.5, 1.5], {"task": "classification"}, "Unknown label type: continuous"),
        ([[0, 1], [2, 0]], {"task": "classification"}, "1d array|multi"),
        ([0, 1], {"task": "both"}, 'task must be one of "auto", "classification", "regression"'),
        ([], {}, "sample"),
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
        (np.arange(10), "classification"),
        ([0.5, 1.5, 0.5], "regression"),
        ([[1, 2], [3, 4], [3, 6]], "regression"),
        ([1.0, 2.0] * 3, "classification"),
        ([1, 2, 3, 4] * 3, "classification"),
    ],
)
def test_the_task_is_inferred_without_a_guess(y: Any, task: str) -> None:
    """As documented: fractions and several columns are responses, everything else labels."""
    assert infer_task(y) == task
    assert (as_target(y).classes is None) == (task == "regression")


@pytest.mark.parametrize(
    ("y", "task", "taken"),
    [
        (np.tile([3, 4, 5, 6, 7], 3), "classification", "classes"),
        (np.tile([0.0, 1.0, 2.0], 3), "classification", "classes"),
        (np.arange(20.0), "classification", "classes"),
        (np.arange(21), "regression", "responses"),
    ],
)
def test_whole_numbers_of_many_values_are_a_guess_that_a_warning_tells(
    y: Any, task: str, taken: str
) -> None:
    with pytest.warns(UserWarning, match=rf"distinct values, which were taken for {taken}: "):
        assert infer_task(y) == task


# --- refusals ---------------------------------------------------------------------------------

WORDS = np.array(["a", "b", "c"] * 20)
NUMBERS = np.linspace(0.0, 1.0, 60)
CODES = np.arange(60) % 3


@pytest.mark.parametrize(
    ("kernel", "y", "message"),
    [
        ("label", CODES, 'must be None, one of "labels", "delta", .*; got \'label\''),
        (Gaussian, CODES, "must be None, one of .*; got"),
        (sp.eye_array(3), CODES, "must be None, one of .*; got"),
        ("gaussian", WORDS, "\"gaussian\": y holds text, such as 'a'"),
        (Gaussian(), WORDS, "kernel Gaussian.*: y holds text, such as 'a'"),
        ("multilabel", WORDS, 'fit output_kernel="multilabel": it is for indicator'),
        ("multilabel", np.eye(60) + 1, "with entries 0 and 1; got shape"),
        ("labels", NUMBERS, '"labels": Unknown label type: continuous'),
        ("delta", np.zeros((60, 2)), '"delta": .*(1d array|multi)'),
        (np.eye(3), NUMBERS, "similarities between classes: Unknown label type"),
        (np.eye(4), CODES, r"shape \(4, 4\) was passed .* but y holds 3 classes"),
        (np.ones((3, 2)), CODES, r"must have shape \(n_classes, n_classes\); got"),
        (np.triu(np.ones((3, 3))), CODES, "not symmetric: entries differ by up to 1"),
        (1.0 - np.eye(3), CODES, "similarities .* not positive semi-definite"),
        (np.full((3, 3), np.nan), CODES, "Input output_kernel contains NaN"),
        (np.ones((3, 3)), CODES, "y is constant to similarities"),
        (Gaussian(), 1e200 * NUMBERS, "too large to be squared"),
        (Gaussian(), np.full(60, 0.5), "y is constant to the output kernel Gaussian"),
        ("multilabel", np.ones((60, 2), int), "y is constant to output_kernel"),
        ("precomputed", np.ones((60, 60)), "y is constant to output_kernel"),
        ("precomputed", np.ones((60, 59)), r"got shape \(60, 59\)"),
        ("precomputed", np.tri(60), "Gram matrix is not symmetric: entries differ"),
        ("precomputed", 1.0 - np.eye(60), "is not positive semi-definite, so it is no"),
        ("precomputed", np.full((60, 60), np.nan), "y contains NaN"),
        ("gaussian", sp.eye_array(60, format="csr"), "dense data is required"),
    ],
)
def test_outputs_that_do_not_fit(kernel: Any, y: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        AlignmentMaximization(output_kernel=kernel).fit(np.ones((60, 4)), y)


def test_output_kernels_that_do_not_fit_the_task() -> None:
    for case in CLASSES:
        with pytest.raises(ValueError, match='is for classes, and the task is "regression"'):
            as_target(CODES, "regression", output_kernel=outputs(case, score())[1])
    for case in CASES[4:10]:
        with pytest.raises(ValueError, match="Unknown label type: continuous"):
            as_target(NUMBERS, "classification", output_kernel=outputs(case, score())[1])
