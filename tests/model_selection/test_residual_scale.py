"""Scales of residuals are learned where the residuals have one, and else not."""

import numpy as np
import pytest

from mercer import KernelStackingRegressor
from mercer._data.resampling import OneAtATime, left_out_together
from mercer._data.weights import UnitWeights
from mercer._model_selection.residual_scale import interval_scores, learn_scale
from mercer.kernels import Gaussian


def residuals(n: int, seed: int, slope: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.exp(slope * X[:, 0]) * rng.normal(size=n)


def test_scales_are_proportional_to_sizes() -> None:
    X, e = residuals(400, 0, 1.0)
    found = learn_scale([X[:, 1:], X], e, 0.9, UnitWeights(400), OneAtATime(400))
    assert found is not None
    assert found.table == 1
    new, _ = residuals(200, 1, 1.0)
    assert np.corrcoef(np.log(found.of(new)), new[:, 0])[0, 1] > 0.9
    assert np.corrcoef(np.log(found.left_out), X[:, 0])[0, 1] > 0.9
    assert found.of(new).min() >= found.left_out.min()


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.95])
def test_interval_scores_are_lowest_for_the_quantile(coverage: float) -> None:
    sizes = np.abs(np.random.default_rng(0).normal(size=4001))
    widths = np.linspace(0.0, 3.0, 301)
    means = [interval_scores(np.full(4001, w), sizes, coverage).mean() for w in widths]
    assert abs(widths[np.argmin(means)] - np.quantile(sizes, coverage)) <= 0.02


def test_noise_of_one_size_has_no_scale() -> None:
    found = [
        learn_scale([X], e, 0.9, UnitWeights(60), OneAtATime(60))
        for X, e in (residuals(60, seed, 0.0) for seed in range(12))
    ]
    assert sum(scale is not None for scale in found) <= 1


@pytest.mark.parametrize("e", [np.zeros(30), np.append(np.zeros(29), 1.0)])
def test_residuals_that_are_zero_have_no_scale(e: np.ndarray) -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    assert learn_scale([X], e, 0.9, UnitWeights(30), OneAtATime(30)) is None


def test_a_label_does_not_move_its_own_scale() -> None:
    X, e = residuals(200, 0, 1.0)
    moved = e.copy()
    moved[7] *= 1.0 + 1e-6
    first, second = (
        learn_scale([X], values, 0.9, UnitWeights(200), OneAtATime(200)) for values in (e, moved)
    )
    assert first is not None
    assert second is not None
    own = abs(np.log(second.left_out[7] / first.left_out[7]))
    others = np.abs(np.log(second.left_out / first.left_out)).max()
    assert own < 0.2 * others


def test_groups_are_left_out_together() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 5)
    X = rng.normal(size=(30, 2))[groups] + 0.01 * rng.normal(size=(150, 2))
    e = np.exp(rng.normal(size=30))[groups] * rng.normal(size=150)
    alone = learn_scale([X], e, 0.9, UnitWeights(150), OneAtATime(150))
    together = learn_scale([X], e, 0.9, UnitWeights(150), left_out_together(150, groups))
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


@pytest.mark.parametrize("scale", ["learned", 1.0])
def test_scales_that_are_no_choice_are_refused(scale: object) -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = KernelStackingRegressor([Gaussian(2.0)]).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="scale"):
        model.predict_interval(X, scale=scale)  # type: ignore[arg-type]
