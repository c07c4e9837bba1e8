"""Fits xRFM and predicts, in an environment of its own; see `worker_loop.py`.

xRFM needs validation rows, and gets a fifth of the training rows at random; everything else is its
default.
"""

from __future__ import annotations

import numpy as np
import torch
from worker_loop import serve
from xrfm import xRFM


def fit(X: np.ndarray, y: np.ndarray, classes: bool) -> xRFM:
    """Return a fitted xRFM, which tells classes by the type of their codes."""
    order = np.random.default_rng(0).permutation(len(y))
    n_valid = len(y) // 5
    valid, train = order[:n_valid], order[n_valid:]
    model = xRFM(device=torch.device("cpu"), verbose=False, random_state=0)
    model.fit(*(torch.tensor(part) for part in (X[train], y[train], X[valid], y[valid])))
    return model


if __name__ == "__main__":
    torch.set_num_threads(1)
    serve(fit)
