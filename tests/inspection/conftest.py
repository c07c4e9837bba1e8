"""The problem that displays are tried on."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    """Close the figures of each test."""
    plt = pytest.importorskip("matplotlib.pyplot")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    """Two classes named "no" and "yes", and four features of which two are informative."""
    X, y = make_classification(
        60, n_features=4, n_informative=2, n_redundant=0, shuffle=False, random_state=0
    )
    return X, np.array(["no", "yes"])[y]
