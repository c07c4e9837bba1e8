"""Halves of the sets of Wang & Li (2018)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.utils import Bunch

from experiments.halves import N_FEATURES, SETS, SMALL_SETS, Halves, halves


@pytest.mark.parametrize("name", SETS)
def test_sets_have_the_papers_numbers_of_features(data: Callable[[str], Bunch], name: str) -> None:
    expected = N_FEATURES[name]
    assert data(SETS[name]).data.shape[1] == (40 if name == "waveform" else expected)


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("name", SMALL_SETS)
def test_features_are_scaled_by_the_training_half(name: str) -> None:
    drawn = halves(name)(0)
    assert isinstance(drawn, Halves)
    (X, y), (other, labels) = drawn.train, drawn.test
    assert X.shape[1] == other.shape[1] == N_FEATURES[name]
    assert abs(len(y) - len(labels)) <= 1
    np.testing.assert_allclose([X.min(), X.max()], [0.0, 1.0], atol=1e-12)
