"""Scales of residuals are learned where the residuals have one, and intervals cover noise."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import RepeatedKFold

from mercer import KernelStackingRegressor, TwoStageRegressor, UniformCombination
from mercer._data.resampling import left_out_together
from mercer._data.sample import Sample
from mercer._data.weights import SampleWeights, UnitWeights
from mercer._model_selection.residual_scale import (
    HeldOutResiduals,
    Residuals,
    ResidualScale,
)
from mercer.kernels import Gaussian, Laplacian


def residuals(n: int, seed: int, slope: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.exp(slope * X[:, 0]) * rng.normal(size=n)


def held_out(X: np.ndarray, e: np.ndarray, groups: np.ndarray | None = None) -> HeldOutResiduals:
    together = left_out_together(len(e), groups)
    return HeldOutResiduals(X, e[:, None], UnitWeights(len(e)), together)


def learned_scale(
    X: np.ndarray, e: np.ndarray, groups: np.ndarray | None = None
) -> ResidualScale | None:
    """The scale of residuals as a function of a table."""
    return held_out(X, e, groups).scales()[0]


def test_scales_are_proportional_to_sizes() -> None:
    X, e = residuals(400, 0, 1.0)
    found = learned_scale(X[:, :1], e)
    assert found is not None
    new, _ = residuals(200, 1, 1.0)
    assert np.corrcoef(np.log(found.of(new[:, :1])), new[:, 0])[0, 1] > 0.9
    assert np.corrcoef(np.log(found.left_out), X[:, 0])[0, 1] > 0.9
    assert found.of(new[:, :1]).min() >= found.left_out.min()


def test_missing_values_are_means() -> None:
    X, e = residuals(400, 0, 1.0)
    X[::9, 1], new = np.nan, np.array([[0.5, np.nan]])
    found, of_means = learned_scale(X, e), np.nanmean(X, axis=0)
    same = learned_scale(np.where(np.isnan(X), of_means, X), e)
    assert found is not None
    assert same is not None
    assert_array_equal(found.left_out, same.left_out)
    assert_allclose(found.of(new), same.of(np.array([[0.5, of_means[1]]])))


@pytest.mark.parametrize("e", [np.zeros(30), np.append(np.zeros(29), 1.0)])
def test_residuals_that_are_zero_have_no_scale(e: np.ndarray) -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    assert learned_scale(X, e) is None


def test_groups_are_left_out_together() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 5)
    X = rng.normal(size=(30, 2))[groups] + 0.01 * rng.normal(size=(150, 2))
    e = np.exp(rng.normal(size=30))[groups] * rng.normal(size=150)
    alone, together = learned_scale(X, e), learned_scale(X, e, groups)
    assert alone is not None
    assert together is None


def test_intervals_widen_where_noise_is_large() -> None:
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(300, 2)), rng.normal(size=(400, 2))
    y, expected = (Z[:, 1] + 0.5 * np.exp(Z[:, 0]) * rng.normal(size=len(Z)) for Z in (X, new))
    model = KernelStackingRegressor([Gaussian("median")]).fit(X, y)
    order = np.argsort(new[:, 0])
    narrow, wide = np.array_split(order, 2)
    covered, widths = {}, {}
    for scale in (None, "auto"):
        low, high = model.predict_interval(new, scale=scale).T
        right = (low <= expected) & (expected <= high)
        covered[scale] = right[narrow].mean(), right[wide].mean()
        widths[scale] = (high - low).mean()
    assert covered[None][0] > 0.97
    assert covered[None][1] < 0.85
    assert min(covered["auto"]) > 0.85
    assert widths["auto"] < widths[None]


def unequal(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two responses, of which only the first has noise of unequal size."""
    rng = np.random.default_rng(seed)
    X, noise = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    sizes = np.column_stack([0.5 * np.exp(X[:, 0]), np.full(n, 0.5)])
    return X, X[:, [1]] + sizes * noise


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"cv": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)},
        {"approximation": "nystroem"},
    ],
    ids=["exact", "folds", "features"],
)
def test_each_response_of_two_stage_regressors_has_its_scale(settings: Any) -> None:
    X, Y = unequal(300, 0)
    new, expected = unequal(600, 1)
    model = TwoStageRegressor(UniformCombination([Gaussian(3.0)]), **settings).fit(X, Y)
    ends = {scale: model.predict_interval(new, 0.9, scale) for scale in (None, "auto")}
    right = {
        scale: (found[..., 0] <= expected) & (expected <= found[..., 1])
        for scale, found in ends.items()
    }
    wide = new[:, 0] > 1.0
    assert right[None][wide, 0].mean() < 0.75
    assert right["auto"][wide, 0].mean() > 0.8
    assert np.all(np.abs(np.mean(right["auto"], axis=0) - 0.9) < 0.04)
    assert_array_equal(ends["auto"][:, 1], ends[None][:, 1])
    assert_allclose(ends["auto"].mean(axis=2), model.predict(new))


def test_stacks_of_gram_matrices_have_intervals_of_one_width() -> None:
    X, Y = unequal(200, 0)
    y = 3.0 * X[:, 0] + Y[:, 0]
    stack = Gaussian(3.0)(X)[:, :, None]
    model = TwoStageRegressor(UniformCombination("precomputed")).fit(stack, y)
    assert_array_equal(model.predict_interval(stack), model.predict_interval(stack, scale=None))


@pytest.mark.parametrize("together", [None, np.arange(60) % 12])
def test_rescaled_intervals_are_quantiles_of_scaled_residuals(together: Any) -> None:
    X, Y = unequal(60, 0)
    weights = SampleWeights(1.0 + np.arange(60) % 7)
    residuals = Y - X[:, [1]]
    # Folds hold samples out in another order.
    rows = np.random.default_rng(0).permutation(60)
    sample = Sample(X, Y, weights, groups=together)
    held = HeldOutResiduals.of(sample, rows, residuals[rows])
    scale = held.of_outputs[0].scale()
    assert scale is not None
    new, centers = unequal(7, 1)
    in_order = HeldOutResiduals.of(sample, np.arange(60), residuals).of_outputs[0].scale()
    assert in_order is not None
    assert_allclose(scale.of(new), in_order.of(new), rtol=1e-6)
    plain = np.stack([centers - 1.0, centers + 1.0], axis=2)
    found = held.rescaled(plain, centers, new, [scale, None], 0.8)
    assert_array_equal(found[:, 1], plain[:, 1])
    sizes = np.abs(residuals[rows, 0]) / scale.left_out
    if together is None:
        masses = weights.values / (weights.total + np.sum(weights.values**2) / weights.total)
    else:
        masses = weights.values / np.bincount(together, weights.values)[together] / 13.0
    order = np.argsort(sizes)
    quantile = sizes[order][np.cumsum(masses[rows][order]) >= 0.8 - 1e-9][0]
    half = quantile * scale.of(new)
    assert_allclose(found[:, 0], centers[:, [0]] + np.outer(half, [-1.0, 1.0]))


def test_samples_that_were_held_out_twice_are_left_out_together() -> None:
    X, Y = unequal(30, 0)
    rows = np.tile(np.arange(30), 2)
    held = HeldOutResiduals.of(Sample(X, Y, UnitWeights(30)), rows, np.tile(Y, (2, 1)))
    removed = [rows[part] for part, _ in held.resampling.parts]
    assert all(len(part) == 2 and part[0] == part[1] for part in removed)
    assert held.resampling.groups is None
    assert (
        len(HeldOutResiduals.of(Sample(X, Y, UnitWeights(30)), rows, Y[rows], max_samples=9).X) == 9
    )


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


@pytest.mark.parametrize("seed", [6, 9, 19, 30])
def test_intervals_of_less_coverage_are_within_those_of_more(seed: int) -> None:
    """Scales that hardly matter are not used for one coverage alone."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(70, 2))
    y = X[:, 0] + np.exp(0.4 * X[:, 1]) * rng.normal(size=70)
    model = KernelStackingRegressor([Gaussian(1.0)]).fit(X, y)
    ends = np.array([model.predict_interval(X, coverage) for coverage in (0.6, 0.7, 0.8, 0.9)])
    assert (np.diff(ends[..., 0], axis=0) <= 0.0).all()
    assert (np.diff(ends[..., 1], axis=0) >= 0.0).all()


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
