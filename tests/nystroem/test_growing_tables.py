"""Errors of all defaults fall as the number of rows grows, also where fits change their method."""

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from campaign import in_campaign
from sklearn.datasets import make_friedman1
from sklearn.metrics import log_loss, mean_squared_error

from mercer import (
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
)
from mercer.kernels import Gaussian, Laplacian

N_TEST, N_FEWEST = 4000, 2000
X, RESPONSES = make_friedman1(N_TEST + 32_000, n_features=6, noise=0.3, random_state=0)
LABELS = np.where(np.median(RESPONSES) < RESPONSES, 1, -1)
TEST = slice(0, N_TEST)
KERNELS = [Gaussian("median"), Laplacian("median")]
MAKE: dict[str, Callable[[], Any]] = {
    "stacked regressions": lambda: KernelStackingRegressor(KERNELS),
    "two-stage regression": TwoStageRegressor,
    "stacked classifications": lambda: KernelStackingClassifier(KERNELS),
    "two-stage classification": TwoStageClassifier,
}


def target_of(name: str) -> Any:
    return LABELS if "classification" in name else RESPONSES


@cache
def errors(name: str, n_rows: int) -> tuple[float, float]:
    """The share of wrong labels, or the squared error, and the loss that probabilities have."""
    y, train = target_of(name), slice(N_TEST, N_TEST + n_rows)
    model = MAKE[name]().fit(X[train], y[train])
    if y is LABELS:
        probabilities = model.predict_proba(X[TEST])
        return 1.0 - model.score(X[TEST], y[TEST]), log_loss(y[TEST], probabilities)
    error = mean_squared_error(y[TEST], model.predict(X[TEST]))
    return error, error


@cache
def exact_errors() -> tuple[float, float]:
    """The least errors of exact ridge regressions on few rows, chosen by the test rows."""
    Y, train = np.column_stack([LABELS, RESPONSES]), slice(N_TEST, N_TEST + N_FEWEST)
    means, wrong, squared = Y[train].mean(axis=0), [], []
    for width in (0.75, 1.5):
        gram, rows = Gaussian(width)(X[train]), Gaussian(width)(X[TEST], X[train])
        for alpha in (1e-3, 1e-1):
            system = gram + alpha * np.eye(N_FEWEST)
            solved = scipy.linalg.solve(system, Y[train] - means, assume_a="pos")
            label, response = (rows @ solved + means).T
            wrong.append(np.mean(np.sign(label) != LABELS[TEST]))
            squared.append(mean_squared_error(RESPONSES[TEST], response))
    return float(min(wrong)), float(min(squared))


@pytest.mark.parametrize(
    ("name", "n_rows"),
    [
        ("stacked regressions", 6000),
        *in_campaign(*product(MAKE, (8000, 16_000, 32_000))),
    ],
)
def test_errors_fall_below_those_of_half_as_many_rows_and_of_exact_fits_to_few(
    name: str, n_rows: int
) -> None:
    (error, loss), (_, before) = errors(name, n_rows), errors(name, n_rows // 2)
    assert loss < before
    assert error < exact_errors()["regression" in name]
