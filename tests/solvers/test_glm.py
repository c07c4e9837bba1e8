"""Generalized kernel machines are optimal, and predict left-out samples as refits do."""

import warnings

import numpy as np
import pytest
from generalized_cases import NAMES, problem
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from mercer._data.resampling import Resampling, as_resampling, left_out_together, resampled
from mercer._data.weights import UnitWeights
from mercer._solvers import glm_fit
from mercer._solvers.glm import GLM, GLMFit
from mercer._solvers.glm_fit import GeneralizedMachine, fit_machine
from mercer._solvers.glm_left_out import left_out_predictors
from mercer._solvers.likelihoods import (
    Bernoulli,
    Likelihood,
    OrderedLogit,
    bounded_probabilities,
    log_losses,
)


def refitted(
    gram: np.ndarray,
    machine: GeneralizedMachine,
    given: Likelihood,
    resampling: Resampling | None = None,
) -> np.ndarray:
    """Linear predictors of samples under machines that are fitted without them."""
    n = len(gram)
    eta = np.full((n, len(machine.levels)), np.nan)
    for removed, at in as_resampling(resampling, n).parts:
        rest = np.setdiff1d(np.arange(n), removed)
        other = fit_machine(gram[np.ix_(rest, rest)], given.take(rest), machine.alpha)
        eta[removed[at]] = other.linear_predictors(gram[np.ix_(removed[at], rest)])
    return given.bounded(eta)


def deviance(given: Likelihood, eta: np.ndarray) -> float:
    if isinstance(given, OrderedLogit):
        losses = log_losses(bounded_probabilities(given.means(eta), len(given)), given.y)
    else:
        losses = given.losses(eta)
    return 2.0 * float(given.weights.mean(losses))


def best(gram: np.ndarray, given: Likelihood) -> GLMFit:
    solver = GLM(gram, [given], as_resampling(None, len(gram)))
    return solver.best(lambda eta, rows: deviance(given.take(rows), eta[0]))


@pytest.mark.parametrize("name", NAMES)
def test_deviances_are_within_one_percent_of_refits(name: str) -> None:
    gram, given = problem(name, 120, weighted=True)
    found = best(gram, given)
    expected = deviance(given, refitted(gram, found.machines[0], given))
    assert found.loss == pytest.approx(expected, rel=0.01)
    assert found.alphas[0] < found.alpha < found.alphas[-1]


@pytest.mark.parametrize("name", NAMES)
def test_groups_are_left_out_together(name: str) -> None:
    gram, given = problem(name, 120)
    groups = np.random.default_rng(1).permutation(120) // 5
    together = left_out_together(120, groups)
    machine = fit_machine(gram, given, 0.3)
    found = left_out_predictors(gram, machine, given, together, corrected=True)
    expected = refitted(gram, machine, given, together)
    assert deviance(given, found) == pytest.approx(deviance(given, expected), rel=0.01)
    assert deviance(given, found) != deviance(given, left_out_predictors(gram, machine, given))


@pytest.mark.parametrize("name", NAMES)
def test_samples_of_later_splits_are_refitted_where_most_are_left_out(name: str) -> None:
    gram, given = problem(name, 40)
    splits = [(np.arange(8), np.arange(8, 20)), (np.arange(30), np.arange(30, 40))]
    within = resampled(splits, 40)
    machine = fit_machine(gram, given, 1.0)
    found = left_out_predictors(gram, machine, given, within)
    assert np.isnan(found[20:30]).all()
    expected = refitted(gram, machine, given, within)
    rows = np.arange(8, 20)
    own, other = (given.take(rows).means(eta[rows]) for eta in (found, expected))
    np.testing.assert_allclose(own, other, rtol=1e-6)


def test_the_only_sample_of_a_class_is_bounded_where_it_is_left_out() -> None:
    gram, _ = problem("classes", 30)
    y = np.zeros(30)
    y[4] = 1.0
    given = Bernoulli(y, UnitWeights(30))
    machine = fit_machine(gram, given, 0.1)
    for corrected in (False, True):
        found = left_out_predictors(gram, machine, given, corrected=corrected)
        assert given.means(found)[4] == pytest.approx(1.0 / 32.0)
    both = left_out_together(30, (np.arange(30) > 20).astype(int))
    found = left_out_predictors(gram, machine, given, both)
    np.testing.assert_allclose(given.means(found)[:21], 1.0 / 32.0)


# --- fits --------------------------------------------------------------------------------------


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


def test_separable_classes_do_not_diverge() -> None:
    x = np.linspace(-1.0, 1.0, 40)
    gram, y = np.outer(x, x), (x > 0.0).astype(float)
    machine = fit_machine(gram, Bernoulli(y, UnitWeights(40)), 1e-6)
    assert np.isfinite(machine.dual_coef_).all()
    assert violation(gram, Bernoulli(y, UnitWeights(40)), machine) < 1e-4


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
