"""Five-fold validation."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from experiments.folds import folds_of


def test_each_sample_is_tested_once() -> None:
    X = np.arange(23.0)[:, None]
    splits = folds_of(X, X.ravel(), 23, seed=1)
    tested = np.concatenate([split.test[1] for split in splits])
    assert_allclose(np.sort(tested), np.arange(23.0))
    for split in splits:
        parts = [split.train[1], split.valid[1], split.test[1]]
        assert_allclose(np.sort(np.concatenate(parts)), np.arange(23.0))
