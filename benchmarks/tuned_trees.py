"""LightGBM and CatBoost, tuned by random draws of a published search space over five folds.

The spaces are those of TabArena (Erickson et al. 2025, arXiv:2506.16791). The first draw is the
library's default. Iterations of every draw stop early, on the fold that it does not learn from; the
draw with the least mean loss over the folds is taken, and predictions are means over its five
models, as TabArena's bags are.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold

N_DRAWS, N_FOLDS = 30, 5
MOST_ITERATIONS, PATIENCE = 2000, 50

Parameters = dict[str, Any]


def lightgbm_draw(random: np.random.Generator) -> Parameters:
    """Draw parameters of LightGBM."""
    return {
        "learning_rate": _between(random, 5e-3, 0.1),
        "feature_fraction": random.uniform(0.4, 1.0),
        "bagging_fraction": random.uniform(0.7, 1.0),
        "bagging_freq": 1,
        "num_leaves": _whole(random, 2, 200),
        "min_data_in_leaf": _whole(random, 1, 64),
        "extra_trees": bool(random.integers(2)),
        "min_data_per_group": _whole(random, 2, 100),
        "cat_l2": _between(random, 5e-3, 2.0),
        "cat_smooth": _between(random, 1e-3, 100.0),
        "max_cat_to_onehot": _whole(random, 8, 100),
        "lambda_l1": random.uniform(1e-4, 1.0),
        "lambda_l2": random.uniform(1e-4, 2.0),
    }


def catboost_draw(random: np.random.Generator) -> Parameters:
    """Draw parameters of CatBoost."""
    return {
        "learning_rate": _between(random, 5e-3, 0.1),
        "bootstrap_type": "Bernoulli",
        "subsample": random.uniform(0.7, 1.0),
        "grow_policy": ("SymmetricTree", "Depthwise")[random.integers(2)],
        "depth": int(random.integers(4, 9)),
        "colsample_bylevel": random.uniform(0.85, 1.0),
        "l2_leaf_reg": _between(random, 1e-4, 5.0),
        "leaf_estimation_iterations": _whole(random, 1, 20),
        "one_hot_max_size": _whole(random, 8, 100),
        "model_size_reg": _between(random, 0.1, 1.5),
        "max_ctr_complexity": int(random.integers(2, 6)),
        "boosting_type": "Plain",
        "max_bin": 254,
    }


def _between(random: np.random.Generator, low: float, high: float) -> float:
    """Draw a number whose logarithm is uniform."""
    return float(np.exp(random.uniform(np.log(low), np.log(high))))


def _whole(random: np.random.Generator, low: int, high: int) -> int:
    """Draw a whole number whose logarithm is about uniform."""
    return int(np.clip(round(_between(random, low - 0.5, high + 0.5)), low, high))


class Tuned(BaseEstimator):
    """The best draw of a search space, as the mean of the models of its folds.

    Parameters
    ----------
    estimator : estimator
        LightGBM's or CatBoost's, with its defaults, which are the first draw.
    draw : callable
        Function from a random generator to parameters of the estimator.
    n_draws : int
    """

    def __init__(
        self,
        estimator: Any,
        draw: Callable[[np.random.Generator], Parameters],
        n_draws: int = N_DRAWS,
    ) -> None:
        self.estimator = estimator
        self.draw = draw
        self.n_draws = n_draws

    def fit(self, X: pd.DataFrame, y: NDArray[Any]) -> Tuned:
        """Fit the models of all draws and folds."""
        random, classifies = np.random.default_rng(0), hasattr(self.estimator, "predict_proba")
        kind = StratifiedKFold if classifies else KFold
        folds = list(kind(N_FOLDS, shuffle=True, random_state=0).split(X, y))
        if classifies:
            self.classes_ = np.unique(y)
        least = np.inf
        for parameters in [{}, *(self.draw(random) for _ in range(self.n_draws - 1))]:
            models, losses = [], []
            for train, held_out in folds:
                test = X.iloc[held_out], y[held_out]
                model = deepcopy(self.estimator).set_params(
                    n_estimators=MOST_ITERATIONS, early_stopping_rounds=PATIENCE, **parameters
                )
                models.append(model.fit(X.iloc[train], y[train], eval_set=[test]))
                losses.append(self._loss(model, *test))
            if np.mean(losses) < least:
                least, self.models_ = float(np.mean(losses)), models
        return self

    def predict(self, X: pd.DataFrame) -> NDArray[Any]:
        """Predict responses, or the most probable classes."""
        if hasattr(self, "classes_"):
            return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
        return np.asarray(np.mean([model.predict(X) for model in self.models_], axis=0))

    def predict_proba(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """Predict probabilities of classes."""
        return np.asarray(np.mean([model.predict_proba(X) for model in self.models_], axis=0))

    def _loss(self, model: Any, X: pd.DataFrame, y: NDArray[Any]) -> float:
        """Mean squared error or log-loss."""
        if hasattr(self, "classes_"):
            return float(log_loss(y, model.predict_proba(X), labels=self.classes_))
        return float(np.mean((model.predict(X) - y) ** 2))
