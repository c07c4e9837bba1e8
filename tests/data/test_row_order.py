"""The order of rows, and their units, change neither the order of contents nor what is learned."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from mercer import (
    ContinuousAlignment,
    ForestKernel,
    KernelStackingClassifier,
    KernelStackingRegressor,
    MKLClassifier,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer._data.sample import content_ranks
from mercer.kernels import Gaussian

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
SIGNAL = np.sin(X[:, 0]) + 0.5 * X[:, 1]
Y = SIGNAL + 0.3 * RNG.normal(size=60)
LABELS = (SIGNAL + 0.5 * RNG.normal(size=60) > 0.0).astype(int)
NEW = RNG.normal(size=(20, 3))
ORDER = RNG.permutation(60)
COARSE = RNG.integers(0, 3, size=(60, 3)).astype(float)


@pytest.mark.parametrize("table", [X, COARSE, np.zeros((60, 2))])
@pytest.mark.parametrize("y", [Y, LABELS, np.column_stack([LABELS, LABELS])])
def test_rows_have_the_same_order_wherever_they_stand(table: np.ndarray, y: np.ndarray) -> None:
    one, other = (
        np.argsort(content_ranks(table, y)),
        np.argsort(content_ranks(table[ORDER], y[ORDER])),
    )
    assert_array_equal(table[one], table[ORDER][other])
    assert_array_equal(y[one], y[ORDER][other])


def test_units_signs_and_the_order_of_columns_do_not_matter() -> None:
    expected = content_ranks(X, Y)
    assert_array_equal(content_ranks(X * [1e8, -3.0, 0.1], Y), expected)
    assert_array_equal(content_ranks(X[:, [2, 0, 1]], -Y), expected)


def test_sparse_tables_text_and_missing_values_have_an_order() -> None:
    dense = np.where(RNG.uniform(size=(60, 8)) < 0.2, RNG.normal(size=(60, 8)).round(1), 0.0)
    assert_array_equal(content_ranks(sp.coo_array(dense), LABELS), content_ranks(dense, LABELS))
    table = pd.DataFrame({"a": ["x", None, "y", "x"], "b": [1.0, np.nan, 2.0, 3.0]})
    order = [2, 0, 3, 1]
    again = content_ranks(table.iloc[order], np.zeros(4))
    assert_array_equal(again, content_ranks(table, np.zeros(4))[order])


def test_complex_numbers_are_refused_without_a_warning() -> None:
    with pytest.raises(ValueError, match="Complex data not supported"):
        TwoStageClassifier().fit(X + 0j, LABELS)


ESTIMATORS = [
    (KernelStackingRegressor([Gaussian(), "laplacian"]), Y, "predict"),
    (KernelStackingClassifier([Gaussian(), "laplacian"]), LABELS, "predict_proba"),
    (TwoStageRegressor(cv=5), Y, "predict"),
    (TwoStageClassifier(ContinuousAlignment()), LABELS, "predict_proba"),
    (TwoStageRegressor(ForestKernel("extra-trees", n_trees=5)), Y, "predict"),
    (MKLClassifier(), LABELS, "predict_proba"),
]


@pytest.mark.parametrize(("estimator", "y", "method"), ESTIMATORS)
def test_the_order_of_rows_does_not_move_predictions(estimator: Any, y: Any, method: str) -> None:
    expected = getattr(clone(estimator).fit(X, y), method)(NEW)
    found = getattr(clone(estimator).fit(X[ORDER], y[ORDER]), method)(NEW)
    # LIBSVM ends at a tolerance of 1e-3.
    assert_allclose(found, expected, atol=1e-3)


def test_left_out_predictions_of_weightless_rows_are_by_the_whole_fit() -> None:
    weights = np.where(np.arange(60) % 7 == 3, 0.0, 1.0)
    rows = np.flatnonzero(weights)
    model = KernelStackingRegressor([Gaussian()]).fit(X, Y, sample_weight=weights)
    without = KernelStackingRegressor([Gaussian()]).fit(X[rows], Y[rows])
    assert len(model.loo_predictions_) == 60
    assert_allclose(model.loo_predictions_[rows], without.loo_predictions_)
    others = np.flatnonzero(weights == 0.0)
    assert_allclose(model.loo_predictions_[others], without.predict(X[others]))
    assert_allclose(model.loo_score_, without.loo_score_)


@pytest.mark.parametrize(
    "model",
    [
        KernelStackingRegressor([Gaussian(1.0)]),
        TwoStageRegressor(UniformCombination([Gaussian(1.0)])),
        TwoStageRegressor(UniformCombination([Gaussian(1.0)]), cv=2),
    ],
)
def test_intervals_of_many_rows_are_those_of_rows_in_another_order(model: Any) -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(1200, 2))
    y = np.sin(2.0 * table[:, 0]) + 0.5 * np.exp(table[:, 1]) * rng.normal(size=1200)
    order = rng.permutation(1200)
    one, other = (
        model.fit(table[rows], y[rows]).predict_interval(NEW[:, :2])
        for rows in (np.arange(1200), order)
    )
    assert_allclose(one, other, atol=1e-3)


def test_stacks_of_compared_rows_are_those_of_rows_in_another_order() -> None:
    rng = np.random.default_rng(1)
    table = rng.normal(size=(150, 4))
    y = np.sin(2.0 * table[:, 0]) + table[:, 1] * table[:, 2] + 0.5 * rng.normal(size=150) > 0.0
    order = np.random.default_rng(0).permutation(150)
    new = rng.normal(size=(20, 4))
    one, other = (
        KernelStackingClassifier(max_samples=100).fit(table[rows], y[rows]).predict_proba(new)
        for rows in (np.arange(150), order)
    )
    assert_allclose(one, other, atol=1e-3)
