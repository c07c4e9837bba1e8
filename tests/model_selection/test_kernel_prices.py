"""Prices of kernels on samples of the rows, and of kernels in the order of their widths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from mercer._gram.dense import to_unit_scale
from mercer._model_selection.kernel_prices import best_in_order, descended, price, sample_rows
from mercer._model_selection.leave_one_out import encode_target, leave_one_out
from mercer.kernels import Gaussian, Linear


def table(n: int = 18, d: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def test_a_kernel_is_priced_on_a_sample_of_many_rows() -> None:
    X = table(300)
    y = np.sin(X[:, 0])
    target = encode_target(y, classification=False)
    every = price(Gaussian(2.0), X, target)
    gram, _ = to_unit_scale(Gaussian(2.0)(X))
    expected = leave_one_out(gram, target.values)
    # Rounding errors of the Gram matrix count as often as its largest eigenvalue exceeds alpha.
    rounding = np.finfo(float).eps * np.trace(gram) / expected.alphas
    assert np.all(np.abs(every.losses / expected.losses - 1.0) <= 1e-12 + 10.0 * rounding)
    some = price(Gaussian(2.0), X, target, max_samples=100)
    rows = sample_rows(300, 100, None, 0)
    assert_allclose(some.predictions, price(Gaussian(2.0), X[rows], target.take(rows)).predictions)


def test_a_linear_kernel_is_priced_like_ridge_regression() -> None:
    X = table(40)
    y = X @ [1.0, -1.0, 0.5] + 0.1 * np.random.default_rng(1).normal(size=40)
    found = price(Linear(), X, encode_target(y, classification=False), alphas=np.array([0.3]))
    unit = to_unit_scale(X @ X.T)[1].scale
    wrong = 0.0
    for i in range(40):
        rest = np.arange(40) != i
        ridge = Ridge(alpha=0.3 * unit).fit(X[rest], y[rest])
        wrong += float((ridge.predict(X[i : i + 1])[0] - y[i]) ** 2)
    assert_allclose(found.loss * ((y - y.mean()) ** 2).sum() * (40 / 39) ** 2, wrong, rtol=1e-8)


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


@given(st.integers(2, 60), st.integers(1, 60), st.integers(1, 5), st.integers(0, 99))
def test_samples_are_distinct_and_of_every_class(n: int, m: int, k: int, seed: int) -> None:
    codes = np.arange(n) % k
    rows = sample_rows(n, m, codes, seed)
    assert len(rows) == min(n, m)
    assert np.all(np.diff(rows) > 0)
    if n // k >= 2 and k <= m <= n - k:
        counts = np.bincount(codes[rows], minlength=k)
        assert np.abs(counts - m * np.bincount(codes, minlength=k) / n).max() <= 1.0


@given(st.integers(2, 40), st.integers(1, 4), st.integers(1, 5), st.integers(0, 99))
def test_samples_hold_classes_of_one_sample(n: int, n_rare: int, extra: int, seed: int) -> None:
    codes = np.append(np.zeros(n, dtype=int), np.arange(1, n_rare + 1))
    rows = sample_rows(len(codes), min(n_rare + extra, n), codes, seed)
    assert len(rows) == min(n_rare + extra, n)
    assert np.all(np.diff(rows) > 0)
    assert np.unique(codes[rows]).size == min(n_rare + 1, len(rows))


@pytest.mark.parametrize("start", [0, 3, 6])
def test_steps_downhill_end_at_the_best_of_kernels_in_order(start: int) -> None:
    X = table()
    y = np.sin(X[:, :1])
    kernels = [Gaussian(width) for width in 2.0 ** np.arange(-3.0, 4.0)]
    losses = [leave_one_out(to_unit_scale(k(X))[0], y, extend=False).loss for k in kernels]
    best, found = best_in_order(kernels, X, y, start)
    assert best == int(np.argmin(losses))
    assert_allclose(found.loss, min(losses))


@pytest.mark.parametrize(("lowest", "expected"), [(0, 0), (3, 3), (-2, -2), (9, 5), (-9, -4)])
def test_a_descent_ends_at_the_lowest_or_at_a_limit(lowest: int, expected: int) -> None:
    tried: list[float] = []

    def loss(x: float) -> float:
        tried.append(x)
        return abs(x - lowest)

    assert descended(loss, 0, (-4, 5)) == expected
    assert min(tried) >= -4
    assert max(tried) <= 5


def test_one_kernel_is_the_best_of_one() -> None:
    X = table()
    best, found = best_in_order([Gaussian()], X, X[:, :1], 0)
    assert best == 0
    gram, _ = to_unit_scale(Gaussian()(X))
    assert_allclose(found.loss, leave_one_out(gram, X[:, :1], extend=False).loss)
