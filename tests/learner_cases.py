"""Every learner, and a problem of each kind, for the tests that hold for all."""

from typing import Any

import numpy as np
import pytest
from reference import target_kernel
from sklearn.base import BaseEstimator, clone

import mercer
from mercer import (
    AlignmentMaximization,
    ContinuousAlignment,
    EvidenceMaximization,
    ForestKernel,
    GradientOuterProduct,
    HSICWeights,
    IndependentAlignment,
    KernelOptimization,
    UniformCombination,
)
from mercer.kernels import ExponentialPower, Gaussian, Laplacian, Polynomial

ESTIMATORS: dict[str, type[BaseEstimator]] = {
    name: kind
    for name in mercer.__all__
    if isinstance(kind := getattr(mercer, name), type) and issubclass(kind, BaseEstimator)
}
"""Every public estimator, by name."""

KERNELS: list[Any] = [Gaussian(0.5), Gaussian(2.0), "linear", Polynomial(2), Laplacian(1.0)]

FINITE: dict[str, BaseEstimator] = {
    "uniform": UniformCombination(KERNELS),
    "uniform-trace": UniformCombination(KERNELS, normalize="trace"),
    "align": IndependentAlignment(KERNELS),
    "align-trace": IndependentAlignment(KERNELS, normalize="trace"),
    "hsic-1": HSICWeights(KERNELS, norm=1),
    "hsic-2": HSICWeights(KERNELS),
    "hsic-2-trace": HSICWeights(KERNELS, normalize="trace"),
    "hsic-cka": HSICWeights(KERNELS, norm="cka"),
    "alignf": AlignmentMaximization(KERNELS),
    "alignf-free": AlignmentMaximization(KERNELS, signs="free", clip_spectrum=True),
}
SEARCHING: dict[str, BaseEstimator] = {
    "ca": ContinuousAlignment(),
    "ca-stagewise": ContinuousAlignment(step="stagewise"),
    "ca-nd": ContinuousAlignment(Gaussian(ard=True), width_penalty=0.01),
    "ca-mixed": ContinuousAlignment([Gaussian(), "linear", Polynomial(2)]),
    "hsic": KernelOptimization(),
    "cka": KernelOptimization(criterion="cka"),
    "ka": KernelOptimization(criterion="ka"),
    "cka-ard": KernelOptimization(Gaussian(ard=True), "cka", width_penalty=0.0, max_iter=20),
    "cka-held": KernelOptimization(Gaussian(ard=True), "cka", width_penalty=0.3),
    "ca-scaled": ContinuousAlignment(
        scaling=KernelOptimization(Gaussian(ard=True), "cka", width_penalty=0.3)
    ),
    "evidence": EvidenceMaximization(),
    "evidence-norm-1": EvidenceMaximization(ExponentialPower(ard=True), width_deviation=0.5),
    "agop": GradientOuterProduct(n_iter=2),
    "agop-matrix": GradientOuterProduct(Gaussian(), n_iter=2, diagonal=False),
}
FOR_OUTPUT_KERNELS: dict[str, BaseEstimator] = {**FINITE, **SEARCHING}
TREES: dict[str, BaseEstimator] = {
    "boosted-trees": ForestKernel(n_trees=30, min_samples_leaf=5),
    "extra-trees": ForestKernel("extra-trees", n_trees=20),
}
LEARNERS: dict[str, BaseEstimator] = {**FOR_OUTPUT_KERNELS, **TREES}


def problem(kind: str, n: int = 60) -> tuple[np.ndarray, Any]:
    """Four features, of which the last says nothing, and a target of one kind."""
    X = np.random.default_rng(0).normal(size=(n, 4))
    score = X[:, 0] + 0.5 * X[:, 1] ** 2
    if kind == "binary":
        return X, (score > 0.5).astype(int)
    if kind == "strings":
        return X, np.array(["no", "yes"])[(score > 0.5).astype(int)]
    if kind == "three classes":
        return X, np.digitize(score, [-0.2, 0.9])
    if kind == "regression":
        return X, score
    return X, np.column_stack([score, 100.0 * np.sin(X[:, 2])])


KINDS = ["binary", "strings", "three classes", "regression", "two outputs"]


def training_gram(learner: Any, X: np.ndarray) -> np.ndarray:
    """The Gram matrix that `alignment_` is about: stagewise steps keep their part eps I."""
    etas = [step.step_size for step in learner.history_ if getattr(step, "step_size", None)]
    identity = learner.eps / sum(etas) * np.eye(len(X)) if etas else 0.0
    return learner.scale_ * learner.kernel_(X) + identity


def target_gram(kind: str, y: Any) -> np.ndarray:
    """The target kernel by its definition."""
    task = "classification" if kind in KINDS[:3] else "regression"
    return target_kernel(np.asarray(y), task)


def refused(
    estimator: BaseEstimator, X: Any, y: Any, message: str, kind: type = ValueError
) -> None:
    """A fit ends in an error with this message."""
    with pytest.raises(kind, match=message):
        clone(estimator).fit(X, y)
