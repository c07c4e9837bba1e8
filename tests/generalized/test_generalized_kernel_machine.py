"""What generalized kernel machines share."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_moons

from mercer import (
    KernelLogisticRegression,
    KernelOrdinalClassifier,
    KernelPoissonRegressor,
    UniformCombination,
)
from mercer._gram import memory
from mercer.inspection import shapley_values
from mercer.kernels import Gaussian, Laplacian

X, LABELS = make_moons(120, noise=0.3, random_state=0)
MACHINES = [KernelLogisticRegression(), KernelPoissonRegressor(), KernelOrdinalClassifier()]
COUNTS = np.random.default_rng(0).poisson(np.exp(X[:, 0]))


@pytest.mark.parametrize(
    ("machine", "y", "scale"),
    [(KernelLogisticRegression, LABELS, "log-odds"), (KernelPoissonRegressor, COUNTS, "log rate")],
)
def test_explanations_are_those_of_a_machine_on_a_learned_kernel(
    machine: Any, y: np.ndarray, scale: str
) -> None:
    task = "regression" if scale == "log rate" else "classification"
    learner = UniformCombination([Gaussian(1.0), Laplacian(2.0)], task=task).fit(X, y)
    model = machine([learner.kernel_]).fit(X, y)
    counts = scale == "log rate"
    values = np.log(model.predict(X)) if counts else model.decision_function(X)
    expansion = model.kernel_expansion()
    assert expansion.scale == scale
    assert_allclose(expansion(X)[:, 0], values, atol=1e-9)
    found = shapley_values(model, X[:3], X[5:30], n_permutations="all")
    total = np.ravel(found.values.sum(axis=1) + found.base_value)
    assert_allclose(total, values[:3], atol=1e-8)


@pytest.mark.parametrize("model", MACHINES)
def test_fits_beyond_memory_are_refused(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_UNCHECKED", 0.0)
    monkeypatch.setattr(memory, "available_memory", lambda: 8.0 * 5 * 120**2 - 1.0)
    with pytest.raises(MemoryError, match=r"120 rows .* for 5 Gram"):
        model.fit(X, LABELS)
