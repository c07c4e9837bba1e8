"""Methods that several experiments compare."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.compared_methods import (
    automatic,
    grid_search,
    validated_ard_alignment,
    width_search,
)
from experiments.problems import Split
from mercer.datasets import make_ringnorm


@pytest.fixture(scope="module")
def split() -> Split:
    return Split(*(make_ringnorm(40, n_features=3, random_state=seed) for seed in range(3)))


@pytest.mark.filterwarnings("ignore:Solver terminated early")
def test_both_grid_searches_find_the_same(split: Split) -> None:
    search = grid_search(split)
    found = width_search(split)
    assert 0.0 <= found["error"] < 0.5
    for name, value in found.items():
        assert search[name] == pytest.approx(value)


def test_penalties_beyond_isotropic_kernels_change_nothing(split: Split) -> None:
    penalties = 10.0 ** np.arange(-2, 9, 2)
    found, every = (
        validated_ard_alignment(penalties, every=every)(split) for every in (False, True)
    )
    assert found["penalty"] in penalties
    assert every["penalty"] >= found["penalty"]
    assert found["error"] == pytest.approx(every["error"])


def test_the_automatic_kernel_is_the_same_with_either_C(split: Split) -> None:
    found = [automatic(validated=validated)(split) for validated in (False, True)]
    assert found[0]["kernels"] == found[1]["kernels"]
    assert all(0.0 <= each["error"] < 0.5 for each in found)
