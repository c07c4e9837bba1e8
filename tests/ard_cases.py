"""What tests of ARD kernels share: a table with one decisive feature, learners, parameters."""

from typing import Any

import numpy as np
import pytest
from reference import REFERENCES

from mercer import KernelOptimization
from mercer.kernels import Gaussian

FORMS = ("widths", "log_widths", "inverse_widths")

every_form = pytest.mark.parametrize("form", FORMS)
every_criterion = pytest.mark.parametrize("criterion", REFERENCES)


def table(seed: int = 0, n: int = 40, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """The first feature decides, the second helps, the others are noise; units differ a little."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] + 0.3 * X[:, 1] ** 2 + 0.2 * rng.normal(size=n) > 0.3).astype(int)
    return X * np.exp(0.5 * rng.normal(size=d)), y


def ard_learner(criterion: str = "cka", kernel: Any = None, **settings: Any) -> KernelOptimization:
    kernel = Gaussian(ard=True) if kernel is None else kernel
    return KernelOptimization(kernel, criterion, **settings)


def widths(learner: KernelOptimization) -> np.ndarray:
    kernel = learner.kernels_[0]
    return np.exp(kernel.theta[: kernel.structure.n_widths])
