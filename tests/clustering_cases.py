"""Clusterings by one kernel and clusters far apart, for the tests that hold for all."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from mercer import HSICClustering

CHAIN = np.exp(-((np.arange(4)[:, None] - np.arange(4)) ** 2))
MODELS = {
    "greedy": HSICClustering(4, random_state=0),
    "spectral": HSICClustering(4, method="spectral", random_state=0),
    "linear": HSICClustering(4, "linear", random_state=0),
    "chain": HSICClustering(4, similarity=CHAIN, random_state=0),
    "plain": HSICClustering(4, similarity=CHAIN, normalize=False, random_state=0),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Four clusters on a line in the plane, far enough apart for one best partition."""
    centers = np.array([[0.0, 0.0], [3.0, 1.0], [6.0, 0.0], [9.0, -1.0]])
    return make_blobs([30, 20, 25, 15], centers=centers, cluster_std=0.4, random_state=0)
