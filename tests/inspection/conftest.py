"""The problem that displays are tried on."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
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


@pytest.fixture(scope="module")
def table() -> Any:
    """Ages, towns, dates and heights of ninety people."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 80, 90),
            "town": rng.choice(["Bern", "Basel", "Chur"], 90),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 90), "D"),
            "height": rng.normal(170.0, 8.0, 90),
        }
    )
