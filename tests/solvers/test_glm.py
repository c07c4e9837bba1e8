"""Generalized kernel machines: their losses, optima, and predictions of left-out samples."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import poisson
from sklearn.exceptions import ConvergenceWarning

from mercer._data.resampling import Resampling, as_resampling, left_out_together, resampled
from mercer._data.weights import SampleWeights, UnitWeights
from mercer._gram.dense import to_unit_scale
from mercer._solvers import glm_fit
from mercer._solvers.glm import GLM, GLMFit
from mercer._solvers.glm_fit import GeneralizedMachine, fit_machine
from mercer._solvers.glm_left_out import left_out_predictors
from mercer._solvers.likelihoods import (
    Bernoulli,
    GLMLikelihood,
    OrderedLogit,
    Poisson,
    bounded_probabilities,
    log_losses,
)
from mercer.kernels import Laplacian

NAMES = ("classes", "counts", "grades")


def likelihood(
    name: str, f: np.ndarray, rng: np.random.Generator, *, weighted: bool = False
) -> GLMLikelihood:
    """Targets drawn from a function's values."""
    n = len(f)
    weights = SampleWeights(rng.uniform(0.5, 2.0, n)) if weighted else UnitWeights(n)
    if name == "classes":
        return Bernoulli((rng.random(n) < expit(f)).astype(float), weights)
    if name == "counts":
        offset = rng.normal(size=n)
        return Poisson(rng.poisson(np.exp(f + offset)).astype(float), weights, offset=offset)
    grades = np.digitize(f + rng.logistic(size=n), [-2.0, 0.0, 1.0])
    grades[:4] = np.arange(4)
    return OrderedLogit(grades, weights, n_grades=4)


def problem(
    name: str, n: int = 60, seed: int = 0, *, weighted: bool = False
) -> tuple[np.ndarray, GLMLikelihood]:
    """A centered Gram matrix, and targets that a function of the same features is behind."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    gram, _ = to_unit_scale(Laplacian("median", norm=1.0).bind(X)(X))
    return gram, likelihood(name, 2.0 * np.sin(2.0 * X[:, 0]) + X[:, 1], rng, weighted=weighted)


def refitted(
    gram: np.ndarray,
    machine: GeneralizedMachine,
    given: GLMLikelihood,
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


def deviance(given: GLMLikelihood, eta: np.ndarray) -> float:
    if isinstance(given, OrderedLogit):
        losses = log_losses(bounded_probabilities(given.means(eta), len(given)), given.y)
    else:
        losses = given.losses(eta)
    return 2.0 * float(given.weights.mean(losses))


def best(gram: np.ndarray, given: GLMLikelihood) -> GLMFit:
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


def violation(gram: np.ndarray, given: GLMLikelihood, machine: GeneralizedMachine) -> float:
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


def levels_of(given: GLMLikelihood, rng: np.random.Generator) -> np.ndarray:
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
def test_absent_classes_are_not_estimable(absent: GLMLikelihood) -> None:
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


def test_of_more_samples_the_search_starts_at_the_penalty_of_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gram, given = problem("classes", 120)

    sizes: list[int] = []

    def loss(eta: list[np.ndarray], rows: np.ndarray) -> float:
        sizes.append(len(rows))
        return deviance(given.take(rows), eta[0])

    every = best(gram, given)
    monkeypatch.setattr("mercer._solvers.glm._FIRST_ROWS", 60)
    assert GLM(gram, [given], as_resampling(None, 120)).best(loss).alpha == every.alpha
    assert set(sizes) == {60, 120}
