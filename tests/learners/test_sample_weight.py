"""Weights of samples: two is the row given twice, zero the row left out."""

from typing import Any

import bayesian_cases
import numpy as np
import one_stage_cases
import pytest
from learner_cases import FINITE, KERNELS, SEARCHING
from numpy.testing import assert_allclose
from sklearn.base import ClassifierMixin, RegressorMixin, clone, is_classifier

from mercer import (
    AlignmentMaximization,
    BayesianMKLClassifier,
    BayesianMKLRegressor,
    ContinuousAlignment,
    ContinuousMKLClassifier,
    ContinuousMKLRegressor,
    EvidenceMaximization,
    ForestKernel,
    GradientOuterProduct,
    HSICWeights,
    IndependentAlignment,
    KernelOptimization,
    MKLClassifier,
    MKLRegressor,
    UniformCombination,
)
from mercer.kernels import Dirichlet, Gaussian, Linear, Matern

FEW = [Gaussian(0.5), Gaussian(2.0), Linear()]
PER_FEATURE = [Linear(per_feature=True)]
BY_RATIOS = [
    EvidenceMaximization(max_iter=5),
    GradientOuterProduct(n_iter=1),
    ForestKernel(min_samples_leaf=3, n_trees=5),
]
"""Learners that are fitted to rows drawn by weight, or whose limits count rows."""
LEARNERS = [
    *(made for made in {**FINITE, **SEARCHING}.values() if type(made) not in map(type, BY_RATIOS)),
    UniformCombination(),
    UniformCombination([Gaussian("median")]),
    IndependentAlignment(PER_FEATURE),
    HSICWeights(PER_FEATURE, norm="cka"),
    ContinuousAlignment(certificate=True),
    ContinuousAlignment(Dirichlet(), max_kernels=2),
    KernelOptimization(Matern(ard=True), width_penalty=0.0, max_iter=5),
    KernelOptimization(Gaussian(), start=2.0),
]
MACHINES = [
    *(
        clone(made).set_params(kernels=KERNELS)
        for name, made in one_stage_cases.SOLVERS.items()
        # Where C is large, steps end where rounding decides.
        if name != "svm-1-c100"
    ),
    MKLClassifier(KERNELS, solver="alternating", norm=2.0),
    MKLRegressor(KERNELS, norm=1.0, loss="epsilon_insensitive", solver="interior_point"),
    MKLClassifier(PER_FEATURE, loss="squared"),
    MKLClassifier(PER_FEATURE, loss="squared", fit_intercept=False),
    MKLClassifier(PER_FEATURE, loss="logistic"),
]
SEARCHES = [
    MKLClassifier(),
    ContinuousMKLClassifier(max_kernels=3),
    ContinuousMKLClassifier(loss="squared", step="stagewise", max_kernels=3),
    ContinuousMKLClassifier(Gaussian(ard=True), loss="logistic", max_kernels=2),
    ContinuousMKLRegressor(loss="epsilon_insensitive", max_kernels=3),
]
"""They read widths off rows that are drawn evenly, and end where rounding decides."""
BAYESIAN = [
    *(clone(made).set_params(kernels=FEW) for made in bayesian_cases.SOLVERS.values()),
    BayesianMKLClassifier([Gaussian()], learn_parameters=True),
    BayesianMKLRegressor([Gaussian()], learn_parameters=True),
    BayesianMKLRegressor(PER_FEATURE),
]
TASKS = ("classification", "regression")


def task_of(place: int, estimator: Any) -> str:
    """The task of an estimator; learners take turns."""
    if not isinstance(estimator, (ClassifierMixin, RegressorMixin)):
        return TASKS[place % 2]
    return TASKS[not is_classifier(estimator)]


CASES = [
    (made, task_of(place, made))
    for place, made in enumerate([*LEARNERS, *MACHINES, *SEARCHES, *BAYESIAN])
]
NUMBERS = (
    *("weights_", "shares_", "alignment_", "scale_", "objective_", "hsic_", "excess_"),
    *("noise_", "log_marginal_likelihood_", "noise_variance_", "width_penalty_"),
    *("intercept_", "y_mean_", "y_scale_"),
)


def problem(task: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 3))
    signal = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] + 0.3 * rng.normal(size=24)
    y = signal if task == "regression" else np.digitize(signal, [-0.4, 0.4])
    return X, y, rng.integers(0, 4, size=24)


def tolerance(estimator: Any) -> float:
    """Searches by gradients end where rounding decides, those of weights alone are exact."""
    if hasattr(estimator, "family") or hasattr(estimator, "kernel"):
        return 1e-7
    return 1e-9 if isinstance(estimator, (ClassifierMixin, RegressorMixin)) else 1e-10


def answers(model: Any, X: np.ndarray) -> np.ndarray:
    """What a model says of rows: kernel values, probabilities, or predictions with deviations."""
    if isinstance(model, BayesianMKLRegressor) and len(model.cholesky_):
        return np.column_stack(model.predict(X, return_std=True))
    for method in ("_values", "predict_proba", "predict"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X))
    return np.asarray(model.kernel_(X))


def assert_same(found: Any, expected: Any, X: np.ndarray, rtol: float) -> None:
    atol = rtol if hasattr(expected, "dual_coef_") else 1e-12
    for name in NUMBERS:
        value = getattr(expected, name, None)
        if value is not None and not isinstance(value, list):
            assert_allclose(getattr(found, name), value, rtol=rtol, atol=atol, err_msg=name)
    assert_allclose(found.kernel_(X), expected.kernel_(X), rtol=rtol, atol=rtol)
    assert_allclose(answers(found, X), answers(expected, X), rtol=rtol, atol=rtol)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("estimator", "task"), CASES, ids=repr)
def test_whole_weights_repeat_rows(estimator: Any, task: str) -> None:
    X, y, weights = problem(task)
    repeated = clone(estimator).fit(X.repeat(weights, axis=0), y.repeat(weights))
    weighted = clone(estimator).fit(X, y, sample_weight=weights)
    assert_same(weighted, repeated, X, tolerance(estimator))
    if hasattr(weighted, "dual_gap_"):
        assert weighted.dual_gap_ == pytest.approx(repeated.dual_gap_, rel=1e-4, abs=1e-9)
    if hasattr(weighted, "dual_coef_"):
        assert weighted.dual_coef_.shape[0] == len(X)
        assert not weighted.dual_coef_[weights == 0].any()
        return
    there = weights > 0
    rows, others = weighted.transform(X), repeated.transform(X)[:, np.cumsum(weights)[there] - 1]
    assert rows.shape == (24, 24)
    assert_allclose(rows[:, there], others, rtol=tolerance(estimator), atol=tolerance(estimator))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", MACHINES[::2], ids=repr)
def test_weights_that_are_not_whole_share_rows(estimator: Any) -> None:
    X, y, weights = problem("classification" if is_classifier(estimator) else "regression")
    weights = weights + 0.7
    part = np.random.default_rng(1).uniform(0.2, 0.8, size=len(X)) * weights
    twice = clone(estimator).fit(
        np.vstack([X, X]), np.concatenate([y, y]), sample_weight=np.append(part, weights - part)
    )
    once = clone(estimator).fit(X, y, sample_weight=weights)
    assert_same(once, twice, X, 1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("learner", BY_RATIOS, ids=repr)
def test_only_ratios_of_weights_matter(learner: Any) -> None:
    X, y, weights = problem("regression")
    one, other, equal, plain = (
        clone(learner).fit(X, y, sample_weight=w).kernel_(X)
        for w in (weights, 8.0 * weights, np.full(24, 3), None)
    )
    assert_allclose(other, one, rtol=1e-7)
    assert_allclose(equal, plain, rtol=1e-7)
    assert np.abs(one - plain).max() > 1e-3


def repeated_pairs(gram: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return np.repeat(np.repeat(gram, counts, axis=0), counts, axis=1)


@pytest.mark.parametrize(
    "estimator",
    [
        AlignmentMaximization("precomputed"),
        MKLClassifier("precomputed"),
        BayesianMKLRegressor("precomputed", noise=0.1, tol=1e-6),
    ],
    ids=repr,
)
def test_stacks_take_weights(estimator: Any) -> None:
    X, y, weights = problem("classification" if is_classifier(estimator) else "regression")
    stack = np.stack([kernel(X) for kernel in FEW], axis=2)
    weighted = clone(estimator).fit(stack, y, sample_weight=weights)
    repeated = clone(estimator).fit(repeated_pairs(stack, weights), y.repeat(weights))
    if isinstance(estimator, BayesianMKLRegressor):
        assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-6)
        rows = np.repeat(stack, weights, axis=1)
        assert_allclose(weighted.predict(stack), repeated.predict(rows), atol=2e-3)
        return
    assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-9, atol=1e-12)
    if isinstance(estimator, AlignmentMaximization):
        assert_allclose(weighted.scale_, repeated.scale_, rtol=1e-10)
        assert weighted.transform(stack).shape == (24, 24)
        return
    expected = repeated._values(np.repeat(stack, weights, axis=1))
    assert_allclose(weighted._values(stack), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("output_kernel", ["balanced", "gaussian", "precomputed", None])
def test_output_kernels_take_weights(output_kernel: Any) -> None:
    X, labels, weights = problem("classification")
    y = labels.astype(float)
    again = y.repeat(weights)
    if output_kernel == "precomputed":
        y = np.equal.outer(y, y).astype(float)
        again = repeated_pairs(y, weights)
    # Three whole numbers that are floating-point numbers may be classes or responses.
    task = "classification" if output_kernel is None else "auto"
    learner = AlignmentMaximization(KERNELS, output_kernel=output_kernel, task=task)
    repeated = clone(learner).fit(X.repeat(weights, axis=0), again)
    weighted = clone(learner).fit(X, y, sample_weight=weights)
    assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-7, atol=1e-10)
    assert_allclose(weighted.alignment_, repeated.alignment_, rtol=1e-7)


def test_negative_and_missing_weights_are_refused() -> None:
    X, y, _ = problem("regression")
    with pytest.raises(ValueError, match="Negative"):
        UniformCombination().fit(X, y, sample_weight=-np.ones(24))
    with pytest.raises(ValueError, match="positive sample_weight"):
        UniformCombination().fit(X, y, sample_weight=np.eye(24)[0])


# --- weights of classes ------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [MKLClassifier(KERNELS), ContinuousMKLClassifier(tol=0.1)])
def test_weights_of_classes_multiply_those_of_samples(estimator: Any) -> None:
    X, y, weights = problem("classification")
    factors = np.array([1.0, 3.0, 2.0])
    given = clone(estimator).set_params(class_weight=dict(enumerate(factors)))
    given.fit(X, y, sample_weight=weights)
    multiplied = clone(estimator).fit(X, y, sample_weight=weights * factors[y])
    assert_same(given, multiplied, X, 1e-12)


def test_balanced_classes_have_equal_weight_after_those_of_samples() -> None:
    X, y, weights = problem("classification")
    balanced = MKLClassifier(KERNELS, class_weight="balanced").fit(X, y, sample_weight=weights)
    factors = weights.sum() / (3 * np.bincount(y, weights=weights))
    expected = MKLClassifier(KERNELS).fit(X, y, sample_weight=weights * factors[y])
    assert_same(balanced, expected, X, 1e-12)
    repeated = MKLClassifier(KERNELS, class_weight="balanced")
    repeated.fit(X.repeat(weights, axis=0), y.repeat(weights))
    assert_same(balanced, repeated, X, 1e-9)


@pytest.mark.parametrize("class_weight", ["even", {7: 1.0}, {0: -1.0}])
def test_weights_of_classes_that_are_not_valid_are_refused(class_weight: Any) -> None:
    X, y, _ = problem("classification")
    with pytest.raises(ValueError, match=r"class_weight|Negative"):
        MKLClassifier(KERNELS, class_weight=class_weight).fit(X, y)
