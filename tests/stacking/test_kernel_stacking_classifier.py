"""Stacked classification."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss
from stacking_cases import CLASS_RULE, labels, outputs, problem, viewed

from mercer import KernelStackingClassifier
from mercer._data.encoded_targets import encode_target
from mercer._data.folds import sample_rows, shuffled_folds
from mercer._data.resampling import Together
from mercer._data.sample import content_ranks
from mercer._estimators.stacking.candidates import given_candidates
from mercer._estimators.stacking.combination import LogisticCombination
from mercer._estimators.stacking.out_of_fold import FittedEstimator
from mercer.kernels import Gaussian, Laplacian, Linear

KERNELS = [Gaussian(2.0), Laplacian(3.0), Linear()]


@pytest.mark.usefixtures("few_folds")
@pytest.mark.parametrize(
    ("counts", "max_samples"),
    [((19, 1), 8), ((2, 1), 1500), ((10, 9, 1), 1500), ((18, 1, 1), 8), ((1, 1, 1), 1500)],
)
def test_classes_of_one_row(counts: tuple[int, ...], max_samples: int) -> None:
    y = np.repeat(np.arange(len(counts)), counts)
    X, _ = problem(len(y))
    for seed in range(3 if max_samples == 8 else 1):  # Draws may leave out a class.
        model = KernelStackingClassifier(KERNELS, max_samples=max_samples, random_state=seed)
        outputs(model.fit(X, y), X)
        assert_array_equal(model.classes_, np.arange(len(counts)))


@pytest.mark.usefixtures("few_folds")
def test_many_classes_of_few_rows() -> None:
    X, _ = problem(78, 5)
    y = np.arange(78) % 26
    X[:, 0] += y
    model = KernelStackingClassifier(KERNELS).fit(X, y)
    assert outputs(model, X).shape == (78, 26)
    assert model.loo_predictions_.shape == (78, 26)


def test_probabilities_are_better_than_frequencies_and_the_score_is_honest() -> None:
    X, y = problem(500, 5)
    y = labels(y)
    model = KernelStackingClassifier().fit(X[:120], y[:120])
    found = outputs(model, X[120:])
    frequencies = np.unique(y[:120], return_counts=True)[1] / 120
    assert log_loss(y[120:], found) < 0.7 * log_loss(y[120:], np.tile(frequencies, (380, 1)))
    assert abs(model.loo_score_ - model.score(X[120:], y[120:])) < 0.1
    assert_allclose(model.loo_predictions_.sum(axis=1), 1.0)
    guessed = model.classes_[model.loo_predictions_.argmax(axis=1)]
    assert_allclose(np.mean(guessed == y[:120]), model.loo_score_)
    assert_array_equal(np.sort(np.argsort(model.relevance_)[-2:]), [0, 1])


@pytest.mark.usefixtures("few_folds")
@pytest.mark.parametrize("several_labels", [False, True])
def test_mean_left_out_probabilities_are_weighted_frequencies(several_labels: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.digitize(X[:, 0] + rng.normal(size=60), [-1.5, 0.0])
    indicators, weights = np.eye(3, dtype=int)[y], np.where(y == 2, 2.0, 1.0)
    model = KernelStackingClassifier([Gaussian(2.0)])
    model.fit(X, indicators if several_labels else y, sample_weight=weights)
    found = np.average(model.loo_predictions_, axis=0, weights=weights)
    assert_allclose(found, np.average(indicators, axis=0, weights=weights), atol=0.03)


def test_a_machine_on_the_best_kernel_is_a_member() -> None:
    X, y = problem(80)
    model = KernelStackingClassifier(KERNELS).fit(X, labels(y))
    [machine] = [c for c in model.candidates_ if c.description.startswith("SVC on")]
    assert machine.weight > 0.0
    best = min(model.candidates_[: len(KERNELS)], key=lambda c: c.loo_error)
    assert machine.description == f"SVC on {best.description}"
    assert sum(isinstance(m.predictor, FittedEstimator) for m in model._members) == 1


def test_candidates_are_compared_on_some_samples_and_combined_by_all() -> None:
    X, y = problem(90)
    y = labels(y)
    model = KernelStackingClassifier(KERNELS, max_samples=40).fit(X, y)
    one = Together(90, ranks=content_ranks(X, y))
    target = encode_target(y, classification=True, resampling=one)
    table, rows = viewed(X, y, target), sample_rows(90, 40, target.codes, 0, one.ranks)
    # A fit to these rows alone would put them in another order, and draw other folds.
    kept = CLASS_RULE.select(given_candidates(KERNELS, X), table.take(rows)).kept
    deviations = [e.left_out_deviations(table) for e in kept]
    expected = CLASS_RULE.combine(deviations, target)
    assert isinstance(expected, LogisticCombination)
    used = expected.used
    assert_allclose(model._combination.slopes, expected.slopes[used], rtol=1e-6, atol=1e-9)
    assert_allclose(model._combination.intercepts, expected.intercepts, atol=1e-9)


@pytest.mark.usefixtures("few_folds")
def test_left_out_probabilities_are_of_stacks_that_were_chosen_without_the_fold() -> None:
    X, y = problem(60)
    y = labels(y)
    model = KernelStackingClassifier(KERNELS).fit(X, y)
    one = Together(60, ranks=content_ranks(X, y))
    target = encode_target(y, classification=True, resampling=one)
    table = viewed(X, y, target)
    for train, test in shuffled_folds(60, 2, target.codes, 0, one.ranks):
        found = CLASS_RULE.select(given_candidates(KERNELS, X), table.take(train))
        deviations = [e.left_out_deviations(table)[test] for e in found.kept]
        expected = found.combination.combine(deviations, target.mean)
        assert_allclose(model.loo_predictions_[test], expected, rtol=1e-9)
        alone = KernelStackingClassifier(KERNELS).fit(X[train], y[train])
        # Those of machines are chosen in folds by an order of contents, which is another in a part.
        alphas = [c.alpha for c in alone.candidates_[: len(KERNELS)]]
        assert alphas == [e.solver.alpha for e in found.evaluations[: len(KERNELS)]]
