"""Residuals that bound intervals are those of kernels and penalties chosen without their folds."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import TwoStageRegressor, UniformCombination
from mercer._data.resampling import left_out_together
from mercer._estimators.two_stage.ridge_stage import LeftOutChoice
from mercer._gram.dense import unit_gram
from mercer._solvers.left_out import ALPHA_GRID, leave_one_out
from mercer.kernels import Gaussian


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
    resampling = left_out_together(60, groups)
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
        (9, None, {}, False),
        (10, None, {}, True),
        (40, 9, {}, False),
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
