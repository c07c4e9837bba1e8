"""Kernels of one's own that are not positive semi-definite are named."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process import kernels as gp

from mercer import KernelOptimization, MKLClassifier, UniformCombination
from mercer._gram.own_kernels import indefinite_kernels
from mercer.kernels import (
    CallableKernel,
    Gaussian,
    Kernel,
    Linear,
    OnColumns,
    Product,
    SklearnKernel,
    WeightedSum,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.sin(2.0 * X[:, 0])


def sigmoid(A: Any, B: Any) -> Any:
    """A function of inner products that is no kernel."""
    return np.tanh(2.0 * A @ B.T - 1.0)


def opposite(A: Any, B: Any) -> Any:
    """The opposite of inner products."""
    return -A @ B.T


def minus_distance(A: Any, B: Any) -> Any:
    """Positive semi-definite once it is centered."""
    return -np.abs(A[:, :1] - B[:, :1].T)


class Squared(Kernel):
    """A kernel of one's own."""

    def values(self, X: Any, Z: Any) -> Any:
        return (X @ Z.T) ** 2


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (CallableKernel(sigmoid), "sigmoid"),
        (WeightedSum([Linear(), Gaussian(1.0)], [1.0, -2.0]), "1 x Linear + -2 x Gaussian"),
        (Product([Gaussian(2.0), CallableKernel(opposite)]), "(Gaussian, width 2) x (opposite)"),
        (SklearnKernel(gp.PairwiseKernel(metric="sigmoid")), "PairwiseKernel"),
    ],
)
def test_indefinite_kernels_are_named(kernel: Kernel, name: str) -> None:
    told, counts = indefinite_kernels([Gaussian(1.0), kernel], np.ones(2), X)
    assert told.startswith(f"'{name}")
    assert told.endswith("not positive semi-definite: eigenvalues on training rows are negative")
    assert counts
    told, counts = indefinite_kernels([Gaussian(1.0), kernel], np.array([1.0, 0.0]), X)
    assert told
    assert not counts


@pytest.mark.parametrize(
    "kernel",
    [
        Squared(),
        CallableKernel(minus_distance),
        CallableKernel(lambda A, B: np.zeros((len(A), len(B)))),
        CallableKernel(lambda A, B: 1e6 + 1e-3 * A @ B.T),
        WeightedSum([CallableKernel(sigmoid), Linear()], [0.0, 1.0]),
        SklearnKernel(gp.RBF(30.0) + gp.WhiteKernel(0.1)),
    ],
)
def test_kernels_and_rounding_are_not_told_of(kernel: Kernel) -> None:
    assert indefinite_kernels([kernel], np.ones(1), X) == ("", False)


def test_kernels_of_mercer_are_not_evaluated() -> None:
    many = sp.csr_matrix((10, 2))
    assert indefinite_kernels([Gaussian(np.ones(7)), Linear()], np.ones(2), many) == ("", False)


def test_those_that_count_are_named_first_and_each_once() -> None:
    kernels = [CallableKernel(kernel) for kernel in (opposite, sigmoid, sigmoid)]
    told, _ = indefinite_kernels(kernels, np.array([0.0, 1.0, 1.0]), X)
    assert told.startswith("'sigmoid' is not")
    several = [OnColumns(CallableKernel(opposite), [z]) for z in (0, 1)]
    several += [OnColumns(CallableKernel(sigmoid), [z]) for z in (0, 1)]
    assert " and 1 more are not" in indefinite_kernels(several, np.ones(4), X)[0]


def test_learners_and_machines_warn() -> None:
    labels = Y > 0.0
    with pytest.warns(UserWarning, match=r"'sigmoid' is not .*may fail.*clip_spectrum=True"):
        UniformCombination([Gaussian(2.0), sigmoid]).fit(X, Y)
    with pytest.warns(UserWarning, match="'sigmoid' is not positive semi-definite"):
        KernelOptimization(sigmoid).fit(X, labels)
    with pytest.warns(UserWarning, match=r"'opposite' is not .* the learned kernel is zero"):
        model = MKLClassifier([Gaussian(2.0), opposite]).fit(X, labels)
    assert model.weights_[1] == 0.0
    assert UniformCombination([Squared(), minus_distance]).fit(X, Y).weights_.tolist() == [0.5, 0.5]
