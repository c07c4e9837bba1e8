"""Tests of weights of samples."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer._data.weights import SampleWeights


@pytest.mark.parametrize("seed", range(40))
def test_rows_are_drawn_in_exact_proportion_to_their_weights(seed: int) -> None:
    # Some steps along the cumulative weights end exactly with a row, which rounding must not move.
    weights = np.random.default_rng(seed).integers(1, 8, size=3 + seed % 6)
    total, ends = int(weights.sum()), np.cumsum(weights).tolist()
    for n_rows in (len(weights), 2 * len(weights)):
        steps = [Fraction((2 * k + 1) * total, 2 * n_rows) for k in range(n_rows)]
        expected = [next(i for i, end in enumerate(ends) if end >= step) for step in steps]
        found = SampleWeights(weights.astype(float)).proportional_rows(n_rows)
        assert_array_equal(found, expected)
