"""Folds that are given choose kernel and penalty."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import kernel_ridge
from sklearn.model_selection import GroupKFold, KFold, PredefinedSplit, TimeSeriesSplit
from two_stage_cases import isotropic, shuffled

from mercer._data.folds import sample_rows
from mercer._estimators.learners import ContinuousAlignment, UniformCombination
from mercer._estimators.two_stage import (
    TwoStageRegressor,
    kernel_choice,
    two_stage,
)
from mercer.kernels import Gaussian

pytestmark = pytest.mark.filterwarnings("ignore:The best")


def grouped(n_groups: int, size: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows that lie near the center of their group, and share its part of the response.

    Near rows are of the same group, so that leave-one-out errors are lowest where a narrow kernel
    remembers groups. Nothing but the center's first feature predicts other groups.
    """
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), size)
    centers, own = rng.normal(size=(n_groups, 2)), rng.normal(size=n_groups)
    X = centers[groups] + 0.05 * rng.normal(size=(len(groups), 2))
    return X, centers[groups, 0] + own[groups] + 0.1 * rng.normal(size=len(groups)), groups


def group_folds(X: np.ndarray, y: np.ndarray, groups: np.ndarray) -> list[Any]:
    return list(GroupKFold(5).split(X, y, groups))


def test_kernel_and_alpha_are_chosen_for_new_groups() -> None:
    scores = []
    for seed in range(4):
        X, y, groups = grouped(40, 6, seed)
        Z, z, _ = grouped(500, 1, 100 + seed)
        fits = [TwoStageRegressor(cv=cv).fit(X, y) for cv in (None, group_folds(X, y, groups))]
        scores.append([fitted.score(Z, z) for fitted in fits])
    alone, by_group = np.mean(scores, axis=0)
    assert alone < 0.2
    assert by_group > 0.35


# --- losses in folds, beside refits ------------------------------------------------------------


def refitted(
    gram: np.ndarray, y: np.ndarray, alpha: float, splits: Any, weights: np.ndarray
) -> tuple[list[float], list[float]]:
    """Mean squared errors of each fold: of ridge regression with an intercept, and of the mean."""
    errors, of_mean = [], []
    for train, test in splits:
        inside, outside = gram[np.ix_(train, train)], gram[np.ix_(test, train)]
        residuals = y[test] - kernel_ridge(inside, y[train], outside, alpha / weights[train])
        errors.append(float(np.average(residuals**2, weights=weights[test])))
        centered = y[test] - np.average(y[train], weights=weights[train])
        of_mean.append(float(np.average(centered**2, weights=weights[test])))
    return errors, of_mean


@pytest.mark.parametrize(
    ("cv", "weighted"),
    [
        (GroupKFold(5), True),
        (TimeSeriesSplit(4), False),
        (PredefinedSplit(np.where(np.arange(60) < 15, 0, -1)), True),
    ],
)
def test_losses_are_those_of_refits(cv: Any, weighted: bool) -> None:
    X, y, groups = grouped(12, 5, 0)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 60) if weighted else np.ones(60)
    weights /= weights.mean()
    sample_weight = weights if weighted else None
    splits = list(cv.split(X, y, groups if isinstance(cv, GroupKFold) else None))
    model = TwoStageRegressor(cv=splits).fit(X, y, sample_weight=sample_weight)
    if not weighted:
        assert model.cv_residuals_.shape == (sum(len(test) for _, test in splits),)
    variance = np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)
    for alpha in (0.1, 1.0, 10.0):
        errors, _ = refitted(model.kernel_(X), y, alpha, splits, weights)
        place = int(np.abs(model.cv_results_["param_alpha"] - alpha).argmin())
        for fold, error in enumerate(errors):
            found = model.cv_results_[f"split{fold}_test_score"][place]
            assert_allclose(found, 1.0 - error / variance, rtol=1e-7)
    for candidate in isotropic(X, y, "regression", sample_weight, splits=splits):
        kernel = (
            UniformCombination([candidate.kernel]).fit(X, y, sample_weight=sample_weight).kernel_
        )
        errors, of_mean = refitted(kernel(X), y, candidate.alpha, splits, weights)
        assert_allclose(candidate.loo_error, sum(errors) / sum(of_mean), rtol=1e-7)


def test_all_rows_are_compared_where_those_drawn_are_in_no_fold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The only fold holds out one row, which is not drawn."""
    X, y, _ = grouped(12, 5, 0)
    row = int(np.delete(np.arange(60), sample_rows(60, 12, None, 0))[0])
    splits = [(np.delete(np.arange(60), row), np.array([row]))]
    expected = isotropic(X, y, "regression", splits=splits)
    monkeypatch.setattr(kernel_choice, "SEARCH_ROWS", (12, 12))
    monkeypatch.setattr(kernel_choice, "FAMILY_ROWS", (12, 12))
    found = isotropic(X, y, "regression", splits=splits)
    assert [candidate.loo_error for candidate in found] == [
        candidate.loo_error for candidate in expected
    ]


# --- every kind of `cv` ------------------------------------------------------------------------


def test_iterators_and_numbers_of_folds() -> None:
    X, y, groups = grouped(12, 5, 0)
    listed = group_folds(X, y, groups)
    given = TwoStageRegressor(cv=listed).fit(X, y)
    once = TwoStageRegressor(cv=iter(listed)).fit(X, y)
    assert_array_equal(once.cv_residuals_, given.cv_residuals_)
    masks = [tuple(np.isin(np.arange(60), rows) for rows in pair) for pair in listed]
    masked = TwoStageRegressor(cv=masks).fit(X, y)
    assert masked.score(X, y) == given.score(X, y)
    numbered = TwoStageRegressor(cv=5).fit(X, y)
    by_content = TwoStageRegressor(cv=shuffled(5, X, y, KFold)).fit(X, y)
    assert_array_equal(numbered.cv_residuals_, by_content.cv_residuals_)
    assert "split4_test_score" not in TwoStageRegressor().fit(X, y).cv_results_


def test_a_given_learner_or_stack_has_its_alpha_chosen_in_folds() -> None:
    X, y, groups = grouped(12, 5, 0)
    counts = np.arange(60) % 3
    splits = group_folds(X, y, groups)
    kernels = [Gaussian(0.1), Gaussian(3.0)]
    table = TwoStageRegressor(UniformCombination(kernels), cv=splits)
    stack = TwoStageRegressor(UniformCombination("precomputed"), cv=splits)
    table.fit(X, y, sample_weight=counts)
    stack.fit(np.stack([k(X) for k in kernels], axis=2), y, sample_weight=counts)
    assert_allclose(
        stack.cv_results_["mean_test_score"], table.cv_results_["mean_test_score"], rtol=1e-6
    )
    assert len(table.cv_residuals_) == counts.sum()


def test_forms_are_compared_in_given_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []

    def recorded(*args: Any) -> ContinuousAlignment:
        found.append(args[-1])
        return ContinuousAlignment()

    monkeypatch.setattr(two_stage, "choose_form", recorded)
    X, y, groups = grouped(12, 5, 0)
    splits = group_folds(X, y, groups)
    TwoStageRegressor("auto", cv=splits).fit(X, y)
    TwoStageRegressor("auto").fit(X, y)
    assert found[1] is None
    for pair, given in zip(found[0], splits, strict=True):
        for part, rows in zip(pair, given, strict=True):
            assert_array_equal(part, rows)


def test_folds_choose_the_kernel_where_they_choose_no_penalty() -> None:
    X, y, groups = grouped(40, 6, 1)
    model = TwoStageRegressor(alpha=1.0)
    alone = model.fit(X, y).candidates_
    by_group = model.set_params(cv=group_folds(X, y, groups)).fit(X, y).candidates_
    model.set_params(cv=None)
    assert by_group[0].loo_error > 2.0 * alone[0].loo_error
