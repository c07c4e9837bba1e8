"""Two-stage estimators leave out whole groups, exactly or on Nyström features."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut

from mercer import (
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.kernels import Gaussian

pytestmark = pytest.mark.filterwarnings("ignore:The best")
NYSTROEM: dict[str, Any] = {"approximation": "nystroem", "n_components": 60}


def effects(n_groups: int, size: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Responses of the first feature, and of a group that the others tell."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), size)
    marks, levels = rng.normal(size=(n_groups, 2)), rng.normal(size=n_groups)
    X = np.column_stack([rng.normal(size=groups.size), marks[groups]])
    X[:, 1:] += 0.02 * rng.normal(size=(groups.size, 2))
    return X, X[:, 0] + levels[groups] + 0.3 * rng.normal(size=groups.size), groups


def test_residuals_are_those_of_folds_of_one_group_each() -> None:
    X, y, groups = effects(9, 5, 0)
    learner = UniformCombination([Gaussian(2.0)])
    alphas = [0.01, 0.1, 1.0]
    found = TwoStageRegressor(learner, alpha=alphas).fit(X, y, groups=groups)
    listed = list(LeaveOneGroupOut().split(X, y, groups))
    folds = TwoStageRegressor(learner, alpha=alphas, cv=listed).fit(X, y)
    assert found.alpha_ == folds.alpha_
    assert_allclose(found.cv_residuals_, folds.cv_residuals_, atol=1e-8)


@pytest.mark.parametrize("learner", [None, "auto"])
def test_kernels_and_penalties_are_those_for_new_groups(learner: Any) -> None:
    X, y, groups = effects(25, 6, 0)
    new, expected, _ = effects(300, 1, 100)
    alone, together = (TwoStageRegressor(learner).fit(X, y, groups=g) for g in (None, groups))
    assert together.score(new, expected) > alone.score(new, expected) - 0.02
    assert best_score(together) < best_score(alone) - 0.1
    alone, together = (TwoStageClassifier(learner).fit(X, y > 0, groups=g) for g in (None, groups))
    assert best_score(together) < best_score(alone) - 0.05


def best_score(model: Any) -> float:
    return float(np.nanmax(model.cv_results_["mean_test_score"]))


def test_intervals_are_over_groups() -> None:
    covered = []
    for seed in range(3):
        X, y, groups = effects(20, 5, seed)
        new, expected, _ = effects(200, 1, 100 + seed)
        model = TwoStageRegressor().fit(X, y, groups=groups)
        low, high = model.predict_interval(new).T
        covered.append(np.mean((low <= expected) & (expected <= high)))
    assert 0.8 < np.mean(covered) < 0.97
    features = TwoStageRegressor(**NYSTROEM).fit(X, y, groups=groups)
    for fitted in (model, features):
        assert np.isinf(fitted.predict_interval(new, coverage=0.96)).all()


@pytest.mark.parametrize(
    "settings", [{"cv": GroupKFold(3)}, {}, NYSTROEM], ids=["folds", "exact", "features"]
)
def test_widths_of_intervals_are_quantiles_of_groups_of_equal_mass(settings: Any) -> None:
    X, y, _ = effects(90, 1, 0)
    groups, weights = np.minimum(np.arange(90) % 45, 20), 1.0 + np.arange(90) % 3
    model = TwoStageRegressor(UniformCombination([Gaussian(2.0)]), **settings)
    model.fit(X, y, weights, groups)
    rows = np.arange(90)
    if "cv" in settings:
        rows = np.concatenate([test for _, test in GroupKFold(3).split(X, y, groups)])
    sizes = np.abs(model.cv_residuals_)
    masses = (weights / np.bincount(groups, weights)[groups])[rows] / 22.0
    order = np.argsort(sizes)
    half = sizes[order][np.cumsum(masses[order]) >= 0.77][0]
    found = model.predict_interval(X[:3], 0.77, scale=None)
    assert_allclose(found - model.predict(X[:3])[:, None], [[-half, half]] * 3)


def test_folds_of_machines_divide_no_group() -> None:
    X, y, groups = effects(8, 6, 0)
    listed = TwoStageClassifier(cv=GroupKFold(4)).fit(X, y > 0, groups=groups)
    assert listed.cv_results_["split3_test_score"].size
    number = TwoStageClassifier(cv=4).fit(X, y > 0, groups=groups)
    assert "split3_test_score" in number.cv_results_
    with pytest.raises(ValueError, match="9 folds need as many groups; there are 8"):
        TwoStageClassifier(cv=9).fit(X, y > 0, groups=groups)


@pytest.mark.parametrize(
    "model",
    [KernelStackingRegressor(**NYSTROEM, max_samples=60), TwoStageRegressor(**NYSTROEM)],
    ids=lambda model: type(model).__name__,
)
def test_scores_on_features_are_nearer_to_those_for_new_groups(model: Any) -> None:
    X, y, groups = effects(30, 8, 0)
    new, expected, _ = effects(400, 1, 100)
    truth = model.fit(X, y, groups=groups).score(new, expected)
    found = score_of(model)
    flattery = score_of(model.fit(X, y)) - truth
    assert flattery > 0.05
    assert abs(found - truth) < 0.6 * flattery


def score_of(model: Any) -> float:
    return float(getattr(model, "loo_score_", None) or model.cv_results_["mean_test_score"].max())


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.zeros(24), "groups contains only one group"),
        (np.arange(23), "inconsistent numbers of samples"),
        (np.append(np.arange(23.0), np.nan), "groups contains NaN"),
        (np.array([None, *"ab" * 11, "a"], dtype=object), "groups contains None"),
    ],
)
def test_groups_that_cannot_work_are_refused(groups: Any, message: str) -> None:
    X, y, _ = effects(6, 4, 0)
    for estimator, target in ((TwoStageRegressor, y), (TwoStageClassifier, y > 0.0)):
        with pytest.raises(ValueError, match=message):
            estimator().fit(X, target, groups=groups)


@pytest.mark.filterwarnings("ignore:All samples of a class are in one group")
@pytest.mark.parametrize("estimator", [TwoStageRegressor, TwoStageClassifier])
def test_all_samples_but_one_may_be_a_group(estimator: Any) -> None:
    X, y, _ = effects(6, 4, 0)
    y = y > 0.0 if estimator is TwoStageClassifier else y
    model = estimator().fit(X, y, groups=np.arange(24) == 0)
    assert model.predict(X).shape == (24,)


def test_a_fold_without_a_class_is_said() -> None:
    X, _, groups = effects(3, 12, 0)
    with pytest.warns(UserWarning, match="holds out samples of a class, and trains on none of"):
        TwoStageClassifier(cv=KFold(3)).fit(X, groups)


def test_a_class_within_one_group_is_said() -> None:
    X, _, groups = effects(6, 5, 0)
    with pytest.warns(UserWarning, match="All samples of a class are in one group"):
        TwoStageClassifier().fit(X, np.minimum(groups, 2), groups=groups)
    with (
        pytest.warns(UserWarning, match="All samples of a class are in one group"),
        pytest.raises(ValueError, match="no fold trains on more than one class"),
    ):
        TwoStageClassifier().fit(X, groups > 2, groups=groups > 2)
