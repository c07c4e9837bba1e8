"""Linear functions of leaves as means over trees."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.multioutput import MultiOutputRegressor
from sklearn.tree import DecisionTreeRegressor

from mercer._gram.expansion import FeatureTerm
from mercer._gram.tree_terms import as_tree_terms, tree_term
from mercer.kernels import Forest

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3)).round(1)
Y = np.column_stack([X[:, 0] * X[:, 1], X[:, 2]]) + 0.1 * RNG.normal(size=(300, 2))
CLASSES = np.searchsorted([-0.3, 0.3], Y[:, 0])
NEW = RNG.normal(size=(50, 3))

BOOSTED = HistGradientBoostingRegressor(max_iter=8, max_leaf_nodes=7)
ENSEMBLES: dict[str, Any] = {
    "boosted": BOOSTED.fit(X, Y[:, 0]),
    "boosted classes": HistGradientBoostingClassifier(max_iter=5).fit(X, CLASSES),
    "several boosted": MultiOutputRegressor(HistGradientBoostingRegressor(max_iter=4)).fit(X, Y),
    "forest": RandomForestClassifier(6, min_samples_leaf=4, random_state=0).fit(X, CLASSES),
    "extra trees": ExtraTreesRegressor(5, random_state=0).fit(X, Y),
    "tree": DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, Y[:, 1]),
}


def term_of(ensemble: Any, n_outputs: int = 2) -> FeatureTerm:
    """A linear function of the leaves with random coefficients."""
    kernel = Forest(ensemble).with_leaves_of(X)
    n_features = int(kernel.first_features[-1])
    return FeatureTerm(kernel, np.random.default_rng(1).normal(size=(n_features, n_outputs)))


@pytest.mark.parametrize("name", ENSEMBLES)
def test_means_over_trees_are_linear_functions_of_leaves(name: str) -> None:
    term = term_of(ENSEMBLES[name])
    found = tree_term(term)
    assert found is not None
    for rows in (X, NEW):
        assert_allclose(found(rows), term(rows), rtol=1e-10, atol=1e-12)
    matrix = np.array([[2.0], [-1.0]])
    assert_allclose(found.mapped(matrix)(NEW), term(NEW) @ matrix, rtol=1e-10, atol=1e-12)
    assert found.description.startswith("Forest of")
    assert found.products(3) is None


def test_splits_by_sets_of_categories_are_left_as_they_are() -> None:
    codes = RNG.integers(0, 8, size=(300, 1)).astype(float)
    target = np.isin(codes[:, 0], [1, 4, 6]).astype(float)
    ensemble = HistGradientBoostingRegressor(max_iter=3, categorical_features=[0])
    kernel = Forest(ensemble.fit(codes, target)).with_leaves_of(codes)
    term = FeatureTerm(kernel, RNG.normal(size=(int(kernel.first_features[-1]), 1)))
    assert tree_term(term) is None
    [kept] = as_tree_terms(term)
    assert isinstance(kept, FeatureTerm)
    assert kernel.rows is not None
    assert kept.kernel.rows is None
    assert_allclose(kept(codes), term(codes))


def test_missing_values_and_sparse_tables() -> None:
    holes = np.where(RNG.uniform(size=X.shape) < 0.2, np.nan, X)
    boosted = Forest(HistGradientBoostingRegressor(max_iter=5).fit(holes, Y[:, 0]))
    sparse = sp.csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0))
    extra = Forest(ExtraTreesRegressor(3, random_state=0).fit(sparse, Y))
    for kernel, table in (
        (boosted.with_leaves_of(holes), holes),
        (extra.with_leaves_of(sparse), sparse),
    ):
        term = FeatureTerm(kernel, RNG.normal(size=(int(kernel.first_features[-1]), 1)))
        found = tree_term(term)
        assert found is not None
        assert_allclose(found(table), term(table), rtol=1e-10, atol=1e-12)
