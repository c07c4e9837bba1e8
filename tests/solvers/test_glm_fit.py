"""Generalized kernel machines are optimal, for any penalty and any targets."""

import warnings

import numpy as np
import pytest
from generalized_cases import NAMES, problem
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from mercer._data.weights import SampleWeights, UnitWeights
from mercer._solvers import glm_fit
from mercer._solvers.glm_fit import GeneralizedMachine, fit_machine
from mercer._solvers.likelihoods import Bernoulli, Likelihood, Poisson


def violation(gram: np.ndarray, given: Likelihood, machine: GeneralizedMachine) -> float:
    """How far coefficients are from the slopes that they are at the optimum, relatively."""
    gradient = given.derivatives(machine.linear_predictors(gram)).gradient
    size = np.abs(gradient[:, 0]).max() + 1e-12
    of_values = np.abs(machine.alpha * machine.dual_coef_ + gradient[:, 0]).max()
    return float(max(of_values, np.abs(gradient[:, 1:].sum(axis=0)).max()) / size)


@settings(max_examples=30, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    seed=st.integers(0, 10**6),
    exponent=st.floats(-4.0, 3.0),
    weighted=st.booleans(),
)
def test_slopes_vanish_at_the_optimum(
    name: str, seed: int, exponent: float, weighted: bool
) -> None:
    gram, given = problem(name, 30, seed, weighted=weighted)
    machine = fit_machine(gram, given, 10.0**exponent)
    assert violation(gram, given, machine) < 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_a_start_that_is_far_off_changes_nothing(name: str) -> None:
    gram, given = problem(name)
    dual = 1e3 * np.random.default_rng(0).normal(size=len(gram))
    far = GeneralizedMachine(dual, given.start(), 1.0)
    one, other = fit_machine(gram, given, 0.2), fit_machine(gram, given, 0.2, far)
    np.testing.assert_allclose(other.dual_coef_, one.dual_coef_, atol=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_a_weight_of_two_is_the_sample_twice(name: str) -> None:
    gram, given = problem(name, 20)
    weights = np.where(np.arange(20) % 3 == 0, 2.0, 1.0)
    rows = np.repeat(np.arange(20), weights.astype(int))
    one = fit_machine(gram, type(given)(**{**vars(given), "weights": SampleWeights(weights)}), 0.1)
    twice = given.take(rows)
    other = fit_machine(gram[np.ix_(rows, rows)], twice, 0.1)
    np.testing.assert_allclose(
        one.linear_predictors(gram)[rows], other.linear_predictors(gram[np.ix_(rows, rows)])
    )


def test_separable_classes_do_not_diverge() -> None:
    x = np.linspace(-1.0, 1.0, 40)
    gram, y = np.outer(x, x), (x > 0.0).astype(float)
    machine = fit_machine(gram, Bernoulli(y, UnitWeights(40)), 1e-6)
    assert np.isfinite(machine.dual_coef_).all()
    assert violation(gram, Bernoulli(y, UnitWeights(40)), machine) < 1e-4


@pytest.mark.parametrize("largest", [1.0, 1e9])
def test_counts_of_any_size_are_fitted(largest: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=50)
    y = rng.poisson(largest * np.exp(x)).astype(float)
    given = Poisson(y, UnitWeights(50), offset=np.zeros(50))
    gram = np.outer(x - x.mean(), x - x.mean())
    machine = fit_machine(gram, given, 1e-6 * largest)
    if largest > 1.0:
        np.testing.assert_allclose(gram @ machine.dual_coef_, x - x.mean(), atol=1e-4)
    assert violation(gram, given, machine) < 1e-5


def test_a_search_that_ends_early_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    gram, given = problem("classes")
    monkeypatch.setattr(glm_fit, "_MAX_STEPS", 1)
    with pytest.warns(ConvergenceWarning, match="did not converge: scale the features"):
        fit_machine(gram, given, 1e-4)


def test_indefinite_matrices_are_refused() -> None:
    gram, given = problem("classes")
    with (
        warnings.catch_warnings(),
        pytest.raises(ValueError, match="not positive semi-definite"),
    ):
        fit_machine(gram - 0.5 * np.eye(len(gram)), given, 1e-3)
