"""xRFM in an environment of its own, since it needs torch; see `INSTALLATION`."""

from __future__ import annotations

import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.experiment import Unavailable

# The environment variable that names the Python interpreter with xRFM.
VARIABLE = "MERCER_XRFM_PYTHON"

# How to make the environment: xRFM 0.4.5 with the CPU build of torch.
INSTALLATION = (
    "python3 -m venv xrfm; xrfm/bin/pip install torch --index-url "
    "https://download.pytorch.org/whl/cpu; xrfm/bin/pip install xrfm==0.4.5; export "
    f"{VARIABLE}=$PWD/xrfm/bin/python"
)

WORKER = Path(__file__).with_name("xrfm_worker.py")


def fit_xrfm(
    X: NDArray[np.float64], y: NDArray[np.float64], X_test: NDArray[np.float64], *, classes: bool
) -> dict[str, NDArray[np.float64]]:
    """Fit xRFM with its defaults, and predict.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        Class codes, or standardized responses.
    X_test : ndarray of shape (n_test, n_features)
    classes : bool

    Returns
    -------
    dict of str to ndarray
        "predicted", "fit_seconds", "predict_seconds" and, for classes, "probabilities".

    Raises
    ------
    Unavailable
        If the environment variable is not set.
    """
    interpreter = os.environ.get(VARIABLE)
    if not interpreter:
        raise Unavailable(f"xRFM: {VARIABLE} names no Python interpreter with it ({INSTALLATION})")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        np.savez(path, X=X, y=y, X_test=X_test, classes=np.array(classes))
        ask(interpreter, path)
        with np.load(path) as found:
            return dict(found)


def ask(interpreter: str, path: Path) -> None:
    """Let the worker of this process replace a file of rows by one of predictions."""
    process = worker(interpreter)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{path}\n")
    process.stdin.flush()
    if process.stdout.readline() != "done\n":
        worker.cache_clear()
        raise RuntimeError("xRFM failed; the reason stands in its own output")


@cache
def worker(interpreter: str) -> subprocess.Popen[str]:
    """Start the worker, which ends with this process; importing torch takes longer than a fit."""
    return subprocess.Popen(
        [interpreter, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
