"""Kernels on some columns of a table: positions, names, slices, masks and selectors."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from mercer import ContinuousAlignment, MKLClassifier
from mercer.kernels import (
    Gaussian,
    Linear,
    OnColumns,
    OnProjection,
    Product,
    WeightedSum,
    as_kernel,
)

NAMES = ["age", "bmi", "glucose", "site"]


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(12, 4))


def frame(X: np.ndarray, library: str) -> Any:
    return pd.DataFrame(X, columns=NAMES) if library == "pandas" else pl.DataFrame(X, schema=NAMES)


@pytest.mark.parametrize(
    ("columns", "positions"),
    [
        (2, [2]),
        (-1, [3]),
        ([3, 0], [3, 0]),
        (np.array([1, 2]), [1, 2]),
        (slice(None, None, 2), [0, 2]),
        ([True, False, False, True], [0, 3]),
        (lambda X: [1], [1]),
    ],
)
def test_columns_chosen_by_position(columns: Any, positions: list[int], X: np.ndarray) -> None:
    kernel, expected = OnColumns(Gaussian(0.8), columns), Gaussian(0.8)
    assert_allclose(kernel(X), expected(X[:, positions]))
    assert_allclose(kernel(X, X[:5]), expected(X[:, positions], X[:5, positions]), atol=1e-12)
    assert_allclose(kernel.diag(X), np.ones(12))
    assert_allclose(kernel(sp.csr_array(X)), kernel(X), atol=1e-12)
    assert kernel.bind(X).columns == positions


@pytest.mark.parametrize(
    ("columns", "positions", "library"),
    [
        ("bmi", [1], "pandas"),
        (["site", "age"], [3, 0], "polars"),
        (np.array(["bmi"]), [1], "pandas"),
        (slice("age", "glucose"), [0, 1, 2], "polars"),
        (slice("bmi", None), [1, 2, 3], "pandas"),
        ([True, False, True, False], [0, 2], "polars"),
    ],
)
def test_columns_of_data_frames_chosen_by_name(
    columns: Any, positions: list[int], library: str, X: np.ndarray
) -> None:
    kernel, table = OnColumns(Linear(), columns), frame(X, library)
    expected = X[:, positions] @ X[:, positions].T
    P = np.random.default_rng(1).normal(size=(12, 12))
    assert_allclose(kernel(table), expected)
    assert_allclose(kernel(table, table[:5]), expected[:, :5])
    assert_allclose(kernel.diag(table), np.diag(expected))
    assert kernel.vjp(table, P)[0] == pytest.approx(np.sum(P * expected))
    bound = kernel.bind(table)
    assert bound.columns == positions
    assert_allclose(bound(X), expected)


def test_columns_chosen_by_name_within_compositions(X: np.ndarray) -> None:
    parts = [OnColumns(Gaussian(), ["age"]), OnColumns(Linear(), ["bmi", "site"])]
    grams = [Gaussian()(X[:, [0]]), Linear()(X[:, [1, 3]])]
    table = frame(X, "polars")
    assert_allclose(WeightedSum(parts, [0.3, 0.7])(table), 0.3 * grams[0] + 0.7 * grams[1])
    assert_allclose(Product(parts)(table), grams[0] * grams[1])
    nested = OnColumns(OnColumns(Gaussian(), ["age"]), ["bmi", "age"])
    assert_allclose(nested(table), grams[0])
    with pytest.raises(ValueError, match=r"'weight' is absent.*age, bmi, glucose, site"):
        OnColumns(Gaussian(), ["age", "weight"])(table)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["age"], "no column names"),
        ([4], "Column 4 is absent: X has 4 features"),
        (-5, "Column -5 is absent"),
        ([], "No column is chosen"),
        ([False] * 4, "No column is chosen"),
        ([True, False], "mask of 2 columns does not fit 4"),
        ([0.5], "Column 0.5"),
    ],
)
def test_invalid_columns_raise_an_error(columns: Any, message: str, X: np.ndarray) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        OnColumns(Gaussian(), columns)(X)


def test_one_width_per_chosen_column(X: np.ndarray) -> None:
    kernel = OnColumns(Gaussian(2.0, ard=True), [1, 3]).bind(X)
    assert kernel.theta.shape == (2,)
    assert kernel.log_bounds(X).shape == (2, 2)
    assert_allclose(kernel.relevance(4), [0.0, 0.25, 0.0, 0.25])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_relevance_belongs_to_the_named_column(X: np.ndarray, library: str) -> None:
    parts = [OnColumns(Gaussian([1.0, 2.0]), ["site", "bmi"]), OnColumns(Gaussian(0.5), ["age"])]
    for kernel in (Product(parts), WeightedSum(parts, [1.0, 1.0])):
        assert_allclose(kernel.bind(frame(X, library)).relevance(4), [4.0, 0.25, 0.0, 1.0])


POINTS = np.random.default_rng(0).normal(size=(8, 3))
A = np.array([[1.0, 0.2], [-0.5, 0.3], [0.0, 2.0]])


def test_a_mahalanobis_distance() -> None:
    differences = POINTS[:, None] - POINTS
    squares = np.einsum("ijk,kl,ijl->ij", differences, A @ A.T, differences)
    expected = np.exp(-squares / 1.3**2)
    kernel = OnProjection(Gaussian(1.3), A)
    assert_allclose(kernel(POINTS), expected, rtol=1e-10, atol=1e-15)
    assert kernel.describe() == "Gaussian, width 1.3 on 2 projections"
    bound = OnProjection(Gaussian("median"), A).bind(POINTS)
    assert bound.kernel == Gaussian("median").bind(POINTS @ A)


@pytest.mark.parametrize(
    ("projection", "message"),
    [
        (np.eye(2), "projection has 2 rows, but X has 3 features"),
        (np.full((3, 1), np.nan), "projection must be a finite matrix"),
    ],
)
def test_bad_projections(projection: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OnProjection(Gaussian(), projection)(POINTS)


@pytest.mark.parametrize("make", [lambda k: OnColumns(k, [0, 2]), lambda k: OnProjection(k, A)])
def test_rows_of_the_same_table_stay_known_as_the_same(make: Any) -> None:
    """Noise is added to a sample's own value, not to those of equal samples."""
    kernel = make(as_kernel(RBF() + WhiteKernel(0.5)))
    value, _ = kernel.vjp(POINTS, np.eye(len(POINTS)))
    assert value == pytest.approx(1.5 * len(POINTS))


FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "b"])
OTHER = [FRAME[["b", "a"]], FRAME.rename(columns={"b": "c"})]


@pytest.mark.parametrize("other", OTHER)
def test_two_frames_have_the_same_columns(other: Any) -> None:
    kernel = Gaussian(1.0)
    with pytest.raises(ValueError, match="feature names should match"):
        kernel(FRAME, other)
    with pytest.raises(ValueError, match="feature names should match"):
        kernel.vjp(FRAME, np.ones((40, 40)), other)
    assert_allclose(kernel(FRAME, FRAME.to_numpy()), kernel(FRAME.to_numpy(), FRAME))


@pytest.mark.parametrize("model", [ContinuousAlignment(), MKLClassifier()])
def test_learned_kernels_know_their_columns(model: Any) -> None:
    kernel = model.fit(FRAME, (FRAME["a"] > 0.0).to_numpy().astype(int)).kernel_
    for call in (kernel, kernel.diag, lambda table: kernel(FRAME, table)):
        with pytest.raises(ValueError, match="feature names should match"):
            call(OTHER[0])
    assert_allclose(kernel(FRAME), kernel(FRAME.to_numpy()))


def test_features_of_nested_columns_are_those_of_the_table(X: np.ndarray) -> None:
    nested = OnColumns(OnColumns(Linear(per_feature=True), [2, 1]), [3, 0, 1])
    for part, z in zip(nested.expand(X), [1, 0], strict=True):
        assert_allclose(part(X), np.outer(X[:, z], X[:, z]))
