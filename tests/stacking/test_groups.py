"""Stacks leave out samples of a group together, or what a splitter holds out."""

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)
from stacking_cases import ESTIMATORS, problem, target_for

from mercer import ForestKernel, KernelStackingClassifier, KernelStackingRegressor
from mercer._gram.new_rows import largest_gap
from mercer.kernels import Gaussian, Laplacian

CANDIDATES = [Gaussian("median"), Laplacian("median")]


def effects(n_groups: int, n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Responses that depend on the first feature, and on a group that the others tell."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), n_rows)
    marks, levels = rng.normal(size=(n_groups, 3)), rng.normal(size=n_groups)
    X = np.column_stack([rng.normal(size=groups.size), marks[groups]])
    X[:, 1:] += 0.02 * rng.normal(size=(groups.size, 3))
    return X, X[:, 0] + levels[groups] + 0.3 * rng.normal(size=groups.size), groups


def test_scores_are_those_of_new_groups() -> None:
    found, truth, alone = [], [], []
    for seed in range(4):
        X, y, groups = effects(16, 8, seed)
        new, expected, _ = effects(200, 2, 100 + seed)
        model = KernelStackingRegressor(CANDIDATES).fit(X, y, groups=groups)
        found.append(model.loo_score_)
        truth.append(model.score(new, expected))
        alone.append(KernelStackingRegressor(CANDIDATES).fit(X, y).loo_score_)
    spread = np.std(np.subtract(found, truth), ddof=1) / 2.0
    assert abs(np.mean(found) - np.mean(truth)) < 3.0 * spread
    assert np.mean(alone) > np.mean(truth) + 0.1


def test_errors_are_relative_to_the_variance_across_groups() -> None:
    X, y, groups = effects(12, 5, 0)
    y = np.column_stack([y, np.square(y)])
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    model = KernelStackingRegressor(CANDIDATES).fit(X, y, weights, groups)
    scores = []
    for truth, predicted in zip(y.T, model.loo_predictions_.T, strict=True):
        pairs = [
            (weights[i] * weights[j], 0.5 * (truth[i] - truth[j]) ** 2)
            for i in range(len(y))
            for j in range(len(y))
            if groups[i] != groups[j]
        ]
        masses, halves = np.array(pairs).T
        error = np.average(np.square(truth - predicted), weights=weights)
        scores.append(1.0 - error / np.average(halves, weights=masses))
    assert_allclose(model.loo_score_, np.mean(scores), rtol=1e-10)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_labels_of_a_group_do_not_move_its_own_predictions(estimator: Any) -> None:
    X, y, groups = effects(12, 5, 0)
    y = y if estimator is KernelStackingRegressor else (y > 0).astype(int)
    # Folds that are drawn follow the labels, by which samples are put in order.
    folds = list(GroupKFold(3).split(X, y, groups))
    model = estimator(CANDIDATES, cv=folds).fit(X, y, groups=groups)
    changed = np.array(y)
    inside = groups == 3
    changed[inside] = (
        changed[inside][::-1] if estimator is KernelStackingRegressor else 1 - y[inside]
    )
    again = estimator(CANDIDATES, cv=folds).fit(X, changed, groups=groups)
    if estimator is KernelStackingRegressor:
        # Means and deviations of all responses stay.
        assert_allclose(again.loo_predictions_[inside], model.loo_predictions_[inside], atol=1e-6)
    else:
        # The frequencies of the classes are those of all samples.
        before, after = (np.log(m.loo_predictions_[inside, 1]) for m in (model, again))
        shift = np.log(changed.mean() / y.mean())
        assert np.abs(after - before).max() < 2.0 * abs(shift) + 1e-6


@pytest.mark.usefixtures("few_folds")
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_groups_of_one_are_no_groups(estimator: Any) -> None:
    X, y = problem(40)
    y = target_for(estimator, y)
    plain = estimator(CANDIDATES).fit(X, y)
    names = np.array([f"row {i}" for i in range(40)])
    assert_array_equal(
        estimator(CANDIDATES).fit(X, y, groups=names).loo_predictions_, plain.loo_predictions_
    )


@pytest.mark.usefixtures("few_folds")
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_names_and_order_of_groups_do_not_matter(estimator: Any) -> None:
    X, y, groups = effects(8, 6, 1)
    y = y if estimator is KernelStackingRegressor else y > 0
    found = estimator(CANDIDATES).fit(X, y, groups=groups)
    named = estimator(CANDIDATES).fit(X, y, groups=np.array(list("hbdafgec"))[groups])
    assert_array_equal(found.predict(X), named.predict(X))
    assert found.loo_score_ == named.loo_score_


@pytest.mark.parametrize(
    ("estimator", "cv", "n_uncovered"),
    [
        (KernelStackingClassifier, 3, 0),
        (KernelStackingRegressor, TimeSeriesSplit(3, gap=2), 12),
        (
            KernelStackingClassifier,
            PredefinedSplit(np.where(np.arange(45) < 20, -1, np.arange(45) % 2)),
            20,
        ),
        (KernelStackingRegressor, RepeatedKFold(n_splits=3, n_repeats=2, random_state=0), 0),
    ],
)
def test_folds_of_a_splitter_score_what_they_hold_out(
    estimator: Any, cv: Any, n_uncovered: int
) -> None:
    X, y = problem(45)
    model = estimator(CANDIDATES, cv=cv).fit(X, target_for(estimator, y))
    missing = np.isnan(model.loo_predictions_).reshape(45, -1).any(axis=1)
    assert missing.sum() == n_uncovered
    assert np.isfinite(model.loo_score_)


def test_errors_of_candidates_are_those_of_the_folds() -> None:
    X, y = problem(40)
    folds = list(TimeSeriesSplit(4).split(X))
    model = KernelStackingRegressor([Gaussian(2.0)], cv=TimeSeriesSplit(4)).fit(X, y)
    [found] = model.candidates_
    gram = Gaussian(2.0)(X)
    unit = np.trace(gram - gram.mean(axis=0)) / 40
    errors, baseline = [], []
    for train, test in folds:
        K = gram[np.ix_(train, train)] / unit
        A = np.block(
            [
                [K + found.alpha * np.eye(len(train)), np.ones((len(train), 1))],
                [np.ones((1, len(train))), np.zeros((1, 1))],
            ]
        )
        solution = np.linalg.solve(A, np.append(y[train], 0.0))
        predicted = gram[np.ix_(test, train)] / unit @ solution[:-1] + solution[-1]
        errors.append((y[test] - predicted) ** 2)
        baseline.append((y[test] - y[train].mean()) ** 2)
    assert_allclose(found.loo_error, np.mean(errors) / np.mean(baseline), rtol=1e-6)


def test_splitters_of_groups_get_them() -> None:
    X, y, groups = effects(9, 5, 2)
    model = KernelStackingRegressor(CANDIDATES, cv=GroupKFold(3)).fit(X, y, groups=groups)
    listed = list(GroupKFold(3).split(X, y, groups))
    again = KernelStackingRegressor(CANDIDATES, cv=listed).fit(X, y, groups=groups)
    assert_array_equal(model.loo_predictions_, again.loo_predictions_)
    with pytest.raises(ValueError, match="groups"):
        KernelStackingRegressor(CANDIDATES, cv=GroupKFold(3)).fit(X, y)


def test_intervals_cover_samples_of_new_groups() -> None:
    covered = []
    for seed in range(12):
        X, y, groups = effects(20, 4, seed)
        new, expected, _ = effects(150, 2, 100 + seed)
        model = KernelStackingRegressor(CANDIDATES).fit(X, y, groups=groups)
        low, high = model.predict_interval(new).T
        covered.append(np.mean((low <= expected) & (expected <= high)))
    assert 0.86 < np.mean(covered) < 0.96


@pytest.mark.usefixtures("few_folds")
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_copies_are_groups_of_their_own(estimator: Any) -> None:
    X, y = problem(40)
    y = target_for(estimator, y)
    rows = np.append(np.arange(40), np.arange(0, 40, 3))
    found, told, apart = (
        [c.loo_error for c in fit.candidates_ if "SVC" not in c.description]
        for fit in (
            estimator(CANDIDATES).fit(X[rows], y[rows], groups=groups)
            for groups in (None, rows, np.arange(len(rows)))
        )
    )
    assert_allclose(found, told)
    assert np.all(np.array(apart) < found)


def test_samples_of_a_group_are_not_near_to_each_other() -> None:
    X = np.array([[0.0], [0.1], [3.0], [3.1]])
    assert largest_gap(X) == pytest.approx(0.1)
    assert largest_gap(X, np.array([0, 0, 1, 1])) == pytest.approx(3.0)


def test_intervals_need_enough_groups() -> None:
    X, y, groups = effects(8, 10, 0)
    model = KernelStackingRegressor(CANDIDATES).fit(X, y, groups=groups)
    assert np.isinf(model.predict_interval(X[:2])).all()
    assert np.isfinite(model.predict_interval(X[:2], coverage=0.85)).all()


@pytest.mark.parametrize(
    ("cv", "known", "message"),
    [
        (None, {"groups": np.zeros(30)}, "groups contains only one group"),
        (None, {"groups": np.append(np.arange(29.0), np.nan)}, "groups contains NaN"),
        (31, {}, "n_samples=30"),
        ([(np.arange(20), np.arange(15, 30))], {}, "trains on samples that it holds out"),
        ([(np.arange(0), np.arange(20))], {}, "train on some samples and hold out some"),
        (
            [(np.arange(20), np.arange(20, 30))],
            {"sample_weight": np.arange(30) < 20},
            r"No fold of cv .* positive sample_weight",
        ),
    ],
)
def test_groups_and_folds_that_cannot_work_are_refused(cv: Any, known: Any, message: str) -> None:
    X, y = problem(30)
    with pytest.raises(ValueError, match=message):
        KernelStackingRegressor(cv=cv).fit(X, y, **known)


@pytest.mark.filterwarnings("ignore:A fold of cv holds out samples of a class")
def test_a_fold_may_train_on_one_class_if_another_trains_on_several() -> None:
    X, _ = problem(30)
    y = np.repeat([0, 1], [18, 12])
    one, both = (np.arange(18), np.arange(18, 30)), (np.arange(10, 30), np.arange(10))
    model = KernelStackingClassifier(CANDIDATES, cv=[one, both]).fit(X, y)
    assert np.isfinite(model.loo_predictions_[both[1]]).all()
    # Without any member, probabilities are the frequencies of the classes.
    assert_allclose(model.loo_predictions_[one[1]], [[0.6, 0.4]] * 12)
    with pytest.raises(ValueError, match="no fold trains on more than one class"):
        KernelStackingClassifier(CANDIDATES, cv=[one]).fit(X, y)


def test_kernels_that_memorize_labels_are_combined_by_rows_that_they_do_not_know() -> None:
    # A forest that is learned from 200 rows knows rows of nearly all groups.
    gains, kernel = [], Gaussian("median")
    for seed in range(6):
        X, y, groups = effects(60, 5, seed)
        rows = np.random.default_rng(seed).permutation(300)
        new, expected, _ = effects(400, 5, 100 + seed)
        scores = [
            KernelStackingRegressor(candidates, max_samples=200)
            .fit(X[rows], y[rows], groups=groups[rows])
            .score(new, expected)
            for candidates in ([kernel], [kernel, ForestKernel()])
        ]
        gains.append(scores[1] - scores[0])
    assert np.mean(gains) > 0.0


def test_a_fold_that_trains_on_one_row_predicts_its_response_or_the_frequencies_of_labels() -> None:
    X, y = problem(30)
    folds = [(np.arange(1), np.arange(20, 30)), (np.arange(10, 30), np.arange(10))]
    model = KernelStackingRegressor(CANDIDATES, cv=folds).fit(X, y)
    assert_allclose(model.loo_predictions_[20:], y[0])
    several = np.column_stack([y > 0.0, y > 1.0]).astype(int)
    labels = KernelStackingClassifier(CANDIDATES, cv=folds).fit(X, several)
    assert_allclose(labels.loo_predictions_[20:], [several.mean(axis=0)] * 10)


def test_a_fold_without_a_class_is_said() -> None:
    X, _ = problem(30)
    y = np.repeat([0, 1, 2], 10)
    with pytest.warns(UserWarning, match="holds out samples of a class, and trains on none of"):
        model = KernelStackingClassifier(CANDIDATES, cv=KFold(3)).fit(X, y)
    assert np.isfinite(model.loo_predictions_).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelStackingClassifier(CANDIDATES, cv=StratifiedKFold(3)).fit(X, y)
        # The class that a split does not train on is not among the samples that it predicts.
        splits = [(np.arange(15), np.arange(15, 20)), (np.arange(5, 30), np.arange(5))]
        KernelStackingClassifier(CANDIDATES, cv=splits).fit(X, y)


def test_a_class_within_one_group_is_said() -> None:
    X, _, groups = effects(6, 5, 0)
    with pytest.warns(UserWarning, match="All samples of a class are in one group"):
        model = KernelStackingClassifier(CANDIDATES).fit(X, np.minimum(groups, 2), groups=groups)
    assert np.isfinite(model.loo_predictions_).all()


@pytest.mark.parametrize("n_samples", [150, 250])
def test_folds_may_leave_out_few_rows_or_train_on_few(n_samples: int) -> None:
    # Among the rows that are compared, or that some folds hold out, folds may lack either part.
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_samples, 4))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n_samples)
    rows = np.random.default_rng(0).permutation(n_samples)
    for folds in (
        [(rows[40:], rows[:20]), (np.append(rows[:20], rows[40:]), rows[20:40])],
        [(rows[:2], rows[2:60]), (rows[:60], rows[60:])],
    ):
        held_out = np.unique(np.concatenate([test for _, test in folds]))
        model = KernelStackingRegressor(max_samples=100, cv=folds).fit(X, y)
        assert np.isfinite(model.predict(X)).all()
        assert_array_equal(np.flatnonzero(np.isfinite(model.loo_predictions_)), held_out)
