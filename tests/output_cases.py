"""Outputs of each kind and their output kernels, beside the Gram matrices they stand for."""

from typing import Any

import numpy as np
from learner_cases import problem
from reference import gaussian, output_kernel
from sklearn.gaussian_process.kernels import RBF

from mercer.kernels import Gaussian, Laplacian, Linear

SIMILARITIES = np.array([[1.0, 0.6, 0.1], [0.6, 1.0, 0.0], [0.1, 0.0, 2.0]])
"""Of three classes, the first two of which are near each other."""

CASES = [
    "labels",
    "delta",
    "balanced",
    "similarities",
    "linear",
    "gaussian",
    "gaussian of two",
    "kernel",
    "rough kernel",
    "linear kernel",
    "foreign kernel",
    "multilabel",
    "precomputed",
]
CLASSES = CASES[:4]


def samples(n: int = 60) -> np.ndarray:
    """Those of all problems."""
    return problem("regression", n)[0]


def score(n: int = 60) -> np.ndarray:
    """What outputs follow, of the samples of all problems."""
    X = samples(n)
    return X[:, 0] + 0.5 * X[:, 1] ** 2


def outputs(case: str, score: np.ndarray) -> tuple[Any, Any, np.ndarray]:
    """Outputs that follow a score, their output kernel and the dense matrix L."""
    y, two = score, np.column_stack([score, 100.0 * np.sin(score)])
    if case in CLASSES:
        y = np.array(["elm", "ash", "oak"])[np.digitize(score, [-0.2, 1.2])]
        kernel = SIMILARITIES if case == "similarities" else case
        return y, kernel, output_kernel(y, kernel)
    if case == "multilabel":
        y = np.column_stack([score > 0.0, score > 1.0, np.sin(3.0 * score) > 0.0]).astype(int)
        return y, case, output_kernel(y, case)
    if case == "precomputed":
        L = gaussian(score[:, None], 1.0)
        return L, case, L
    if case in ("linear", "gaussian"):
        return y, case, output_kernel(y, case)
    if case == "gaussian of two":
        return two, "gaussian", output_kernel(two, "gaussian")
    if case == "linear kernel":
        return two, Linear(), two @ two.T
    D = np.abs(score[:, None] - score)
    if case == "rough kernel":
        return y, Laplacian(2.0), np.exp(-D / 2.0)
    kernel = Gaussian(2.0) if case == "kernel" else RBF(np.sqrt(2.0))
    return y, kernel, np.exp(-(D**2) / 4.0)
