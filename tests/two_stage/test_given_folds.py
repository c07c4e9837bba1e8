"""Folds that are given choose kernel and penalty; settings without effect are refused."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import kernel_ridge
from sklearn.model_selection import GroupKFold, KFold, PredefinedSplit, TimeSeriesSplit
from sklearn.svm import SVC, SVR
from two_stage_cases import isotropic, shuffled

from mercer._data.folds import sample_rows
from mercer._estimators.learners import ContinuousAlignment, UniformCombination
from mercer._estimators.two_stage import (
    TwoStageClassifier,
    TwoStageRegressor,
    learner_choice,
    two_stage,
    two_stage_classifier,
)
from mercer.kernels import Gaussian, Laplacian

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


def on_new_groups(model: Any, classes: bool = False) -> tuple[float, float]:
    """Mean scores on new groups of a default estimator, and of one with folds of groups."""
    scores = []
    for seed in range(4):
        X, y, groups = grouped(40, 6, seed)
        Z, z, _ = grouped(500, 1, 100 + seed)
        if classes:
            y, z = y > 0.0, z > 0.0
        fits = [model(cv=cv).fit(X, y) for cv in (None, group_folds(X, y, groups))]
        assert fits[0].kernel_ != fits[1].kernel_
        scores.append([fitted.score(Z, z) for fitted in fits])
    alone, by_group = np.mean(scores, axis=0)
    return alone, by_group


def test_a_regressor_chooses_kernel_and_alpha_by_folds_of_groups() -> None:
    alone, by_group = on_new_groups(TwoStageRegressor)
    assert alone < 0.2
    assert by_group > 0.35


def test_a_classifier_chooses_kernel_and_c_by_folds_of_groups() -> None:
    alone, by_group = on_new_groups(TwoStageClassifier, classes=True)
    assert by_group > alone + 0.02


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


def cases() -> Iterator[Any]:
    X, y, groups = grouped(12, 5, 0)
    yield pytest.param(group_folds(X, y, groups), id="groups")
    yield pytest.param(TimeSeriesSplit(4), id="time")
    yield pytest.param(PredefinedSplit(np.where(groups < 3, 0, -1)), id="one part")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cv", list(cases()))
def test_losses_are_those_of_refits(cv: Any, weighted: bool) -> None:
    X, y, _ = grouped(12, 5, 0)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 60) if weighted else np.ones(60)
    weights /= weights.mean()
    sample_weight = weights if weighted else None
    model = TwoStageRegressor(cv=cv).fit(X, y, sample_weight=sample_weight)
    splits = list(cv.split(X)) if hasattr(cv, "split") else cv
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
        kernel = candidate.learner.fit(X, y, sample_weight=sample_weight).kernel_
        errors, of_mean = refitted(kernel(X), y, candidate.alpha, splits, weights)
        assert_allclose(candidate.loo_error, sum(errors) / sum(of_mean), rtol=1e-7)


def test_no_other_width_or_alpha_is_better_in_the_folds() -> None:
    X, y, groups = grouped(12, 5, 0)
    splits = group_folds(X, y, groups)
    best = isotropic(X, y, "regression", splits=splits)[0]
    for family in (Gaussian, lambda width: Laplacian(width, norm=1.0)):
        for width in 2.0 ** np.arange(-2.0, 5.0):
            kernel = UniformCombination([family(width)]).fit(X, y).kernel_
            for alpha in 10.0 ** np.arange(-5.0, 4.0):
                errors, of_mean = refitted(kernel(X), y, alpha, splits, np.ones(60))
                assert best.loo_error < 1.01 * sum(errors) / sum(of_mean)


def test_all_rows_are_compared_where_those_drawn_are_in_no_fold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The only fold holds out one row, which is not drawn."""
    X, y, _ = grouped(12, 5, 0)
    row = int(np.delete(np.arange(60), sample_rows(60, 12, None, 0))[0])
    splits = [(np.delete(np.arange(60), row), np.array([row]))]
    expected = isotropic(X, y, "regression", splits=splits)
    monkeypatch.setattr(learner_choice, "SEARCH_ROWS", (12, 12))
    monkeypatch.setattr(learner_choice, "FAMILY_ROWS", 12)
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


@pytest.mark.parametrize("weights", [None, "some are zero"])
def test_a_given_learner_or_stack_has_its_alpha_chosen_in_folds(weights: str | None) -> None:
    X, y, groups = grouped(12, 5, 0)
    counts = None if weights is None else np.arange(60) % 3
    splits = group_folds(X, y, groups)
    kernels = [Gaussian(0.1), Gaussian(3.0)]
    table = TwoStageRegressor(UniformCombination(kernels), cv=splits)
    stack = TwoStageRegressor(UniformCombination("precomputed"), cv=splits)
    table.fit(X, y, sample_weight=counts)
    stack.fit(np.stack([k(X) for k in kernels], axis=2), y, sample_weight=counts)
    assert_allclose(
        stack.cv_results_["mean_test_score"], table.cv_results_["mean_test_score"], rtol=1e-6
    )
    assert len(table.cv_residuals_) == (60 if counts is None else counts.sum())


def test_splitters_are_given_the_responses() -> None:
    class Halves:
        def split(self, X: Any, y: Any = None, groups: Any = None) -> list[Any]:
            low = y < np.median(y)
            return [(np.flatnonzero(~low), np.flatnonzero(low))]

    X, y, _ = grouped(12, 5, 0)
    model = TwoStageRegressor(cv=Halves(), alpha=[1.0]).fit(X, y)
    assert model.cv_residuals_.shape == (30,)


@pytest.mark.parametrize("estimator", [TwoStageRegressor, TwoStageClassifier])
def test_forms_are_compared_in_given_folds(monkeypatch: pytest.MonkeyPatch, estimator: Any) -> None:
    found: list[Any] = []

    def recorded(*args: Any) -> ContinuousAlignment:
        found.append(args[-1])
        return ContinuousAlignment()

    monkeypatch.setattr(two_stage, "choose_form", recorded)
    X, y, groups = grouped(12, 5, 0)
    y = y if estimator is TwoStageRegressor else y > 0.0
    splits = group_folds(X, y, groups)
    estimator("auto", cv=splits).fit(X, y)
    estimator("auto").fit(X, y)
    assert found[1] is None
    for pair, given in zip(found[0], splits, strict=True):
        for part, rows in zip(pair, given, strict=True):
            assert_array_equal(part, rows)


@pytest.mark.parametrize(
    "model",
    [
        TwoStageRegressor(alpha=1.0),
        TwoStageRegressor(predictor=SVR(kernel="precomputed")),
        TwoStageClassifier(C=1.0),
        TwoStageClassifier(predictor=SVC(kernel="precomputed")),
    ],
    ids=str,
)
def test_folds_choose_the_kernel_where_they_choose_no_penalty(model: Any) -> None:
    X, y, groups = grouped(40, 6, 1)
    y = y if isinstance(model, TwoStageRegressor) else y > 0.0
    alone = model.fit(X, y).candidates_
    by_group = model.set_params(cv=group_folds(X, y, groups)).fit(X, y).candidates_
    model.set_params(cv=None)
    assert by_group[0].loo_error > 2.0 * alone[0].loo_error


def test_machines_of_labels_choose_kernel_and_c_in_given_folds() -> None:
    X, y, groups = grouped(40, 6, 1)
    Y = np.column_stack([y > 0.0, X[:, 0] > 0.0, y > 1.0]).astype(int)
    splits = group_folds(X, y, groups)
    alone, by_group = (TwoStageClassifier(cv=cv).fit(X, Y) for cv in (None, splits))
    assert by_group.kernel_ != alone.kernel_
    scores = [model.cv_results_["mean_test_score"].max() for model in (alone, by_group)]
    assert scores[1] < scores[0]


def test_machines_of_labels_have_folds_of_all_rows_that_were_given() -> None:
    X, y, groups = grouped(12, 5, 0)
    Y = np.column_stack([y > 0.0, X[:, 0] > 0.0, y > 1.0]).astype(int)
    kept = np.arange(60) % 3 > 0
    learner = UniformCombination([Gaussian(1.0)])
    weighted = TwoStageClassifier(learner, cv=group_folds(X, y, groups))
    weighted.fit(X, Y, sample_weight=kept.astype(float))
    part = [(train[kept[train]], test[kept[test]]) for train, test in group_folds(X, y, groups)]
    inside = [tuple(np.searchsorted(np.flatnonzero(kept), rows) for rows in pair) for pair in part]
    expected = TwoStageClassifier(learner, cv=inside).fit(X[kept], Y[kept])
    assert_allclose(
        weighted.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"], rtol=1e-12
    )


# --- what is refused, before any work ----------------------------------------------------------


class Untouched(UniformCombination):
    """A learner that no fit may reach."""

    def fit(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("the learner was fitted")


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("learners were compared")

    for name in ("isotropic_learners", "choose_form"):
        monkeypatch.setattr(two_stage, name, refuse)
    monkeypatch.setattr(two_stage_classifier, "isotropic_learners", refuse)


REGRESSION, CLASSES = grouped(12, 5, 0)[:2], grouped(12, 5, 0)[1] > 0.0
LABELS = np.column_stack([CLASSES, ~CLASSES, CLASSES]).astype(int)
PROBLEMS = [
    (TwoStageRegressor, REGRESSION[1]),
    (TwoStageClassifier, CLASSES),
    (TwoStageClassifier, LABELS),
]
CONFIGURATIONS: list[dict[str, Any]] = [
    {},
    {"learner": "auto"},
    {"learner": Untouched()},
    {"learner": Untouched(), "nested": False},
]


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("settings", CONFIGURATIONS, ids=str)
@pytest.mark.parametrize(("estimator", "y"), PROBLEMS)
@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ("nonsense", "Expected `cv` as an integer, a cross-validation object"),
        (5.0, "Expected `cv` as an integer"),
        (1, "cv must be at least 2 folds; got cv=1"),
        (GroupKFold(5), "The 'groups' parameter should not be None"),
        (np.arange(60) % 5, "cv lists what is no pair of training and held-out samples"),
        ([(np.arange(30), [])], "Each fold of cv must train on some samples and hold out some"),
        ([], "Each fold of cv must train on some samples"),
    ],
    ids=str,
)
def test_what_stands_for_no_folds_is_refused(
    settings: dict[str, Any], estimator: Any, y: Any, cv: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        estimator(**settings, cv=cv).fit(REGRESSION[0], y)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("estimator", "y"), PROBLEMS)
def test_rows_that_are_not_there_are_refused(estimator: Any, y: Any) -> None:
    with pytest.raises(IndexError, match="index 60 is out of bounds"):
        estimator(cv=[(np.arange(30), np.arange(30, 61))]).fit(REGRESSION[0], y)


LISTED = [(np.arange(30), np.arange(30, 60))]
SVM: dict[str, Any] = {"predictor": SVC(kernel="precomputed")}
SVR_: dict[str, Any] = {"predictor": SVR(kernel="precomputed")}


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (model, y, message)
        for approximate in [{"approximation": "nystroem"}]
        for model, y, message in [
            (TwoStageRegressor(cv=5, **approximate), 0, "cv has no effect on Nyström features"),
            (TwoStageClassifier(cv=LISTED, **approximate), 1, "cv has no effect on Nyström"),
            (TwoStageRegressor(nested=True, **approximate), 0, "nested has no effect on Nyström"),
            (TwoStageClassifier(nested=True, **approximate), 1, "nested has no effect on Nyström"),
            (TwoStageClassifier(C=1.0, **approximate), 1, "C has no effect on Nyström"),
            (TwoStageRegressor(Untouched(), cv=5, **SVR_), 0, "cv .* where a predictor is given"),
            (TwoStageClassifier(Untouched(), cv=5, **SVM), 1, "cv .* where a predictor is given"),
            (TwoStageRegressor(alpha=1.0, **SVR_), 0, "alpha .* where a predictor is given"),
            (TwoStageRegressor(nested=True, **SVR_), 0, "nested .* where a predictor is given"),
            (TwoStageClassifier(C=1.0, **SVM), 1, "C .* where a predictor is given"),
            (TwoStageClassifier(nested=True, **SVM), 1, "nested .* where a predictor is given"),
            (
                TwoStageRegressor(Untouched(), alpha=1.0, cv=LISTED),
                0,
                r"cv has no effect where alpha is a number: .* or pass alpha=\[1.0\]",
            ),
            (TwoStageRegressor(alpha=1.0, nested=True), 0, "nested .* where alpha is a number"),
            (TwoStageClassifier(nested=True), 2, "nested .* where samples have several labels"),
        ]
    ],
)
def test_settings_without_effect_are_refused(model: Any, y: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.fit(REGRESSION[0], PROBLEMS[y][1])


def test_five_folds_are_fewer_where_samples_are() -> None:
    X, y, _ = grouped(3, 1, 0)
    assert TwoStageRegressor(UniformCombination(), nested=True).fit(X, y).cv_residuals_.size == 3
    with pytest.raises(ValueError, match="cv=5 folds need as many samples; there are 3"):
        TwoStageRegressor(cv=5).fit(X, y)
