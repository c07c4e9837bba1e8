"""Stacks whose candidates are ranked by a scorer of scikit-learn."""

from itertools import count
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import center, left_out_kernel_ridge
from sklearn.metrics import (
    balanced_accuracy_score,
    get_scorer,
    log_loss,
    make_scorer,
    mean_absolute_error,
    roc_auc_score,
    roc_curve,
)
from sklearn.model_selection import FixedThresholdClassifier, TimeSeriesSplit
from stacking_cases import labels, problem, ridge_evaluation, viewed

from mercer import KernelStackingClassifier, KernelStackingRegressor
from mercer._data.encoded_targets import encode_target
from mercer._data.resampling import Together
from mercer._data.sample import content_ranks
from mercer._estimators.stacking.combination import combination_folds
from mercer._estimators.stacking.default_estimators import best_machine
from mercer._model_selection.scoring import LeftOutProbabilities, LeftOutResponses
from mercer.kernels import Gaussian, Laplacian, Linear

KERNELS = [Gaussian(2.0), Laplacian(3.0), Linear()]
MANY = [*KERNELS, Gaussian(0.5), Laplacian(1.0), Gaussian(8.0), Laplacian(20.0)]


def test_scores_of_candidates_are_those_of_refits_without_each_sample() -> None:
    X, y = problem(30)
    model = KernelStackingRegressor(KERNELS, scoring="neg_mean_absolute_error").fit(X, y)
    for candidate in model.candidates_:
        K = candidate.kernel(X)
        penalty = candidate.alpha * np.trace(center(K)) / len(X)
        left_out = left_out_kernel_ridge(K, y, penalty, K[:1]).T[0]
        assert_allclose(candidate.score, -mean_absolute_error(y, left_out), rtol=1e-6)


@pytest.mark.parametrize(("n_outputs", "cv"), [(0, None), (2, TimeSeriesSplit(4))])
def test_the_score_is_that_of_left_out_responses(n_outputs: int, cv: Any) -> None:
    X, y = problem(60)
    y = np.column_stack([y, X[:, 2]]) if n_outputs else y
    w = np.random.default_rng(1).integers(0, 3, 60).astype(float)
    scorer = get_scorer("neg_mean_absolute_error")
    model = KernelStackingRegressor(KERNELS, scoring=scorer, cv=cv).fit(X, y, w)
    known = np.isfinite(model.loo_predictions_.reshape(60, -1)[:, 0])
    kept = np.flatnonzero(known & (w > 0.0))
    given = LeftOutResponses(model.loo_predictions_[kept])
    rows = np.arange(len(kept))
    expected = scorer(given, rows, y[kept], sample_weight=w[kept])
    assert_allclose(model.loo_score_, expected)


def test_the_score_is_that_of_left_out_probabilities(few_folds: None) -> None:
    X, y = problem(60)
    y, w = labels(y), np.random.default_rng(1).uniform(0.5, 2.0, 60)
    model = KernelStackingClassifier(KERNELS, scoring="neg_log_loss").fit(X, y, w)
    given = LeftOutProbabilities(model.loo_predictions_, model.classes_)
    expected = get_scorer("neg_log_loss")(given, np.arange(60), y, sample_weight=w)
    assert_allclose(model.loo_score_, expected)
    # The best five ridge regressions are kept, and the machine on the best kernel.
    found = model.candidates_[: len(KERNELS)]
    assert [c.score for c in found] == sorted((c.score for c in found), reverse=True)
    assert model.candidates_[-1].description == "SVC on " + found[0].description


def test_candidates_that_know_nothing_score_no_worse_than_the_frequencies(few_folds: None) -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 4 > 0
    model = KernelStackingClassifier(KERNELS, scoring="neg_log_loss").fit(X, y)
    entropy = log_loss(y, np.tile([0.25, 0.75], (60, 1)))
    assert all(candidate.score > -entropy - 1e-6 for candidate in model.candidates_)


def test_areas_under_curves_are_means_over_folds(few_folds: None) -> None:
    X, y = problem(60)
    y, w = labels(y), np.random.default_rng(1).uniform(0.5, 2.0, 60)
    model = KernelStackingClassifier(KERNELS, scoring="roc_auc_ovr").fit(X, y, w)
    given = LeftOutProbabilities(model.loo_predictions_, model.classes_)
    one = Together(60, ranks=content_ranks(X, y))
    target = encode_target(y, classification=True, weights=w / w.mean(), resampling=one)
    expected = [
        get_scorer("roc_auc_ovr")(given, test, y[test], sample_weight=w[test])
        for _, test in combination_folds(target, 0)
    ]
    assert len(expected) == 2
    assert_allclose(model.loo_score_, np.mean(expected))


def test_folds_of_one_class_have_no_area(few_folds: None) -> None:
    X, y = problem(60)
    y = np.where(np.arange(60) % 20 < 8, 0, (y > 0.6).astype(int))
    ends = [np.arange(start, start + 8) for start in (0, 20, 40)]
    mixed = [np.arange(8, 20), np.arange(28, 40), np.arange(48, 60)]
    # Each trains on some of the others, so that folds are combined as they are given.
    folds = [(np.setdiff1d(np.arange(1, 60), test), test) for test in (*ends, *mixed)]
    model = KernelStackingClassifier(KERNELS, scoring="roc_auc", cv=folds).fit(X, y)
    areas = [roc_auc_score(y[test], model.loo_predictions_[test, 1]) for test in mixed]
    assert_allclose(model.loo_score_, np.mean(areas))


def test_a_rank_score_of_two_classes_is_that_of_the_left_out_deviations(few_folds: None) -> None:
    X, y = problem(60)
    y = np.where(y > 0.6, 1, 0)
    model = KernelStackingClassifier(KERNELS, scoring="roc_auc").fit(X, y)
    for candidate in model.candidates_[: len(KERNELS)]:
        K = candidate.kernel(X)
        penalty = candidate.alpha * np.trace(center(K)) / len(X)
        left_out = left_out_kernel_ridge(K, y.astype(float), penalty, K[:1]).T[0]
        means = (y.sum() - y) / 59
        assert_allclose(candidate.score, roc_auc_score(y, left_out - means), atol=1e-12)


def test_the_scorer_decides_which_candidates_are_kept() -> None:
    X, y = problem(60)
    plain = KernelStackingRegressor(MANY).fit(X, y)
    squared = KernelStackingRegressor(MANY, scoring="neg_mean_squared_error").fit(X, y)
    errors = np.array([c.loo_error for c in plain.candidates_])
    assert_allclose([c.loo_error for c in squared.candidates_], errors)
    scores = np.array([c.score for c in squared.candidates_])
    assert_array_equal(np.argsort(scores), np.argsort(-errors))
    # Where more error is better, the worst candidate is the whole stack.
    worst = KernelStackingRegressor(MANY, scoring=make_scorer(mean_absolute_error)).fit(X, y)
    kept = [c for c in worst.candidates_ if c.weight]
    assert [c.score for c in kept] == [max(c.score for c in worst.candidates_)]


def test_the_fewest_candidates_are_kept_where_scores_are_equal_up_to_rounding() -> None:
    X, y = problem(40)
    both, calls = [Gaussian(8.0), Gaussian(2.0)], count()
    assert len(KernelStackingRegressor(both).fit(X, y).kernels_) == 2
    equal = KernelStackingRegressor(both, scoring=lambda *_: 1.0 + 1e-14 * next(calls))
    assert len(equal.fit(X, y).kernels_) == 1


def test_classifiers_keep_the_five_of_highest_score(few_folds: None) -> None:
    X, y = problem(60)
    y = np.where(y > 0.6, 1, 0)
    least = make_scorer(roc_auc_score, response_method="predict_proba", greater_is_better=False)
    best, worst = (
        KernelStackingClassifier(MANY, scoring=s).fit(X, y).candidates_[:7]
        for s in ("roc_auc", least)
    )
    assert [c.description for c in best] != [c.description for c in worst]
    for candidates in (best, worst):
        assert [c.weight for c in candidates[5:]] == [0.0, 0.0]
        scores = [c.score for c in candidates]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    ("estimator", "scoring", "message"),
    [
        (KernelStackingRegressor, "balance", "'balance' is not a valid scoring value"),
        (KernelStackingRegressor, "roc_auc", "'roc_auc' does not suit this target"),
        (KernelStackingClassifier, "r2", "'r2' does not suit this target: could not convert"),
        (KernelStackingClassifier, "roc_auc", "multi_class must be in"),
        (KernelStackingRegressor, "neg_mean_squared_log_error", "less than|negative"),
    ],
)
def test_scorers_that_do_not_suit_the_target_are_refused(
    estimator: Any, scoring: str, message: str
) -> None:
    X, y = problem(40)
    y = y if estimator is KernelStackingRegressor else labels(y)
    with pytest.raises(ValueError, match=message):
        estimator(KERNELS, scoring=scoring).fit(X, y - 5.0 if y.dtype.kind == "f" else y)


def test_a_candidate_whose_score_is_nan_is_left_out_with_its_name() -> None:
    X, y = problem(40)
    linear = KernelStackingRegressor([Linear()], scoring="neg_mean_absolute_error").fit(X, y)
    error = -linear.candidates_[0].score

    def no_scores(model: Any, X: Any, y: np.ndarray) -> float:
        found = mean_absolute_error(y, model.predict(X))
        return float("nan") if found > 0.999 * error else -found

    with pytest.warns(UserWarning, match=r"'Linear.*' is left out: its score is nan"):
        model = KernelStackingRegressor(KERNELS, scoring=no_scores).fit(X, y)
    assert all("Linear" not in c.description for c in model.candidates_)
    message = "No candidate could be evaluated"
    with (
        pytest.warns(UserWarning, match="its score is nan"),
        pytest.raises(ValueError, match=message),
    ):
        KernelStackingRegressor(KERNELS, scoring=lambda *_: np.nan).fit(X, y)


@pytest.mark.filterwarnings("ignore:A fold of cv holds out samples of a class")
def test_the_score_is_nan_where_no_row_of_a_class_is_held_out() -> None:
    X, y = problem(80)
    y = np.where(np.arange(80) < 15, 2, (y > 0.6).astype(int))
    model = KernelStackingClassifier(KERNELS, scoring="neg_log_loss", cv=TimeSeriesSplit(4))
    with pytest.warns(UserWarning, match="loo_score_ is NaN, because the scorer fails"):
        model.fit(X, y)
    assert np.isnan(model.loo_score_)
    assert all(np.isfinite(c.score) for c in model.candidates_)


def test_candidates_of_large_tables_are_ranked_on_the_rows_that_are_drawn() -> None:
    X, y = problem(120)
    model = KernelStackingRegressor(
        MANY, scoring="r2", approximation="nystroem", n_components=30, max_samples=40
    ).fit(X, y)
    given = LeftOutResponses(model.loo_predictions_)
    assert_allclose(model.loo_score_, get_scorer("r2")(given, np.arange(120), y))
    scores = [c.score for c in model.candidates_]
    assert model.candidates_[int(np.argmax(scores))].weight > 0.0


def test_relevance_is_learned_on_the_view_of_the_highest_score(few_folds: None) -> None:
    X, y = problem(60)
    views = []
    for scoring in ("neg_mean_absolute_error", make_scorer(mean_absolute_error)):
        found = KernelStackingRegressor(scoring=scoring).fit(np.exp(2.0 * X), y).candidates_
        best = max(found[:6], key=lambda candidate: candidate.score)
        views.append(best.description.split(" on ")[1])
        assert all(candidate.description.endswith(views[-1]) for candidate in found[6:])
    assert views == ["normal quantiles", "scaled features"]


def test_the_score_chooses_among_machines() -> None:
    X, y = problem(40)
    y = labels(y)
    target = encode_target(y, classification=True)
    kernel = Gaussian(2.0)
    deviations = np.zeros_like(target.values)
    found = ridge_evaluation(kernel, 1.0, deviations)
    table, seen = viewed(X, y, target), []

    def latest(deviations: np.ndarray) -> float:
        seen.append(deviations)
        return float(len(seen))

    chosen = best_machine(found, table, 0, latest)
    assert [machine.score for machine in chosen] == [len(seen)]
    assert len({values.tobytes() for values in seen}) > 1
    assert_array_equal(chosen[0].deviations, seen[-1])
    first = best_machine(found, table, 0, lambda values: -latest(values))
    assert_array_equal(first[0].deviations, seen[0])
    equal = best_machine(found, table, 0, lambda values: 1.0)
    assert_array_equal(equal[0].deviations, seen[0])
    assert best_machine(found, table, 0, lambda values: float("nan")) == []


def best_threshold(y: np.ndarray, probabilities: np.ndarray) -> tuple[float, float]:
    """The threshold of highest balanced accuracy, and what it is."""
    false, true, thresholds = roc_curve(y, probabilities[:, 1])
    best = np.argmax(true - false)
    return float(thresholds[best]), float(0.5 * (1.0 + true - false)[best])


def test_thresholds_of_left_out_probabilities_do_not_fit_noise() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1200, 3)), rng.permutation(np.arange(1200) % 4 == 0).astype(int)
    narrow = [Gaussian(0.5), Gaussian(1.0), Laplacian(1.0)]
    model = KernelStackingClassifier(narrow).fit(X[:200], y[:200])
    threshold, promised = best_threshold(y[:200], model.loo_predictions_)
    # The best of all thresholds exceeds one half by more than .11 for one noise in twenty.
    assert promised < 0.61
    tuned = FixedThresholdClassifier(model, threshold=threshold)
    assert tuned.predict(X[200:]).any()
    assert abs(balanced_accuracy_score(y[200:], tuned.predict(X[200:])) - 0.5) < 0.05
    # Probabilities that have seen the labels promise all but certainty.
    assert best_threshold(y[:200], model.predict_proba(X[:200]))[1] > 0.9
