"""The two-stage regressor, and the residuals that bound its intervals."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import left_out_kernel_ridge
from sklearn.base import clone
from sklearn.datasets import make_regression
from sklearn.model_selection import ShuffleSplit

from mercer import (
    ContinuousAlignment,
    EvidenceMaximization,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer._data.resampling import left_out_together
from mercer._data.sample import content_ranks
from mercer._estimators.two_stage import exact_stages
from mercer._estimators.two_stage.exact_stages import LeftOutChoice
from mercer._gram.dense import unit_gram
from mercer._solvers.left_out import ALPHA_GRID, leave_one_out
from mercer.kernels import Gaussian


@pytest.mark.filterwarnings("ignore:The best")
def test_alpha_is_chosen_by_leave_one_out(regression):
    X, y = regression
    grid = [1e-3, 1e-2, 0.1, 1.0]
    learner = UniformCombination([Gaussian(1.0), Gaussian(3.0)])
    model = TwoStageRegressor(learner, alpha=grid).fit(X, y)
    gram = model.kernel_(X)
    errors = [np.mean((y - left_out_kernel_ridge(gram, y, a)) ** 2) for a in grid]
    order = np.searchsorted(grid, model.cv_results_["param_alpha"])
    np.testing.assert_allclose(
        model.cv_results_["mean_test_score"], 1.0 - np.array(errors)[order] / y.var(), rtol=1e-7
    )
    assert model.alpha_ == grid[int(np.argmin(errors))]
    residuals = y - left_out_kernel_ridge(gram, y, model.alpha_)
    np.testing.assert_allclose(np.abs(model.cv_residuals_), np.abs(residuals), rtol=1e-6)


def test_alpha_does_not_depend_on_the_units_of_the_outputs(regression):
    X, y = regression
    Y = np.column_stack([y, X[:, 0]])
    learner = UniformCombination([Gaussian(3.0)])
    plain = TwoStageRegressor(learner).fit(X, Y)
    other = TwoStageRegressor(learner).fit(X, Y * [1.0, 1e4])
    assert plain.alpha_ == other.alpha_


@pytest.mark.filterwarnings("ignore:The best")
def test_nested_regression_scores(regression, learned_in_folds):
    X, y = regression
    cv = ShuffleSplit(3, random_state=0)
    model = TwoStageRegressor(ContinuousAlignment(), cv=cv, alpha=[0.01, 0.1]).fit(X, y)
    for i, alpha in enumerate(model.cv_results_["param_alpha"]):
        for fold, (train, test) in enumerate(cv.split(X)):
            outer = TwoStageRegressor(ContinuousAlignment(), alpha=alpha).fit(X[train], y[train])
            error = np.mean((outer.predict(X[test]) - y[test]) ** 2) / y.var()
            assert model.cv_results_[f"split{fold}_test_score"][i] == pytest.approx(
                1.0 - error, abs=1e-3
            )


def test_edge_of_the_alphas_is_reported(regression):
    X, y = regression
    with pytest.warns(UserWarning, match="The best alpha, .*lies on the edge of the values tried"):
        TwoStageRegressor(alpha=[10.0, 100.0]).fit(X, y)


def test_alpha_of_many_samples_is_found_downhill(regression, monkeypatch):
    X, y = regression
    whole = TwoStageRegressor(UniformCombination()).fit(X, y)
    monkeypatch.setattr(exact_stages, "_EIGENDECOMPOSED", len(y) - 1)
    found = TwoStageRegressor(UniformCombination()).fit(X, y)
    assert found.alpha_ == pytest.approx(whole.alpha_, rel=1e-9)
    np.testing.assert_allclose(found.predict(X), whole.predict(X), rtol=1e-7)
    tried = found.cv_results_["param_alpha"]
    assert 2 <= len(tried) < len(whole.cv_results_["param_alpha"])
    among = np.searchsorted(-whole.cv_results_["param_alpha"], -tried * (1.0 + 1e-9))
    np.testing.assert_allclose(
        found.cv_results_["mean_test_score"],
        whole.cv_results_["mean_test_score"][among],
        rtol=1e-6,
    )


@pytest.mark.parametrize("model", [TwoStageRegressor(alpha=0.1), TwoStageClassifier(C=1.0)])
def test_saved_models_hold_no_gram_matrix(model):
    X = np.random.default_rng(0).normal(size=(500, 3))
    y = (X[:, 0] > 0.0).astype(float)
    saved = pickle.dumps(clone(model).fit(X, y))
    assert len(saved) < 8 * len(X) ** 2 / 20
    np.testing.assert_array_equal(pickle.loads(saved).predict(X), clone(model).fit(X, y).predict(X))


def noisy(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, size=(n, 1))
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=n)


def covered(model: TwoStageRegressor, X: np.ndarray, y: np.ndarray, coverage: float) -> float:
    ends = model.predict_interval(X, coverage)
    np.testing.assert_allclose(ends.mean(axis=-1), model.predict(X))
    return float(((ends[..., 0] <= y) & (y <= ends[..., 1])).mean())


@pytest.mark.filterwarnings("ignore:The best")
@pytest.mark.parametrize("learner", [None, ContinuousAlignment()], ids=str)
def test_intervals_hold_as_many_responses_as_they_say(learner, learned_in_folds):
    X, y = noisy(1800)
    model = TwoStageRegressor(learner).fit(X[:300], y[:300])
    assert model.cv_residuals_.shape == (300,)
    assert 0.86 < covered(model, X[300:], y[300:], 0.9) < 0.94
    assert 0.43 < covered(model, X[300:], y[300:], 0.5) < 0.57


def test_residuals_of_many_samples_are_those_of_the_selected_alpha(monkeypatch):
    monkeypatch.setattr(exact_stages, "_EIGENDECOMPOSED", 50)
    X, y = noisy(300)
    learner = UniformCombination([Gaussian(2.0)])
    model = TwoStageRegressor(learner).fit(X, y)
    score = 1.0 - np.mean(model.cv_residuals_**2) / y.var()
    np.testing.assert_allclose(model.cv_results_["mean_test_score"].max(), score, rtol=1e-6)


def test_intervals_need_residuals(regression):
    X, y = regression
    with pytest.raises(ValueError, match=r"fit with alpha='auto', or alpha=\[0.1\] for this"):
        TwoStageRegressor(alpha=0.1).fit(X, y).predict_interval(X)
    model = TwoStageRegressor(UniformCombination()).fit(X, y)
    with pytest.raises(ValueError, match=r"coverage must be between 0 and 1.*; got 95"):
        model.predict_interval(X, 95)
    np.testing.assert_array_equal(np.isfinite(model.predict_interval(X[:1], 0.9999)), False)


def test_penalties_of_tables_in_single_precision_are_searched() -> None:
    X, y = make_regression(200, n_features=10, n_informative=1, noise=20.0, random_state=42)
    X, y = X.astype("f4").astype("f8"), (y - y.mean()) / y.std()
    single, double = (TwoStageRegressor().fit(X.astype(kind), y) for kind in ("f4", "f8"))
    assert single.alpha_ == double.alpha_
    assert_allclose(single.predict(X), double.predict(X), rtol=1e-10)


# --- residuals of choices without their fold ---------------------------------------------------


def table(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2.0 * X[:, 0]) + rng.normal(size=n)


@pytest.mark.parametrize("groups", [None, np.arange(60) // 4])
def test_kernel_and_penalty_are_chosen_without_the_fold(groups: Any) -> None:
    X, y = table(60)
    weights = 1.0 + np.arange(60) % 3
    model = TwoStageRegressor().fit(X, y, sample_weight=weights, groups=groups)
    ends = model.predict_interval(X, 0.8, None)
    resampling = left_out_together(60, groups, ranks=content_ranks(X, y))
    expected, chosen = np.empty(60), set()
    for train, test in resampling.folds(5, None, 0):
        inside = None if groups is None else groups[train]
        part = TwoStageRegressor().fit(
            X[train], y[train], sample_weight=weights[train], groups=inside
        )
        gram, _ = unit_gram(part.kernel_, X, weights)
        known = {"weights": weights, "resampling": resampling}
        errors = (
            y[:, None]
            - leave_one_out(gram, y, ALPHA_GRID, extend=False, **known).predictions[..., 0].T
        )
        best = np.argmin(weights[train] @ np.square(errors[train]))
        expected[test] = errors[test, best]
        chosen.add((part.kernel_.describe(), best))
    assert len(chosen) > 1
    masses = weights / (weights.sum() + np.sum(weights**2) / weights.sum())
    if groups is not None:
        masses = weights / np.bincount(groups, weights)[groups] / 16.0
    sizes = np.abs(expected)
    order = np.argsort(sizes)
    width = sizes[order][np.cumsum(masses[order]) >= 0.8 - 1e-9][0]
    assert_allclose(np.ptp(ends, axis=1), 2.0 * width, rtol=1e-6)
    assert_allclose(ends.mean(axis=1), model.predict(X))


def test_responses_may_vary_in_one_fold_alone() -> None:
    X, _ = table(40)
    y = np.zeros((40, 2))
    y[3, 0], y[:, 1] = 1.0, X[:, 0]
    ends = TwoStageRegressor().fit(X, y).predict_interval(X)
    assert np.isfinite(ends).all()


@pytest.mark.parametrize(
    ("n", "n_groups", "settings", "nested"),
    [
        (3, None, {}, False),
        (4, None, {}, True),
        (9, None, {}, True),
        (40, 3, {}, False),
        (40, 4, {}, True),
        (40, None, {"alpha": [1.0]}, True),
        (40, None, {"cv": 5}, False),
        (40, None, {"learner": UniformCombination([Gaussian(2.0)])}, False),
        (1001, None, {}, False),
    ],
)
def test_few_or_many_samples_and_given_choices_keep_their_residuals(
    n: int, n_groups: int | None, settings: dict[str, Any], nested: bool
) -> None:
    X, y = table(n)
    groups = None if n_groups is None else np.arange(n) % n_groups
    model = TwoStageRegressor(**settings).fit(X, y, groups=groups)
    assert isinstance(model._held_out, LeftOutChoice) == nested


@pytest.mark.parametrize(("n", "coverage"), [(4, 0.5), (5, 0.5), (9, 0.9)])
def test_intervals_of_the_fewest_samples_are_nested(n: int, coverage: float) -> None:
    X, y = table(n)
    model = TwoStageRegressor().fit(X, y)
    residuals = np.abs(model._held_out.held_out.residuals[:, 0])
    widths = np.ptp(model.predict_interval(X, coverage, None), axis=1)
    assert_allclose(widths, 2.0 * np.sort(residuals)[int(np.ceil(coverage * (n + 1))) - 1])
    assert residuals.max() > np.abs(model.cv_residuals_).max()


def test_several_responses_have_their_own_widths() -> None:
    X, y = table(50)
    Y = np.column_stack([y, 3.0 * y + X[:, 1]])
    model = TwoStageRegressor().fit(X, Y)
    widths = np.ptp(model.predict_interval(X, 0.9, None), axis=2)
    residuals = model._held_out.held_out.residuals
    assert_array_equal(residuals.shape, Y.shape)
    rank = int(np.ceil(0.9 * 51)) - 1
    expected = 2.0 * np.sort(np.abs(residuals), axis=0)[rank]
    assert_allclose(widths, np.tile(expected, (50, 1)))


@pytest.mark.parametrize("learner", [None, UniformCombination([Gaussian(2.0)])])
def test_an_array_in_place_of_a_data_frame_is_warned_of_once(learner: Any) -> None:
    X, y = table(20)
    frame = pd.DataFrame(X, columns=[f"feature {z}" for z in range(X.shape[1])])
    model = TwoStageRegressor(learner).fit(frame, y)
    for method in (model.predict, model.predict_interval):
        with pytest.warns(UserWarning, match="but TwoStageRegressor was fitted with") as told:
            found = method(X)
        assert len(told) == 1
        assert_array_equal(found, method(frame))


def test_held_out_errors_of_widths_learned_from_noise_are_those_of_new_rows() -> None:
    """Six widths are fewer than `NESTED_ABOVE`, and are learned from 40 rows."""
    held_out, new = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(540, 6)), rng.normal(size=540)
        y[:40] = (y[:40] - y[:40].mean()) / y[:40].std(ddof=1)
        model = TwoStageRegressor(EvidenceMaximization()).fit(X[:40], y[:40])
        held_out.append(np.mean(model.cv_residuals_**2))
        new.append(np.mean((model.predict(X[40:]) - y[40:]) ** 2))
    assert np.mean(held_out) > 0.9 * np.mean(new)
