"""The evidence as a function of a Gram matrix: repeated rows, and derivatives by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import gaussian

from mercer._data.weights import SampleWeights, UnitWeights
from mercer._search.evidence import ConcentratedEvidence, GaussianEvidence

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(12, 2)), RNG.normal(size=(12, 2))
K, COUNTS = gaussian(X, 1.5), np.arange(12) % 3 + 1
OBJECTIVES = {
    "unit weights": GaussianEvidence(Y, UnitWeights(12)),
    "weights": GaussianEvidence(Y, SampleWeights(0.7 * COUNTS)),
    "best amplitude": ConcentratedEvidence(Y, 2),
}


def test_a_whole_weight_is_that_number_of_rows() -> None:
    rows = np.repeat(np.arange(12), COUNTS)
    once = GaussianEvidence(Y, SampleWeights(COUNTS.astype(float)))
    repeated = GaussianEvidence(Y[rows], UnitWeights(rows.size))
    expected = repeated.value(K[np.ix_(rows, rows)], 0.3)
    assert_allclose(once.value(K, 0.3), expected, rtol=1e-12)


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)
def test_slopes_are_those_of_differences(objective: Any) -> None:
    found, step = objective.slopes(K, 0.3), 1e-5
    assert_allclose(found.value, objective.value(K, 0.3), rtol=1e-14)
    change = objective.value(K, 0.3 * np.exp(step)) - objective.value(K, 0.3 * np.exp(-step))
    assert_allclose(found.log_noise, change / (2.0 * step), rtol=1e-6)
    D = gaussian(X, 0.5)
    change = objective.value(K + step * D, 0.3) - objective.value(K - step * D, 0.3)
    slope = np.sum((found.inverse - found.factor @ found.factor.T) * D)
    assert_allclose(slope, change / (2.0 * step), rtol=1e-6)
