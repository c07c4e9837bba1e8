"""The error of each frequency alone, on the sign of a sum of three sines."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.svm import SVC

from experiments.c_search import C_GRID
from experiments.experiment import Experiment, Measures
from experiments.problems import Array, Split, sines

HIGHEST = 20.0
N_FREQUENCIES = 1000
N_CHUNKS = 20
MAX_ITER = 20_000
"""libsvm stops after this many iterations; larger values of C are then not tried."""


def features(X: Array, frequency: float) -> Array:
    """Return features whose inner product is half the Dirichlet kernel without its constant."""
    return np.hstack([np.cos(frequency * X), np.sin(frequency * X)])


def error_of_frequency(split: Split, frequency: float) -> tuple[float, float]:
    """Return the test error with the C of best validation accuracy, and that C."""
    train, valid, test = (
        (features(X, frequency), y) for X, y in (split.train, split.valid, split.test)
    )
    best, error, chosen = -1.0, 1.0, 0.0
    for C in C_GRID:
        machine = SVC(kernel="linear", C=float(C), max_iter=MAX_ITER).fit(*train)
        if machine.n_iter_.max() >= MAX_ITER:
            break
        if (score := machine.score(*valid)) > best:
            best, error, chosen = score, 1.0 - machine.score(*test), float(C)
    return error, chosen


def scan(split: Split, frequencies: Array) -> Measures:
    """Return the errors of some frequencies."""
    found = [error_of_frequency(split, float(frequency)) for frequency in frequencies]
    errors, chosen = zip(*found, strict=True)
    return {"frequencies": frequencies, "errors": errors, "chosen": chosen}


def experiment(small: bool) -> Experiment:
    """Declare the experiment of section 3.1, Figure 1."""
    sizes = (200, 200, 400) if small else (1000, 1000, 2000)
    frequencies = HIGHEST * (np.arange(N_FREQUENCIES) + 0.5) / N_FREQUENCIES
    parts = np.array_split(frequencies[:: 20 if small else 1], 2 if small else N_CHUNKS)
    return Experiment(
        title="Error of single frequencies",
        source="Afkanpour et al. 2013, section 3.1, Figure 1",
        problems={"sine": partial(sines, sizes)},
        methods={
            f"frequencies from {part[0]:.2f}": partial(scan, frequencies=part) for part in parts
        },
        repeats=1,
    )
