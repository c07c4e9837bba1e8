"""Kernels of trees."""

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from forest_cases import BOOSTED, fitted, node_leaves, response, shares, table
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostRegressor,
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
)
from sklearn.exceptions import NotFittedError

from mercer._gram.samples import Samples
from mercer.kernels import Forest
from mercer.kernels._leaves import leaf_numbers
from mercer.kernels._tree_arrays import TreeArrays, as_tree_arrays

ENSEMBLES = fitted()
every_ensemble = pytest.mark.parametrize("ensemble", ENSEMBLES.values(), ids=ENSEMBLES)
X = table()


def known(ensemble: Any, rows: np.ndarray = X) -> Forest:
    return Forest(ensemble).with_leaves_of(rows)


@every_ensemble
@given(seed=st.integers(0, 2**32 - 2), n=st.integers(1, 30), other=st.integers(1, 30))
@settings(max_examples=5)
def test_values_are_shares_of_leaves_found_by_walking_down(
    ensemble: Any, seed: int, n: int, other: int
) -> None:
    left, right = table(n, seed=seed), table(other, seed=seed + 1)
    right[0] = left[0]
    expected = shares(node_leaves(ensemble, left), node_leaves(ensemble, right))
    kernel = known(ensemble)
    assert_array_equal(kernel(left, right), expected)
    assert_array_equal(Forest(ensemble)(left, right), expected)
    assert_array_equal(kernel(left), shares(*[node_leaves(ensemble, left)] * 2))
    assert_array_equal(kernel.diag(left), np.ones(n))


@every_ensemble
def test_inner_products_of_features_are_the_kernel(ensemble: Any) -> None:
    kernel, Z = known(ensemble), table(50, seed=3)
    features = kernel.features(X)
    assert sp.issparse(features)
    n_trees = node_leaves(ensemble, X[:1]).shape[1]
    assert_array_equal(features.getnnz(axis=1), n_trees)
    assert features.has_canonical_format
    assert features.getnnz(axis=0).min() >= 1
    assert_allclose((features @ kernel.features(Z).T).toarray(), kernel(X, Z), atol=1e-15)
    assert features.shape[1] == sum(np.unique(a).size for a in node_leaves(ensemble, X).T)
    with pytest.raises(ValueError, match="with_leaves_of"):
        Forest(ensemble).features(X)


@pytest.mark.parametrize(("offset", "outlier"), [(1e6, 0.0), (0.0, 1e5)])
def test_leaves_are_told_apart_whatever_the_size_of_the_response(
    offset: float, outlier: float
) -> None:
    y = response(X) + offset
    y[7] += outlier
    model = HistGradientBoostingRegressor(**BOOSTED).fit(X, y)
    assert_array_equal(known(model)(X), shares(*[node_leaves(model, X)] * 2))


def test_missing_values_fall_where_boosted_trees_send_them() -> None:
    rows = X.copy()
    rows[::3, 0] = np.nan
    model = HistGradientBoostingRegressor(**BOOSTED).fit(rows, response(X))
    expected = shares(*[node_leaves(model, rows)] * 2)
    assert_array_equal(Forest(model).with_leaves_of(rows)(rows), expected)
    with pytest.raises(ValueError, match="contains infinity"):
        Forest(model)([[np.inf, 0.0, 0.0]])


def test_categories_fall_where_boosted_trees_send_them() -> None:
    rows = X.copy()
    rows[:, 2] = np.arange(120) % 5
    y = np.array([3.0, -1.0, 0.5, 2.0, 9.0])[rows[:, 2].astype(int)] + rows[:, 0]
    model = HistGradientBoostingRegressor(categorical_features=[2], **BOOSTED).fit(rows, y)
    kernel = Forest(model).with_leaves_of(rows)
    values = np.stack([np.ravel(v) for v in model.staged_predict(rows)])
    steps = np.round(np.diff(values, axis=0, prepend=0.0), 10).T
    assert_array_equal(kernel(rows), shares(steps, steps))


def test_forests_take_sparse_tables_and_boosted_trees_refuse_them() -> None:
    forest, sparse = ENSEMBLES["forest"], sp.csr_matrix(X)
    kernel, read = known(forest), Forest(forest).with_leaves_of(sparse)
    assert_array_equal(Forest(forest)(sparse, sparse[:4]), kernel(X, X[:4]))
    assert_array_equal(read(sparse, sparse[:4]), kernel(X, X[:4]))
    assert read == kernel
    with pytest.raises(TypeError, match="Sparse data was passed"):
        Forest(ENSEMBLES["boosting"])(sparse)


@pytest.mark.parametrize("name", ["extra-trees", "boosting-3", "forest-several"])
def test_features_that_say_nothing_have_about_no_relevance(name: str) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(800, 5))
    signal = 2.0 * np.sin(2.0 * rows[:, 0]) * (rows[:, 1] > 0.0) + 0.3 * rng.normal(size=800)
    targets = {
        "boosting-3": np.digitize(signal, [-0.5, 0.5]),
        "forest-several": np.column_stack([signal, -signal]),
    }
    model = clone(ENSEMBLES[name]).fit(rows, targets.get(name, signal))
    relevance = known(model, rows).relevance(5)
    assert relevance[:2].min() > 0.2
    assert relevance[2:].max() < 0.1 * relevance[:2].min()
    assert np.isnan(Forest(model).relevance(5)).all()


def test_trees_that_predict_nothing_have_no_relevance() -> None:
    assert np.isnan(known(ENSEMBLES["embedding"]).relevance(3)).all()
    constant = HistGradientBoostingRegressor().fit(X, response(X) * 0.0)
    assert_array_equal(known(constant).relevance(3), np.zeros(3))


def test_trees_of_one_leaf_are_a_kernel_of_ones() -> None:
    kernel = known(
        HistGradientBoostingRegressor(max_iter=300, min_samples_leaf=61).fit(X, response(X))
    )
    assert_array_equal(kernel(X), np.ones((120, 120)))
    assert kernel.features(X).shape == (120, 300)
    assert kernel.describe() == "Forest of 300 trees"
    assert Forest(ENSEMBLES["forest"]).describe() == "Forest"


class LeafPredictor(ExtraTreesRegressor):
    """An ensemble with the interface of LightGBM."""

    apply = property()  # type: ignore[assignment]

    def predict(self, X: Any, pred_leaf: bool = False) -> Any:
        return ExtraTreesRegressor.apply(self, X) if pred_leaf else super().predict(X)


def test_leaves_are_asked_for_as_lightgbm_returns_them() -> None:
    model = LeafPredictor(5, max_leaf_nodes=6, random_state=0).fit(X, response(X))
    same = ExtraTreesRegressor(5, max_leaf_nodes=6, random_state=0).fit(X, response(X))
    assert not hasattr(model, "apply")
    assert_array_equal(known(model)(X), known(same)(X))


POISSON = HistGradientBoostingRegressor(loss="poisson").fit(X, np.abs(response(X)))


@pytest.mark.parametrize(
    ("ensemble", "table", "error", "message"),
    [
        (AdaBoostRegressor(), X, TypeError, "ensemble must be an estimator with a method `apply`"),
        (ExtraTreesRegressor, X, TypeError, "ensemble must be an estimator with a method `apply`"),
        (POISSON, X, ValueError, "got 'poisson'"),
        (ExtraTreesRegressor(), X, NotFittedError, "not fitted"),
        (ENSEMBLES["forest"], X[:, :2], ValueError, "X has 2 features, but .* is expecting 3"),
        (ENSEMBLES["boosting-several"], [[np.inf, 0.0, np.nan]], ValueError, "contains NaN"),
    ],
)
def test_what_cannot_be_read_is_refused(
    ensemble: Any, table: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Forest(ensemble)(table)


def test_trees_are_evaluated_once_for_all_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    many, evaluations = table(600, seed=2), []
    kernels = [known(ENSEMBLES["boosting"]), 2.0 * Forest(ENSEMBLES["forest"])]
    expected = [kernel(many) for kernel in kernels]
    samples, found = Samples(many, 2), np.zeros((2, 600, 600))
    original = leaf_numbers

    def counted(ensemble: Any, rows: Any) -> Any:
        evaluations.append(len(rows))
        return original(ensemble, rows)

    monkeypatch.setattr("mercer.kernels._forest.leaf_numbers", counted)
    for tile in samples.plan:
        found[:, tile.rows, tile.columns] = samples.blocks(kernels, tile, exact=True)
    assert len(samples.plan) > 3
    # Kernels are told apart by the leaves of some rows.
    assert [n for n in evaluations if n > 256] == [600, 600]
    for tile in samples.plan:
        for gram, values in zip(expected, found, strict=True):
            at = tile.rows, tile.columns
            assert_allclose(values[at], gram[at], rtol=1e-12)


@pytest.mark.parametrize(
    "name",
    ["tree", "forest-2", "forest-several", "boosting-absolute", "boosting-3", "boosting-several"],
)
def test_saved_trees_answer_as_those_of_scikit_learn(name: str) -> None:
    model, rows = ENSEMBLES[name], table(2500, seed=4)
    arrays = as_tree_arrays(model)
    assert arrays is not None
    ask = "predict_proba" if name == "forest-2" else "decision_function"
    expected = np.reshape(getattr(model, ask, model.predict)(rows), (2500, -1))
    assert_allclose(arrays.predict(rows), expected, rtol=1e-9, atol=1e-12)
    for kernel in (known(model), Forest(model)):
        copied = pickle.loads(pickle.dumps(kernel))
        assert type(copied.ensemble) is TreeArrays
        assert copied.accepts_sparse is kernel.accepts_sparse
        assert_array_equal(copied(rows[:99], X), kernel(rows[:99], X))
        assert_allclose(copied.relevance(3), kernel.relevance(3), rtol=1e-9, atol=1e-12)
    assert pickle.loads(pickle.dumps(known(model))) == known(model)
    with pytest.raises(NotImplementedError, match="cannot be grown again"):
        arrays.fit(rows)
