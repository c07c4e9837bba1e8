"""Intervals where X tells nothing of the response: they cover, and have one width."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

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


@pytest.mark.parametrize("make", [stack, TwoStageRegressor])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_intervals_cover_noise(structure: str, make: Callable[[], Any]) -> None:
    n, covered, changed = 60, [], 0
    for seed, noise in enumerate([*NOISE.values()] * 2):
        X, y, known = null_table(noise, structure, n, seed)
        model = make().fit(X[:n], y[:n], **known)
        (low, high), plain = model.predict_interval(X[n:]).T, model.predict_interval(X[n:], 0.9, None)
        covered.append(np.mean((low <= y[n:]) & (y[n:] <= high)))
        changed += not np.array_equal(plain.T, [low, high])
    assert np.mean(covered) > 0.85
    assert min(covered) > 0.7
    assert changed <= 1


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_residuals_from_the_mean_of_others_have_no_scale(structure: str, noise: str) -> None:
    n, taken = 120, 0
    for seed in range(8):
        X, y, known = null_table(NOISE[noise], structure, n, seed)
        weights = SampleWeights(known["sample_weight"]) if "sample_weight" in known else None
        groups = np.arange(n) // 3 if structure == "copies" else known.get("groups")
        weights, together = weights or UnitWeights(n), left_out_together(n, groups)
        residuals = y[:n] - together.left_out_means(y[:n, None], weights)[:, 0]
        found = Residuals(X[:n], np.abs(residuals), weights, together)
        taken += found.clear_scale(0.9) is not None
    assert taken <= 1
