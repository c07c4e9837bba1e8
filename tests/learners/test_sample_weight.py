"""Weights of samples in learners: two is the row given twice, zero the row left out."""

import numpy as np
import pytest
from sklearn.base import clone

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
from mercer.kernels import Dirichlet, Gaussian, Laplacian, Linear, Matern, Polynomial

EXTRA = ("hsic_", "objective_", "noise_", "log_marginal_likelihood_", "width_penalty_")
KERNELS = [Gaussian(0.5), Gaussian(2.0), Linear(), Laplacian(1.0), Polynomial(2)]
PER_FEATURE = [Linear(per_feature=True)]
LEARNERS = [
    (UniformCombination(), "classification"),
    (UniformCombination([Gaussian("median")]), "regression"),
    (IndependentAlignment(KERNELS, normalize="trace"), "regression"),
    (IndependentAlignment(PER_FEATURE), "classification"),
    (AlignmentMaximization(KERNELS), "classification"),
    (AlignmentMaximization(KERNELS, signs="free", clip_spectrum=True), "regression"),
    (HSICWeights(KERNELS), "classification"),
    (HSICWeights(PER_FEATURE, norm="cka"), "regression"),
    (ContinuousAlignment(certificate=True), "regression"),
    (ContinuousAlignment(step="stagewise", max_kernels=5), "classification"),
    (ContinuousAlignment(Gaussian(ard=True), max_kernels=2), "classification"),
    (ContinuousAlignment(Dirichlet(), max_kernels=2), "regression"),
    (KernelOptimization(Gaussian()), "classification"),
    (KernelOptimization(Gaussian(), "ka"), "regression"),
    (KernelOptimization(Gaussian(ard=True), "cka", width_penalty=0.1), "classification"),
    (KernelOptimization(Matern(ard=True), width_penalty=0.0, max_iter=5), "regression"),
    (KernelOptimization(Gaussian(), start=2.0), "regression"),
]
BY_RATIOS = [
    EvidenceMaximization(max_iter=5),
    GradientOuterProduct(n_iter=1),
    ForestKernel(min_samples_leaf=3, n_trees=5),
]
"""Learners that are fitted to rows drawn by weight, or whose limits count rows."""


def problem(task):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 3))
    signal = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1]
    y = signal if task == "regression" else np.digitize(signal, [-0.5, 0.5])
    weights = rng.integers(0, 4, size=24)
    return X, y, weights


def tolerance(learner):
    """Searches by gradients end where rounding decides, those of weights alone are exact."""
    return 1e-7 if hasattr(learner, "family") or hasattr(learner, "kernel") else 1e-10


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("learner", "task"), LEARNERS, ids=repr)
def test_whole_weights_repeat_rows(learner, task):
    X, y, weights = problem(task)
    counts = weights.astype(int)
    repeated = clone(learner).fit(X.repeat(counts, axis=0), y.repeat(counts))
    weighted = clone(learner).fit(X, y, sample_weight=weights)
    rtol = tolerance(learner)
    for name in ("weights_", "shares_", "alignment_", "scale_", *EXTRA):
        if hasattr(repeated, name):
            expected = getattr(repeated, name)
            np.testing.assert_allclose(getattr(weighted, name), expected, rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(weighted.kernel_(X), repeated.kernel_(X), rtol=rtol, atol=rtol)
    there = weights > 0
    first = np.cumsum(counts)[there] - 1
    assert weighted.transform(X).shape == (24, 24)
    np.testing.assert_allclose(
        weighted.transform(X)[:, there], repeated.transform(X)[:, first], rtol=rtol, atol=rtol
    )


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("learner", BY_RATIOS, ids=repr)
def test_only_ratios_of_weights_matter(learner):
    X, y, weights = problem("regression")
    one, other, equal, plain = (
        clone(learner).fit(X, y, sample_weight=w).kernel_(X)
        for w in (weights, 8.0 * weights, np.full(24, 3), None)
    )
    np.testing.assert_allclose(other, one, rtol=1e-7)
    np.testing.assert_allclose(equal, plain, rtol=1e-7)
    assert np.abs(one - plain).max() > 1e-3


def test_stacks_take_weights():
    learner = AlignmentMaximization("precomputed")
    X, y, weights = problem("classification")
    stack = np.stack([kernel(X) for kernel in KERNELS], axis=2)
    counts = weights.astype(int)
    again = np.repeat(np.repeat(stack, counts, axis=0), counts, axis=1)
    repeated = clone(learner).fit(again, y.repeat(counts))
    weighted = clone(learner).fit(stack, y, sample_weight=weights)
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-10)
    np.testing.assert_allclose(weighted.scale_, repeated.scale_, rtol=1e-10)
    assert weighted.transform(stack).shape == (24, 24)


@pytest.mark.parametrize("output_kernel", ["balanced", "gaussian", "precomputed", None])
def test_output_kernels_take_weights(output_kernel):
    X, y, weights = problem("classification")
    counts = weights.astype(int)
    y = np.asarray(y, dtype=float)
    if output_kernel == "precomputed":
        y = np.equal.outer(y, y).astype(float)
        again = np.repeat(np.repeat(y, counts, axis=0), counts, axis=1)
    else:
        again = y.repeat(counts)
    # Three whole numbers that are floating-point numbers may be classes or responses.
    task = "classification" if output_kernel is None else "auto"
    learner = AlignmentMaximization(KERNELS, output_kernel=output_kernel, task=task)
    repeated = clone(learner).fit(X.repeat(counts, axis=0), again)
    weighted = clone(learner).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(weighted.alignment_, repeated.alignment_, rtol=1e-7)


def test_negative_and_missing_weights_are_refused():
    X, y, _ = problem("regression")
    with pytest.raises(ValueError, match="Negative"):
        UniformCombination().fit(X, y, sample_weight=-np.ones(24))
    with pytest.raises(ValueError, match="positive sample_weight"):
        UniformCombination().fit(X, y, sample_weight=np.eye(24)[0])
