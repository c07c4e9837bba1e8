"""Losses of classes, counts and grades have the derivatives and the minima that they say."""

import numpy as np
import pytest
from generalized_cases import NAMES, likelihood
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import poisson

from mercer._data.weights import SampleWeights, UnitWeights
from mercer._solvers.likelihoods import (
    Bernoulli,
    Likelihood,
    OrderedLogit,
    Poisson,
    bounded_probabilities,
)


def levels_of(given: Likelihood, rng: np.random.Generator) -> np.ndarray:
    return given.start() + 0.3 * rng.normal() - 0.2 * np.arange(len(given.start()))


@settings(max_examples=30, deadline=None)
@given(name=st.sampled_from(NAMES), seed=st.integers(0, 10**6), size=st.sampled_from([0.3, 3.0]))
def test_derivatives_are_those_of_the_losses(name: str, seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    f = size * rng.normal(size=12)
    found = likelihood(name, f, rng, weighted=True)
    levels, w, step = levels_of(found, rng), found.weights.values, 1e-5

    def at(move: np.ndarray) -> np.ndarray:
        return f[:, None] + move[0] + levels + move[1:]

    local = found.derivatives(at(np.zeros(1 + len(levels))))
    close = {"rtol": 1e-5, "atol": 1e-6}
    for k, move in enumerate(step * np.eye(1 + len(levels))):
        slopes = w * (found.losses(at(move)) - found.losses(at(-move))) / (2 * step)
        np.testing.assert_allclose(local.gradient[:, k], slopes, **close)
        plus, minus = (found.derivatives(at(m)).gradient for m in (move, -move))
        np.testing.assert_allclose(local.hessian[:, k], (plus - minus) / (2 * step), **close)


def test_losses_are_negative_logarithms_of_probabilities() -> None:
    rng = np.random.default_rng(0)
    f = rng.normal(size=50)
    grades = likelihood("grades", f, rng)
    eta = f[:, None] + grades.start()
    probabilities = grades.means(eta)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    own = probabilities[np.arange(50), grades.y]
    np.testing.assert_allclose(np.exp(-grades.losses(eta)), own)
    counts = likelihood("counts", f, rng)
    eta = f[:, None] + counts.start()
    logarithms = poisson.logpmf(counts.y, counts.y) - poisson.logpmf(counts.y, counts.means(eta))
    np.testing.assert_allclose(counts.losses(eta), logarithms, atol=1e-12)


def test_levels_out_of_order_have_an_infinite_loss() -> None:
    grades = OrderedLogit(np.array([0, 1, 2]), UnitWeights(3), n_grades=3)
    assert np.isinf(grades.losses(np.tile([0.0, 0.0], (3, 1)))[1])
    assert np.isinf(grades.losses(np.tile([-1.0, 0.0], (3, 1)))[1])
    assert np.isfinite(grades.losses(np.tile([1.0, 0.0], (3, 1)))).all()


@pytest.mark.parametrize(
    "absent",
    [
        Bernoulli(np.zeros(3), UnitWeights(3)),
        Bernoulli(np.ones(3), UnitWeights(3)),
        Poisson(np.zeros(3), SampleWeights(np.ones(3)), offset=np.zeros(3)),
        OrderedLogit(np.array([0, 2, 2]), UnitWeights(3), n_grades=3),
    ],
    ids=["zeros", "ones", "no counts", "a grade between"],
)
def test_absent_classes_are_not_estimable(absent: Likelihood) -> None:
    assert not absent.is_estimable


def test_the_rule_of_succession_bounds_probabilities() -> None:
    classes = Bernoulli(np.array([0.0, 1.0, 1.0]), UnitWeights(3))
    found = expit(classes.bounded(np.array([[-99.0], [0.5], [99.0]]))[:, 0])
    np.testing.assert_allclose(found, [0.2, expit(0.5), 0.8])
    np.testing.assert_allclose(
        bounded_probabilities(np.array([[0.0, 1.0]]), 3), [[0.2 / 1.2, 1.0 / 1.2]]
    )
    counts = Poisson(np.array([0.0, 3.0]), UnitWeights(2), offset=np.array([1.0, 0.0]))
    found = counts.bounded(np.array([[-99.0], [99.0]]))
    np.testing.assert_allclose(counts.means(found), [0.25, 4.0])
