"""Tables and targets that tests of criteria share, and the criteria of dense matrices."""

import numpy as np
import pytest
from reference import target_kernel

from mercer._search.kernel_objectives import CRITERIA
from mercer._search.targets import Target, as_target

every_criterion = pytest.mark.parametrize("name", CRITERIA)


def table(n: int) -> np.ndarray:
    return np.random.default_rng(n).normal(size=(n, 3))


def labels(n: int, n_classes: int) -> np.ndarray:
    """Unbalanced, so that centering matters; the first few are all different."""
    drawn = np.random.default_rng(7).choice(n_classes, size=n, p=np.arange(1, n_classes + 1) / (
        n_classes * (n_classes + 1) / 2))  # fmt: skip
    drawn[:n_classes] = np.arange(n_classes)[:n]
    return drawn


def target_of(kind: str, n: int) -> tuple[Target, np.ndarray]:
    """A target, and its kernel from the definition."""
    if kind in ("two classes", "four classes"):
        y = labels(n, 2 if kind == "two classes" else 4)
        return as_target(y), target_kernel(y)
    outputs = 1 if kind == "regression" else 3
    y = np.random.default_rng(3).normal(loc=2.0, size=(n, outputs)) * [1.0, 10.0, 0.1][:outputs]
    return as_target(y), target_kernel(y, "regression")


KINDS = ["two classes", "four classes", "regression", "several outputs"]
