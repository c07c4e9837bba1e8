"""Errors of samples that are left out together are those of fits to the others."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import kernel_ridge
from sklearn.model_selection import RepeatedKFold, TimeSeriesSplit

from mercer._data.resampling import Resampling, left_out_together, resampled
from mercer._data.weights import UnitWeights
from mercer._gram.dense import to_unit_scale
from mercer._solvers.left_out import leave_one_out, losses_downhill
from mercer._solvers.left_out_fits import left_out_fits, left_out_residuals
from mercer._solvers.ridge import fit_ridge, ridge_path
from mercer.kernels import Gaussian

ALPHAS = np.array([1e-3, 0.1, 3.0])


def problem(seed: int, n: int, n_outputs: int, weighted: bool) -> Any:
    """A Gram matrix, targets, weights or None, and kernel values of new samples."""
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(n, 3)), rng.normal(size=(4, 3))
    y = 2.0 * np.sin(X[:, :1]) + rng.normal(size=(n, n_outputs))
    weights = rng.uniform(0.2, 3.0, n) if weighted else None
    gram, unit = to_unit_scale(Gaussian(2.0)(X), weights)
    return gram, y, weights, unit.apply(Gaussian(2.0)(Z, X))


def refitted(
    gram: np.ndarray, y: np.ndarray, weights: Any, resampling: Resampling, alpha: float
) -> np.ndarray:
    """Residuals by fits to the others, the mean over parts; NaN for samples in none."""
    values = np.ones(len(y)) if weights is None else weights
    total, counts = np.zeros_like(y), np.zeros((len(y), 1))
    for removed, at in resampling.parts:
        rest, test = np.setdiff1d(np.arange(len(y)), removed), removed[at]
        within, across = gram[np.ix_(rest, rest)], gram[np.ix_(test, rest)]
        total[test] += y[test] - kernel_ridge(within, y[rest], across, alpha / values[rest])
        counts[test] += 1.0
    return total / np.where(counts > 0.0, counts, np.nan)


def how_left_out(kind: str, n: int, seed: int) -> Resampling:
    rng = np.random.default_rng(seed)
    if kind == "groups":
        return left_out_together(n, rng.integers(0, max(2, n // 3), n))
    if kind == "all but one":
        return left_out_together(n, (np.arange(n) == 0).astype(int))
    if kind == "past":
        return resampled(list(TimeSeriesSplit(3, gap=1).split(np.empty((n, 0)))), n)
    if kind == "gaps":
        blocks = np.array_split(np.arange(n), 4)
        beside = [np.concatenate([block, [block[-1] + 1]]) for block in blocks[:-1]]
        train = [np.setdiff1d(np.arange(n), removed) for removed in beside]
        return resampled(list(zip(train, blocks, strict=False)), n)
    splits = RepeatedKFold(n_splits=3, n_repeats=2, random_state=seed).split(np.empty((n, 0)))
    return resampled(list(splits), n)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["groups", "all but one", "past", "gaps", "repeated"])
def test_residuals_are_those_of_fits_to_the_others(kind: str, seed: int) -> None:
    n = int(np.random.default_rng(seed).integers(14, 50))
    gram, y, weights, _ = problem(seed, n, 1 + seed % 3, weighted=bool(seed % 2))
    resampling = how_left_out(kind, n, seed)
    along = ridge_path(gram, y, weights, resampling).left_out_residuals(ALPHAS)
    for alpha, found in zip(ALPHAS, along, strict=True):
        expected = refitted(gram, y, weights, resampling, alpha)
        assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
        alone = left_out_residuals(gram, y, alpha, weights, resampling)
        assert_allclose(alone, expected, rtol=1e-8, atol=1e-8)
    assert_array_equal(np.flatnonzero(np.isfinite(along[0, :, 0])), resampling.covered)


@pytest.mark.parametrize("groups", [np.zeros(9), np.arange(9)])
def test_one_group_or_a_group_each_is_leaving_out_one(groups: np.ndarray) -> None:
    gram, y, _, _ = problem(0, 9, 1, weighted=False)
    found = left_out_residuals(gram, y, 0.1, None, left_out_together(9, groups.astype(int)))
    assert_array_equal(found, left_out_residuals(gram, y, 0.1))


def test_predictions_are_those_of_fits_to_the_others() -> None:
    gram, y, weights, rows = problem(0, 30, 2, weighted=True)
    groups = np.arange(30) % 7
    ridge = fit_ridge(gram, y, 0.1, weights)
    fits = left_out_fits(gram, ridge, weights, left_out_together(30, groups))
    for output in (0, 1):
        found = fits.predict(rows, output) + np.average(y[:, output], weights=weights)
        for group in range(7):
            rest = groups != group
            within, across = gram[np.ix_(rest, rest)], rows[:, rest]
            expected = kernel_ridge(within, y[rest], across, 0.1 / weights[rest])[:, output]
            for column in np.flatnonzero(~rest):
                assert_allclose(found[:, column], expected, atol=1e-9)


def test_losses_of_some_samples_are_over_these_alone() -> None:
    gram, y, _, _ = problem(2, 20, 1, weighted=False)
    codes = np.where(np.arange(20) < 12, np.arange(20) % 3, -1)
    resampling = left_out_together(20, None, codes)
    assert_array_equal(resampling.covered, np.arange(12))
    found = leave_one_out(gram, y, np.array([0.1]), extend=False, resampling=resampling)
    residuals = refitted(gram, y, None, resampling, 0.1)[:12]
    means = resampling.left_out_means(y, UnitWeights(20))
    assert_allclose(found.loss, np.mean(residuals**2) / np.mean((y - means)[:12] ** 2))
    assert np.isnan(found.predictions[0, 12:]).all()


def test_penalties_downhill_are_those_of_groups() -> None:
    gram, y, _, _ = problem(3, 60, 1, weighted=False)
    resampling = left_out_together(60, np.repeat(np.arange(12), 5))
    alphas = 10.0 ** np.arange(-3.0, 2.0)
    along = leave_one_out(gram, y, alphas, resampling=resampling)
    assert losses_downhill(gram, y, alphas, resampling=resampling).alpha == along.alpha


@pytest.mark.parametrize("sets", ["single", "pairs", "across", "one large", "some never"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [60, 620])
def test_residuals_of_the_last_samples_are_those_among_all(
    n: int, weighted: bool, sets: str
) -> None:
    gram, y, weights, _ = problem(0, n, 2, weighted)
    numbers, last = np.arange(n), n // 2
    codes = {
        "single": numbers,
        "pairs": numbers // 2,
        "across": numbers % last,
        "one large": np.minimum(numbers, last),
        "some never": np.where(numbers < n // 3, -1, numbers // 3),
    }
    resampling = left_out_together(n, None, codes[sets])
    for alpha in ALPHAS:
        expected = left_out_residuals(gram, y, alpha, weights, resampling)[n - last :]
        found = left_out_residuals(gram, y, alpha, weights, resampling, n_last=last)
        assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
