"""Random parts of data sets."""

from __future__ import annotations

import numpy as np

from experiments.problems import three_parts


def test_parts_do_not_overlap_and_repeat() -> None:
    X = np.arange(50.0)[:, None]
    first, again = (three_parts(X, np.arange(50), (10, 15, 20), seed=3) for _ in range(2))
    rows = np.concatenate([part[1] for part in (first.train, first.valid, first.test)])
    assert len(set(rows)) == 45
    np.testing.assert_array_equal(first.train[0], again.train[0])
