"""Fits xRFM and predicts, in an environment of its own.

Reads the name of a file with training and test rows from each line of its input, replaces that file
by one with the predictions, and then prints a line. This file imports only numpy, torch and xrfm.
xRFM needs validation rows, and gets a fifth of the training rows at random; everything else is its
default.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import torch
from xrfm import xRFM


def serve(path: str) -> None:
    """Read training and test rows, and write predictions, probabilities and processor seconds."""
    with np.load(path) as file:
        data = dict(file)
    classes = bool(data["classes"])
    X, X_test = (data[name].astype(np.float32) for name in ("X", "X_test"))
    y = data["y"].astype(np.int64) if classes else data["y"].astype(np.float32)
    order = np.random.default_rng(0).permutation(len(y))
    n_valid = len(y) // 5
    valid, train = order[:n_valid], order[n_valid:]
    torch.set_num_threads(1)
    model = xRFM(device=torch.device("cpu"), verbose=False, random_state=0)
    start = time.process_time()
    model.fit(*(torch.tensor(part) for part in (X[train], y[train], X[valid], y[valid])))
    fitted = time.process_time()
    if classes:
        found = {"probabilities": np.asarray(model.predict_proba(X_test))}
        found["predicted"] = found["probabilities"].argmax(axis=1)
    else:
        found = {"predicted": np.asarray(model.predict(X_test)).ravel()}
    ended = time.process_time()
    found["fit_seconds"] = np.array(fitted - start)
    found["predict_seconds"] = np.array(ended - fitted)
    np.savez(path, allow_pickle=False, **found)


if __name__ == "__main__":
    for line in sys.stdin:
        serve(line.strip())
        sys.stdout.write("done\n")
        sys.stdout.flush()
