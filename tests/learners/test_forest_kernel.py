"""The learner of a kernel of trees."""

from typing import Any

import numpy as np
import pytest
from forest_cases import node_leaves, response, shares, table
from learner_cases import refused
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from mercer import ForestKernel
from mercer._data.encoded_targets import encode_target
from mercer._data.sample import content_ranks

X = table(200)
Y = response(X)
CLASSES = np.array(["a", "b", "c"])[np.digitize(Y, [0.0, 1.0])]

REGRESSORS: dict[str, Any] = {
    "boosting": HistGradientBoostingRegressor(
        max_iter=8, min_samples_leaf=20, early_stopping=False, random_state=0
    ),
    "forest": RandomForestRegressor(8, max_leaf_nodes=31, min_samples_leaf=3, random_state=0),
    "extra-trees": ExtraTreesRegressor(8, max_leaf_nodes=31, min_samples_leaf=3, random_state=0),
}
CLASSIFIERS: dict[str, Any] = {
    "boosting": HistGradientBoostingClassifier(
        max_iter=8, min_samples_leaf=20, early_stopping=False, random_state=0
    ),
    "forest": RandomForestClassifier(8, max_leaf_nodes=31, min_samples_leaf=3, random_state=0),
    "extra-trees": ExtraTreesClassifier(8, max_leaf_nodes=31, min_samples_leaf=3, random_state=0),
}
every_name = pytest.mark.parametrize("name", REGRESSORS)


@every_name
@pytest.mark.parametrize("classification", [False, True])
def test_the_kernel_is_that_of_the_trees_of_scikit_learn(name: str, classification: bool) -> None:
    target = CLASSES if classification else Y
    model = clone((CLASSIFIERS if classification else REGRESSORS)[name])
    standard = CLASSES if classification else encode_target(Y, classification=False).values[:, 0]
    order = np.argsort(content_ranks(X, target))
    leaves = node_leaves(model.fit(X[order], standard[order]), X)
    learner = ForestKernel(name, n_trees=8).fit(X, target)
    (kernel,) = learner.kernels_
    assert_array_equal(kernel(X), shares(leaves, leaves))
    assert_allclose(learner.transform(X), shares(leaves, leaves) / learner.scale_, rtol=1e-12)
    assert_allclose(learner.alignment_, learner.history_[0].objective)
    assert leaves.shape[1] == (24 if classification and name == "boosting" else 8)


@every_name
def test_an_estimator_is_grown_as_the_name_is(name: str) -> None:
    named = ForestKernel(name, n_trees=8).fit(X, Y)
    given = ForestKernel(REGRESSORS[name]).fit(X, Y)
    assert given.kernel_ == named.kernel_
    assert not hasattr(REGRESSORS[name], "n_features_in_")


@every_name
def test_each_of_several_responses_has_a_part_in_the_kernel(name: str) -> None:
    both = np.column_stack([Y, 1e6 * X[:, 2]])
    learner = ForestKernel(name, n_trees=8).fit(X, both)
    n_trees = learner.kernels_[0].apply(X).shape[1]
    assert n_trees == (16 if name == "boosting" else 8)
    single = ForestKernel(name, n_trees=8).fit(X, both[:, :1])
    assert single.kernel_ == ForestKernel(name, n_trees=8).fit(X, Y).kernel_
    of_both, of_one = (made.kernels_[0].relevance(3) for made in (learner, single))
    assert of_both[2] > 0.3
    assert of_one[2] < 0.1
    assert of_both[:2].sum() > 0.2


@every_name
def test_weights_count_in_the_growth_of_trees(name: str) -> None:
    weights = np.random.default_rng(0).integers(0, 4, 200).astype(float)
    learner = ForestKernel(name, n_trees=8)
    plain, weighted, scaled, equal, without = (
        clone(learner).fit(rows, y, sample_weight=w)
        for rows, y, w in (
            (X, Y, None),
            (X, Y, weights),
            (X, Y, 2.0**-30 * weights),
            (X, Y, np.full(200, 3.0)),
            (X[weights > 0], Y[weights > 0], weights[weights > 0]),
        )
    )
    assert equal.kernels_ == plain.kernels_
    assert scaled.kernels_ == weighted.kernels_
    assert without.kernels_ == weighted.kernels_
    assert np.abs(weighted.kernels_[0](X) - plain.kernels_[0](X)).max() > 0.1


def test_whole_weights_repeat_rows_where_leaves_may_hold_one() -> None:
    """Numbers of a few values have the same bins however often each occurs."""
    rows, counts = np.round(X), np.random.default_rng(0).integers(1, 4, 200)
    learner = ForestKernel(n_trees=20, max_leaf_nodes=6, min_samples_leaf=1)
    weighted = clone(learner).fit(rows, Y, sample_weight=counts)
    repeated = clone(learner).fit(rows.repeat(counts, axis=0), Y.repeat(counts))
    assert_allclose(weighted.kernels_[0](rows), repeated.kernels_[0](rows), atol=1e-12)
    assert_allclose(weighted.scale_, repeated.scale_, rtol=1e-10)
    assert_allclose(weighted.alignment_, repeated.alignment_, rtol=1e-10)


@pytest.mark.parametrize("rows", [X[:39], np.ones((100, 3))])
def test_trees_without_splits_make_a_constant_kernel(rows: np.ndarray) -> None:
    learner = ForestKernel().fit(rows, Y[: len(rows)])
    assert_array_equal(learner.transform(rows), np.ones((len(rows), len(rows))))
    assert learner.scale_ == 1.0
    assert learner.alignment_ == 0.0


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (ForestKernel(AdaBoostRegressor()), "ensemble must be an estimator"),
        (ForestKernel(HistGradientBoostingRegressor(loss="gamma")), "got 'gamma'"),
        (ForestKernel(ExtraTreesClassifier()), "must be a regressor"),
        (ForestKernel(ExtraTreesRegressor(), n_trees=5), "n_trees has no effect"),
    ],
)
def test_wrong_settings_are_refused(learner: ForestKernel, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        learner.fit(X, Y)
    refused(ForestKernel(ExtraTreesRegressor()), X, CLASSES, "must be a classifier")
