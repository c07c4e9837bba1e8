"""The loop of programs that fit a method in an environment of its own; it needs only numpy.

It reads the name of a file with training and test rows from each line of its input, replaces that
file by one with the predictions, and then prints a line. What a method prints goes to the standard
error.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import numpy as np

# A function from training rows, their targets (class codes, or standardized responses) and whether
# these are classes, to a fitted model.
Fit = Callable[[Any, Any, bool], Any]


def serve(fit: Fit) -> None:
    """Answer each line of the standard input."""
    for line in sys.stdin:
        with redirect_stdout(sys.stderr):
            answer(line.strip(), fit)
        sys.stdout.write("done\n")
        sys.stdout.flush()


def answer(path: str, fit: Fit) -> None:
    """Read training and test rows, and write predictions, probabilities and processor seconds."""
    with np.load(path) as file:
        data = dict(file)
    classes = bool(data["classes"])
    X, X_test = (data[name].astype(np.float32) for name in ("X", "X_test"))
    y = data["y"].astype(np.int64) if classes else data["y"].astype(np.float32)
    start = time.process_time()
    model = fit(X, y, classes)
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
