"""Ensembles of trees whose kernels are tested, and their leaves by other means."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)
from sklearn.multioutput import MultiOutputRegressor
from sklearn.tree import DecisionTreeRegressor

BOOSTED: dict[str, Any] = {"max_iter": 12, "min_samples_leaf": 4, "early_stopping": False}
GROWN: dict[str, Any] = {"n_estimators": 7, "max_leaf_nodes": 9, "random_state": 0}

REGRESSORS: dict[str, Any] = {
    "boosting": HistGradientBoostingRegressor(**BOOSTED),
    "boosting-absolute": HistGradientBoostingRegressor("absolute_error", **BOOSTED),
    "forest": RandomForestRegressor(**GROWN),
    "extra-trees": ExtraTreesRegressor(**GROWN),
    "tree": DecisionTreeRegressor(max_leaf_nodes=9),
    "embedding": RandomTreesEmbedding(**GROWN),
}
CLASSIFIERS: dict[str, Any] = {
    "boosting": HistGradientBoostingClassifier(**BOOSTED),
    "forest": RandomForestClassifier(**GROWN),
    "extra-trees": ExtraTreesClassifier(**GROWN),
    "gradient-boosting": GradientBoostingClassifier(n_estimators=5, random_state=0),
}
SEVERAL: dict[str, Any] = {
    "boosting": MultiOutputRegressor(HistGradientBoostingRegressor(**BOOSTED)),
    "forest": RandomForestRegressor(**GROWN),
}


def table(n: int = 120, n_features: int = 3, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(n, n_features))


def response(X: NDArray[np.float64]) -> NDArray[np.float64]:
    noise = np.random.default_rng(1).normal(size=len(X))
    return np.asarray(np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * noise)


def fitted() -> dict[str, Any]:
    """Every ensemble, fitted to the first 120 rows of the same table."""
    X = table()
    y = response(X)
    two, three = (y > 1.0).astype(int), np.digitize(y, [0.0, 1.0])
    return {
        **{name: clone(made).fit(X, y) for name, made in REGRESSORS.items()},
        **{f"{name}-2": clone(made).fit(X, two) for name, made in CLASSIFIERS.items()},
        "boosting-3": HistGradientBoostingClassifier(**BOOSTED).fit(X, three),
        **{
            f"{name}-several": clone(made).fit(X, np.column_stack([y, -X[:, 2]]))
            for name, made in SEVERAL.items()
        },
    }


def node_leaves(ensemble: Any, X: NDArray[np.float64]) -> NDArray[Any]:
    """The leaf of each tree, shape (n_samples, n_trees), by walking down from its root.

    A leaf of a boosted tree is told by its value: those of one class only may have the same.
    """
    if hasattr(ensemble, "estimators_") and not hasattr(ensemble, "apply"):
        return np.hstack([node_leaves(part, X) for part in ensemble.estimators_])
    if hasattr(ensemble, "apply"):
        return np.reshape(ensemble.apply(X), (len(X), -1)).astype(int)
    trees = [tree.nodes for stage in ensemble._predictors for tree in stage]
    return np.array([[_value_of(nodes, row) for nodes in trees] for row in X])


def _value_of(nodes: Any, row: NDArray[np.float64]) -> float:
    at = 0
    while not nodes["is_leaf"][at]:
        value, threshold = row[nodes["feature_idx"][at]], nodes["num_threshold"][at]
        left = nodes["missing_go_to_left"][at] if np.isnan(value) else value <= threshold
        at = nodes["left" if left else "right"][at]
    return round(float(nodes["value"][at]), 12)


def shares(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64]:
    """Share of trees in which two rows have the same leaf."""
    return np.array([[np.mean(a == b) for b in right] for a in left])
