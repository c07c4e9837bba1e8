"""Intervals where X tells nothing of the response: they cover, and have one width."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelStackingRegressor, TwoStageRegressor
from mercer._data.resampling import left_out_together
from mercer._data.weights import SampleWeights, UnitWeights
from mercer._model_selection.residual_scale import Residuals
from mercer.kernels import Gaussian, Laplacian

Noise = Callable[[np.random.Generator, int], np.ndarray]

NOISE: dict[str, Noise] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "skewed": lambda rng, n: rng.exponential(size=n),
    "discrete": lambda rng, n: rng.poisson(1.0, n).astype(float),
    "half zeros": lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, rng.exponential(size=n)),
}
STRUCTURES = ("alone", "groups", "copies", "weights")
N_NEW = 400


def stack() -> KernelStackingRegressor:
    return KernelStackingRegressor([Gaussian("median"), Laplacian("median")])


def null_table(
    noise: Noise, structure: str, n: int, seed: int
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Training rows and new ones, and what `fit` is told: groups of five, copies in threes."""
    rng = np.random.default_rng(seed)
    together = {"groups": 5, "copies": 3}.get(structure, 1)
    first = np.arange(n + N_NEW) // together * together
    first[n:] = np.arange(n, n + N_NEW)
    X, y = rng.normal(size=(len(first), 3)), noise(rng, len(first))
    if structure == "weights":
        return X, y, {"sample_weight": rng.exponential(size=n)}
    if structure == "copies":
        return X[first], y[first], {}
    if structure == "groups":
        y = np.where(rng.random(len(y)) < 0.5, y, y[first])
        return X + X[first], y, {"groups": first[:n]}
    return X, y, {}


@pytest.mark.parametrize(
    ("structure", "make"),
    [
        ("alone", stack),
        ("groups", TwoStageRegressor),
        ("copies", stack),
        ("weights", TwoStageRegressor),
    ],
)
def test_intervals_cover_noise(structure: str, make: Callable[[], Any]) -> None:
    n, covered, changed = 60, [], 0
    for seed, noise in enumerate([*NOISE.values()] * 2):
        X, y, known = null_table(noise, structure, n, seed)
        model = make().fit(X[:n], y[:n], **known)
        (low, high), plain = (
            model.predict_interval(X[n:]).T,
            model.predict_interval(X[n:], 0.9, None),
        )
        covered.append(np.mean((low <= y[n:]) & (y[n:] <= high)))
        changed += not np.array_equal(plain.T, [low, high])
    assert np.mean(covered) > 0.85
    assert min(covered) > 0.7
    assert changed <= 1


@pytest.mark.parametrize("structure", STRUCTURES)
def test_residuals_from_the_mean_of_others_have_no_scale(structure: str) -> None:
    n, taken = 120, 0
    for seed, noise in enumerate(NOISE.values()):
        X, y, known = null_table(noise, structure, n, seed)
        weights = SampleWeights(known["sample_weight"]) if "sample_weight" in known else None
        groups = np.arange(n) // 3 if structure == "copies" else known.get("groups")
        weights, together = weights or UnitWeights(n), left_out_together(n, groups)
        residuals = y[:n] - together.left_out_means(y[:n, None], weights)[:, 0]
        found = Residuals(X[:n], np.abs(residuals), weights, together)
        taken += found.clear_scale(0.9) is not None
    assert taken <= 1


def quantile(values: np.ndarray, masses: np.ndarray, coverage: float) -> float:
    order = np.argsort(values)
    return float(values[order][np.cumsum(masses[order]) >= coverage - 1e-9][0])


@pytest.mark.parametrize("structure", ["alone", "groups", "twice", "weights"])
def test_scales_are_judged_without_the_fold(structure: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    sizes = np.abs(np.exp(X[:, 0]) * rng.normal(size=100))
    weights: SampleWeights = UnitWeights(100)
    groups, codes, names = None, None, np.arange(100)
    if structure == "groups":
        groups = names = np.repeat(np.arange(40), [1, 4] * 20)
    elif structure == "twice":
        codes = names = np.arange(100) // 2
    if structure in ("groups", "weights"):
        weights = SampleWeights(0.2 + rng.exponential(size=100))
    known = Residuals(X, sizes, weights, left_out_together(100, groups, codes))
    found = known.losses(0.8)
    assert found is not None

    def masses(rows: np.ndarray) -> np.ndarray:
        w = weights.values[rows]
        if groups is None:
            return np.asarray(w / (w.sum() + np.sum(w**2) / w.sum()))
        totals = np.bincount(groups[rows], w, minlength=40)
        return np.asarray(w / totals[groups[rows]] / (np.sum(totals > 0.0) + 1.0))

    expected = np.zeros((2, 100))
    folds = known.resampling.folds(5, None, 0)
    assert len(np.unique(np.concatenate([test for _, test in folds]))) == 100
    for train, test in folds:
        assert not set(names[train]) & set(names[test])
        inside = left_out_together(
            len(train), *(z if z is None else z[train] for z in (groups, codes))
        )
        scale = Residuals(X[train], sizes[train], weights.take(train), inside).scale()
        assert scale is not None
        ways = (np.ones(len(train)), np.ones(len(test))), (scale.left_out, scale.of(X[test]))
        for row, (old, new) in zip(expected, ways, strict=True):
            width = quantile(sizes[train] / old, masses(train), 0.8) * new
            row[test] = np.where(sizes[test] > width, width + 5.0 * (sizes[test] - width), width)
    shares = masses(np.arange(100))
    shares /= shares.sum()
    of_units = np.array(
        [[np.sum((shares * row)[names == k]) for k in np.unique(names)] for row in expected]
    )
    assert_allclose(found, of_units * of_units.shape[1], rtol=1e-9)
    difference = found[1] - found[0]
    ratio = -difference.mean() / (difference.std() / np.sqrt(len(difference)))
    assert ratio > 0.1
    assert known.clear_scale(0.8, n_errors=ratio - 0.01) is not None
    assert known.clear_scale(0.8, n_errors=ratio + 0.01) is None


@pytest.mark.parametrize("n_groups", [19, 20])
def test_few_groups_have_no_scale(n_groups: int) -> None:
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(200, 2)), np.arange(200) % n_groups
    sizes = np.abs(np.exp(2.0 * X[:, 0]) * rng.normal(size=200))
    together = left_out_together(200, groups)
    found = Residuals(X, sizes, UnitWeights(200), together).clear_scale(0.8)
    assert (found is not None) == (n_groups == 20)


def test_a_group_is_not_in_the_scale_of_its_own_residuals() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 5)
    X = rng.normal(size=(20, 2))[groups] + 0.1 * rng.normal(size=(100, 2))
    sizes = np.abs(rng.normal(size=100))
    moved = np.where(groups == 7, sizes * (1.0 + 1e-6), sizes)
    together = left_out_together(100, groups)
    one, other = (Residuals(X, each, UnitWeights(100), together).scale() for each in (sizes, moved))
    assert one is not None
    assert other is not None
    change = np.abs(np.log(other.left_out / one.left_out))
    assert change[groups == 7].max() < 0.2 * change.max()
