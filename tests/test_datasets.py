"""The synthetic problems and the loader of benchmark sets."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import norm

from mercer import datasets

Draw = Callable[..., tuple[np.ndarray, np.ndarray]]

SYNTHETIC = [
    datasets.make_sine,
    datasets.make_relevance,
    datasets.make_ringnorm,
    datasets.make_waveform,
]


@pytest.mark.parametrize("draw", SYNTHETIC)
def test_same_seed_same_problem(draw: Draw) -> None:
    first, second, other = draw(40, random_state=3), draw(40, random_state=3), draw(40)
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])
    assert not np.array_equal(first[0], other[0])


def test_parameters_are_checked() -> None:
    for draw in SYNTHETIC:
        with pytest.raises(ValueError, match="n_samples"):
            draw(0)
    for draw, name in (
        (datasets.make_relevance, "gamma"),
        (datasets.make_relevance, "rho"),
        (datasets.make_ringnorm, "n_features"),
    ):
        with pytest.raises(ValueError, match=name):
            draw(**{name: -1})


def test_sine_follows_its_formula() -> None:
    X, y = datasets.make_sine(2000, random_state=0)
    x = X[:, 0]
    f = np.sin(np.sqrt(2) * x) + np.sin(np.sqrt(12) * x) + np.sin(np.sqrt(60) * x)
    np.testing.assert_array_equal(y, np.sign(f))
    assert X.shape == (2000, 1)
    assert -10 <= X.min() < -9.9
    assert 9.9 < X.max() <= 10


def test_relevance_has_its_bayes_error() -> None:
    X, y = datasets.make_relevance(40_000, gamma=5, random_state=1)
    assert abs(np.mean(y)) < 0.02
    assert np.mean(np.sign(X @ np.arange(1.0, 51.0) ** 5) != y) == pytest.approx(
        norm.cdf(-1.75), abs=0.005
    )
    np.testing.assert_allclose(X.var(axis=0)[:20], 1.0, atol=0.04)


@pytest.mark.parametrize("gamma", [0.0, 2.5])
def test_relevance_follows_its_formula(gamma: float) -> None:
    """The means are +-rho v / |v| with v_i = (i / d)^gamma (Afkanpour et al. 2013, section 3.1)."""
    X, y = datasets.make_relevance(30, gamma=gamma, n_features=4, rho=3.0, random_state=5)
    noise, labels = datasets.make_relevance(30, gamma=gamma, n_features=4, rho=0.0, random_state=5)
    direction = np.array([0.25, 0.5, 0.75, 1.0]) ** gamma
    mean = 3.0 * direction / np.sqrt((direction**2).sum())
    np.testing.assert_array_equal(y, labels)
    np.testing.assert_allclose(X - noise, np.outer(y, mean), rtol=0.0, atol=1e-14)


def test_ringnorm_has_its_moments_and_bayes_error() -> None:
    X, y = datasets.make_ringnorm(40_000, random_state=1)
    wide, narrow, mean = X[y == -1], X[y == 1], 2.0 / np.sqrt(20.0)
    assert abs(np.mean(y)) < 0.02
    np.testing.assert_allclose(wide.mean(axis=0), 0.0, atol=0.06)
    np.testing.assert_allclose(narrow.mean(axis=0), mean, atol=0.03)
    ratio = (X**2).sum(axis=1) / 8.0 + 20.0 * np.log(2.0) - ((X - mean) ** 2).sum(axis=1) / 2.0
    assert np.mean(np.sign(ratio) != y) == pytest.approx(0.0124, abs=0.003)


def test_waveform_classes_mix_two_triangles() -> None:
    X, y = datasets.make_waveform(30_000, random_state=1)
    t = np.arange(1, 22)
    h1, h2, h3 = (np.maximum(6.0 - np.abs(t - peak), 0.0) for peak in (11, 15, 7))
    np.testing.assert_allclose(np.bincount(y) / len(y), 1.0 / 3.0, atol=0.015)
    for label, (first, second) in enumerate([(h1, h2), (h1, h3), (h2, h3)]):
        wave, slope = (first + second) / 2.0, first - second
        np.testing.assert_allclose(X[y == label].mean(axis=0), wave, atol=0.08)
        covariance = np.eye(21) + np.outer(slope, slope) / 12.0
        np.testing.assert_allclose(np.cov(X[y == label].T), covariance, atol=0.2)
