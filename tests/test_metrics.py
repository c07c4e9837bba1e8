"""Measures of dependence and their bounds (Cortes et al. 2010, Theorems 1-3) by definition."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference import center, gaussian, target_kernel

from mercer import alignment, centered_alignment, hsic
from mercer.kernels import Dirichlet, Gaussian, Linear
from mercer.metrics import alignment_bounds

METRICS: dict[str, Callable[..., float]] = {
    "hsic": hsic,
    "alignment": alignment,
    "centered_alignment": centered_alignment,
}
every_metric = pytest.mark.parametrize("name", METRICS)


def table(n: int = 20) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, 3))


@every_metric
@given(seed=st.integers(0, 1000), n=st.integers(2, 12))
def test_two_matrices(name: str, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(n, 3)), rng.normal(size=(n, 2))
    A, B = A @ A.T, gaussian(B, 1.0)
    assert_allclose(METRICS[name](A, B), getattr(reference, name)(A, B), rtol=1e-9)
    assert_allclose(METRICS[name](A, B), METRICS[name](B, A), rtol=1e-9)


@every_metric
def test_a_matrix_and_a_target(name: str) -> None:
    K = gaussian(table(), 1.5)
    labels = np.array(list("abcde"))[np.arange(20) ** 2 % 5]
    responses = np.random.default_rng(1).normal(loc=3.0, size=(20, 2))
    targets = ((labels, "classification"), (responses[:, 0], "regression"))
    for y, task in (*targets, (responses, "regression")):
        found = METRICS[name](K, y)
        assert isinstance(found, float)
        assert_allclose(found, getattr(reference, name)(K, target_kernel(y, task)), rtol=1e-9)
        assert_allclose(METRICS[name](K.tolist(), y.tolist()), found, rtol=1e-12)


@pytest.mark.parametrize("name", ["alignment", "centered_alignment"])
def test_alignments_of_zero_matrices_are_zero(name: str) -> None:
    assert METRICS[name](np.zeros((4, 4)), [0, 1, 0, 1]) == 0.0
    assert centered_alignment(np.ones((4, 4)), [0, 1, 0, 1]) == 0.0


@pytest.mark.parametrize(
    ("A", "B", "message"),
    [
        (np.ones((3, 2)), [0, 1, 1], r"A must be a square Gram matrix; got shape \(3, 2\)"),
        (np.triu(np.ones((3, 3))), [0, 1, 1], "A must be a symmetric Gram matrix"),
        (np.eye(3), np.triu(np.ones((3, 3))), "B must be a symmetric Gram matrix"),
        (np.eye(3), np.eye(4), r"inconsistent numbers of samples: \[3, 4\]"),
        (np.eye(3), [0, 1, 1, 0], r"inconsistent numbers of samples: \[3, 4\]"),
        (np.full((3, 3), np.nan), [0, 1, 1], "A contains NaN"),
        (np.full((3, 3), np.inf), [0, 1, 1], "A contains infinity"),
        (np.eye(3), np.full((3, 3), np.nan), "B contains NaN"),
        (np.ones(3), [0, 1, 1], "Expected 2D array"),
        (np.eye(1), [0], "minimum of 2 is required"),
    ],
)
def test_invalid_matrices(A: Any, B: Any, message: str) -> None:
    for metric in METRICS.values():
        with pytest.raises(ValueError, match=message):
            metric(A, B)


def naive(K: np.ndarray, y: np.ndarray, delta: float) -> dict[str, float]:
    """The theorems' quantities, entry by entry, for labels -1 and 1 or a standardized response."""
    m, Kc, L = len(K), center(K), np.outer(y, y)
    mean_square = float(np.mean(Kc**2))
    rho = reference.centered_alignment(K, L)
    beta = max(np.diag(K).max() ** 2 / mean_square, (y**2).max() ** 2 / np.mean(center(L) ** 2))
    ratio = max(np.sqrt(np.mean(row**2) / mean_square) for row in Kc)
    s = np.sqrt(np.mean(center(L) ** 2))
    return {
        "alignment": rho,
        "beta": beta,
        "deviation": 18 * beta * (3 / m + 4 * np.sqrt(np.log(6 / delta) / (2 * m))),
        "ratio": ratio,
        "error": 1 - rho * s / ratio,
        "mean_squared_error": 2 * (1 - rho * s),
    }


def sample(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > rng.normal(), 1.0, -1.0)
    y[:2] = -1.0, 1.0
    return X, y


@given(seed=st.integers(0, 10_000), n=st.integers(4, 40), delta=st.floats(1e-6, 0.999))
def test_two_classes_against_the_formulas(seed: int, n: int, delta: float) -> None:
    """And the bounds hold for h on the distribution of the sample, however unbalanced it is."""
    X, y = sample(seed, n)
    K = gaussian(X, 1.5)
    found = alignment_bounds(K, y, delta)
    for name, value in naive(K, y, delta).items():
        assert_allclose(getattr(found, name), value, rtol=1e-9, atol=1e-12)
    h = np.array([np.mean(y * row) for row in center(K)]) / np.sqrt(np.mean(center(K) ** 2))
    assert_allclose(found.predict(K), h, rtol=1e-9, atol=1e-12)
    assert np.mean(y * h < 0) <= found.error + 1e-12
    assert np.mean((y - h) ** 2) <= found.mean_squared_error + 1e-12
    assert found.error_bound >= found.error
    assert found.mean_squared_error_bound >= found.mean_squared_error


@given(seed=st.integers(0, 10_000), n=st.integers(4, 40))
def test_responses_against_the_formulas(seed: int, n: int) -> None:
    X, _ = sample(seed, n)
    raw = 3.0 + 7.0 * X[:, 0] ** 2 + X[:, 1]
    y = (raw - raw.mean()) / raw.std()
    K = gaussian(X, 1.5)
    found = alignment_bounds(K, raw, 0.1, task="regression")
    expected = naive(K, y, 0.1)
    del expected["error"]
    for name, value in expected.items():
        assert_allclose(getattr(found, name), value, rtol=1e-9, atol=1e-12)
    assert_allclose(found.mean_squared_error, 2.0 * (1.0 - found.alignment), rtol=1e-9)
    assert found.error is None
    assert np.mean((y - found.predict(K)) ** 2) <= found.mean_squared_error + 1e-12


def vacuous(K: np.ndarray, y: np.ndarray) -> set[str]:
    return set(alignment_bounds(K, y).vacuous)


def test_bounds_that_say_nothing_are_named() -> None:
    """Those within the deviation need some ten thousand samples, the others a good kernel."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([-1.0, 1.0], 30))
    ideal, unrelated = np.outer(y, y), gaussian(rng.normal(size=(60, 2)), 1.0)
    of_deviation = {"deviation", "error_bound", "mean_squared_error_bound"}
    assert vacuous(ideal, y) == of_deviation
    assert vacuous(unrelated, y) == {*of_deviation, "mean_squared_error"}
    assert vacuous(-ideal, y) == {*of_deviation, "error", "mean_squared_error"}
    found = alignment_bounds(ideal, y)
    assert "vacuous=('deviation'" in repr(found)
    certain = replace(found, deviation=0.5, error_bound=0.99, mean_squared_error_bound=0.99)
    assert certain.vacuous == ()
    assert replace(certain, alignment=0.5).vacuous == ("deviation",)


def test_a_mean_squared_error_is_compared_with_the_variance() -> None:
    """With alignment rho and variance s the bound is 2 (1 - rho s), which s may be below."""
    y = np.array([-1.0, *np.ones(99)])
    found = alignment_bounds(np.outer(y, y), y)
    assert_allclose(found.mean_squared_error, 2.0 - 2.0 * y.var())
    assert "mean_squared_error" in found.vacuous


def test_kernels_new_samples_and_labels_of_any_kind() -> None:
    X, y = sample(0, 30)
    kernel = Gaussian(1.5)
    names = np.where(y > 0, "yes", "no")
    found = alignment_bounds(kernel, names, X=X)
    assert_allclose(found.error, alignment_bounds(kernel(X), y).error)
    new = np.random.default_rng(1).normal(size=(5, 2))
    Kc = kernel(new, X) - kernel(new, X).mean(axis=1, keepdims=True) - kernel(X).mean(axis=0)
    expected = (Kc + kernel(X).mean()) @ y / np.linalg.norm(center(kernel(X)))
    assert_allclose(found.predict(kernel(new, X)), expected, rtol=1e-9)
    wider = alignment_bounds(Linear(), y, X=X, largest=1e3)
    assert wider.deviation > alignment_bounds(Linear(), y, X=X).deviation


def test_several_classes_and_outputs_have_a_deviation_only() -> None:
    X, _ = sample(0, 30)
    for y in (np.arange(30) % 3, np.column_stack([X[:, 0], X[:, 1] ** 2])):
        found = alignment_bounds(gaussian(X, 1.0), y)
        assert found.deviation > 0.0
        assert found.error is found.mean_squared_error is found.dual_coef is None
        with pytest.raises(ValueError, match="two classes or one response"):
            found.predict(gaussian(X, 1.0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"delta": 0.0}, "delta must be between zero and one"),
        ({"delta": 1.0}, "delta must be between zero and one"),
        ({"kernel_or_gram": Gaussian()}, "A kernel needs the samples"),
        ({"kernel_or_gram": np.ones((30, 29))}, "must be a square Gram matrix"),
        ({"kernel_or_gram": np.ones((29, 29))}, "inconsistent|n_samples|samples"),
        ({"kernel_or_gram": Dirichlet(0), "X": np.ones((30, 1))}, "The kernel is constant"),
        ({"y": np.ones(30)}, "class"),
    ],
)
def test_bad_input_is_refused(arguments: dict[str, Any], message: str) -> None:
    X, y = sample(0, 30)
    given_arguments = {"kernel_or_gram": gaussian(X, 1.0), "y": y, **arguments}
    with pytest.raises((TypeError, ValueError), match=message):
        alignment_bounds(**given_arguments)
