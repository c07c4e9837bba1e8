"""Fits that need more memory for Gram matrices than there is are refused before any work."""

import tracemalloc

import pytest
from learner_cases import problem
from sklearn import config_context
from sklearn.base import clone

from mercer import (
    L2KRR,
    BayesianMKLClassifier,
    BayesianMKLRegressor,
    ContinuousMKLClassifier,
    HSICClustering,
    KernelLogisticRegression,
    MKLClassifier,
    UniformCombination,
)
from mercer._gram import memory
from mercer.kernels import Gaussian, Linear

MATRICES = {
    "mkl": (MKLClassifier(loss="logistic", solver="newton"), 4),
    "l2-krr": (L2KRR(solver="newton"), 4),
    "cr": (ContinuousMKLClassifier(), 5),
    "bayes": (BayesianMKLClassifier(), 11),
    "bayes-parameters": (BayesianMKLRegressor(learn_parameters=True), 3),
    "logistic": (KernelLogisticRegression(), 5),
    "clusters": (HSICClustering(2), 2),
}
"""Estimators that need n x n matrices, and how many."""


@pytest.mark.parametrize("name", MATRICES)
def test_gram_matrices_beyond_memory_are_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, matrices = MATRICES[name]
    X, y = problem("binary")
    monkeypatch.setattr(memory, "_UNCHECKED", 0.0)
    monkeypatch.setattr(memory, "available_memory", lambda: 8.0 * matrices * len(X) ** 2 - 1.0)
    with pytest.raises(MemoryError, match=rf"60 rows .* for {matrices} Gram .*fit fewer rows"):
        clone(model).fit(X, y)
    assert not hasattr(model, "kernel_")


@pytest.mark.parametrize("name", ["mkl", "l2-krr", "cr", "clusters"])
def test_so_many_gram_matrices_are_in_memory(name: str) -> None:
    model, matrices = MATRICES[name]
    X, y = problem("binary", 800)
    model = clone(model)
    if name != "clusters":
        model.set_params(tol=0.05, **({} if name == "cr" else {"kernels": [Gaussian(), Linear()]}))
    tracemalloc.start()
    with config_context(working_memory=1):
        model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1] / (8 * len(X) ** 2)
    tracemalloc.stop()
    assert matrices - 0.75 < peak < matrices + 0.75


def test_a_gram_matrix_beyond_memory_is_refused_before_the_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = problem("binary")
    monkeypatch.setattr(memory, "_UNCHECKED", 0.0)
    monkeypatch.setattr(memory, "available_memory", lambda: 8.0 * len(X) ** 2 - 1.0)
    learner = UniformCombination()
    with pytest.raises(MemoryError, match=r"60 rows need about 0\.03 MiB .* for a Gram matrix"):
        learner.fit_transform(X, y)
    assert not hasattr(learner, "kernel_")
    learner.fit(X, y)
