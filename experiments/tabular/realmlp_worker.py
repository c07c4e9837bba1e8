"""Fits RealMLP with its tuned defaults and predicts; see `worker_loop.py`.

It validates its epochs on a fifth of the training rows, as is its default.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from pytabkit import RealMLP_TD_Classifier, RealMLP_TD_Regressor
from worker_loop import serve


def fit(X: np.ndarray, y: np.ndarray, classes: bool) -> Any:
    """Return a fitted network."""
    kind = RealMLP_TD_Classifier if classes else RealMLP_TD_Regressor
    return kind(device="cpu", random_state=0, n_threads=1).fit(X, y)


if __name__ == "__main__":
    torch.set_num_threads(1)
    serve(fit)
