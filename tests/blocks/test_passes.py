"""Reports of the passes of a fit over all rows."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from mercer import KernelStackingClassifier, KernelStackingRegressor, TwoStageRegressor, pass_hooks
from mercer._learners import KernelOptimization
from mercer.kernels import Gaussian

SETTINGS = {"approximation": "nystroem", "n_components": 10}


@pytest.mark.parametrize(
    "estimator",
    [
        TwoStageRegressor(KernelOptimization(), **SETTINGS),
        KernelStackingRegressor([Gaussian(1.0), Gaussian(4.0)], **SETTINGS),
        KernelStackingClassifier([Gaussian(1.0), Gaussian(4.0)], **SETTINGS),
    ],
    ids=["two stages", "stacked responses", "stacked classes"],
)
def test_all_rows_that_are_announced_are_reported(estimator: BaseEstimator) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2))
    y = np.sin(X[:, 0])
    announced: list[int] = []
    done: list[int] = []
    with pass_hooks(announced.append, done.append):
        estimator.fit(X, y if hasattr(estimator, "alpha") else np.round(y))
    assert len(announced) == 1
    assert announced[0] in (60, 120)
    assert sum(done) == announced[0]
    # Outside the block, nothing is reported.
    estimator.fit(X, np.round(y))
    assert len(announced) == 1
