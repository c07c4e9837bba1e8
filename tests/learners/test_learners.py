"""Every learner: fitted attributes, invariances, and use within scikit-learn."""

import numpy as np
import pytest
import sklearn
from learner_cases import KERNELS, KINDS, LEARNERS, problem, target_gram, training_gram
from numpy.testing import assert_allclose, assert_array_equal
from reference import alignf, center, centered_alignment, hsic
from sklearn.base import BaseEstimator, clone

from mercer import (
    AlignmentMaximization,
    HSICWeights,
    UniformCombination,
)
from mercer.kernels import Gaussian, Kernel, Linear, OnColumns, as_kernel

TURNS = [(made, KINDS[place % len(KINDS)]) for place, made in enumerate(LEARNERS.values())]


@pytest.mark.parametrize(("learner", "kind"), TURNS, ids=repr)
def test_fitted_attributes(learner: BaseEstimator, kind: str) -> None:
    X, y = problem(kind)
    fitted = clone(learner).fit(X, y)
    assert_allclose(np.abs(fitted.weights_).sum(), 1.0, rtol=1e-12)
    assert len(fitted.kernels_) == fitted.weights_.size
    assert_allclose(fitted.kernel_.weights, fitted.weights_ / fitted.scale_, rtol=1e-12)
    expected = centered_alignment(training_gram(fitted, X), target_gram(kind, y))
    assert_allclose(fitted.alignment_, expected, rtol=1e-7)
    assert fitted.alignment_ > 0.1
    assert len(fitted.history_) >= 1
    assert fitted.n_iter_ >= 1
    assert_array_equal(fitted.X_fit_, X)
    assert fitted.kernel_.relevance(4).shape == (4,)
    Z = np.random.default_rng(5).normal(size=(7, 4))
    gram = fitted.transform(X)
    assert np.linalg.eigvalsh(gram).min() > -1e-6 * np.trace(gram)
    if not getattr(learner, "clip_spectrum", False):
        assert_allclose(fitted.transform(Z), fitted.kernel_(Z, X), atol=1e-12)
        assert_allclose(gram, fitted.kernel_(X), atol=1e-7)


@pytest.mark.parametrize(
    "name", ["alignf", "hsic-2", "ca", "ca-nd", "cka-ard", "evidence", "agop", "boosted-trees"]
)
def test_the_order_of_rows_does_not_matter(name: str) -> None:
    """Also where values are coarse, with ties and duplicated rows."""
    X, y = problem("three classes", 100)
    X = np.round(X, 1)
    order = np.random.default_rng(1).permutation(len(X))
    here, there = clone(LEARNERS[name]).fit(X, y), clone(LEARNERS[name]).fit(X[order], y[order])
    assert_allclose(there.alignment_, here.alignment_, rtol=1e-6)
    size = np.abs(here.kernel_(X)).max()
    assert_allclose(there.kernel_(X), here.kernel_(X), atol=1e-3 * size)
    assert_allclose(there.transform(X)[:, np.argsort(order)], here.transform(X), atol=1e-3 * size)


# --- finite dictionaries ----------------------------------------------------------------------


def grams(X: np.ndarray) -> list[np.ndarray]:
    return [as_kernel(kernel)(X) for kernel in KERNELS]


@pytest.mark.parametrize("kind", ["strings", "two outputs"])
def test_weights_against_the_definitions(kind: str) -> None:
    X, y = problem(kind)
    matrices, L = grams(X), target_gram(kind, y)
    p = len(matrices)
    alignments = np.array([centered_alignment(K, L) for K in matrices])
    traces = np.array([np.trace(center(K)) for K in matrices])
    criteria = np.array([hsic(K, L) for K in matrices])
    expected = {
        "uniform": np.full(p, 1.0 / p),
        "uniform-trace": (1.0 / traces) / np.sum(1.0 / traces),
        "align": alignments / alignments.sum(),
        "align-trace": (alignments / traces) / np.sum(alignments / traces),
        "hsic-1": np.eye(p)[criteria.argmax()],
        "hsic-2": criteria / criteria.sum(),
        "hsic-2-trace": (criteria / traces**2) / np.sum(criteria / traces**2),
        "hsic-1-trace": np.eye(p)[(criteria / traces).argmax()],
        "hsic-cka": alignf(matrices, L),
        "hsic-cka-trace": alignf(matrices, L),
        "alignf": alignf(matrices, L),
    }
    learners = {
        **LEARNERS,
        "hsic-1-trace": HSICWeights(KERNELS, norm=1, normalize="trace"),
        "hsic-cka-trace": HSICWeights(KERNELS, norm="cka", normalize="trace"),
    }
    for name, weights in expected.items():
        learner = clone(learners[name]).fit(X, y)
        assert_allclose(learner.weights_, weights, rtol=1e-7, atol=1e-10, err_msg=name)
        if isinstance(learner, HSICWeights):
            values = criteria / traces if learner.normalize else criteria
            assert_allclose(learner.hsic_, values, rtol=1e-8, err_msg=name)


def negative_problem() -> tuple[np.ndarray, np.ndarray, list[Kernel]]:
    """The difference of two kernels fits better than any sum."""
    X, y = problem("regression")
    return X, y, [OnColumns(Linear(), [0, 1, 2]), OnColumns(Linear(), [1, 2]), Gaussian(2.0)]


def test_weights_of_either_sign_are_warned_of() -> None:
    X, y, kernels = negative_problem()
    with pytest.warns(UserWarning, match="may not be positive semi-definite: set clip_spectrum"):
        learner = AlignmentMaximization(kernels, signs="free").fit(X, y)
    assert (learner.weights_ < 0).any()
    assert not learner.is_psd_
    A = np.stack([center(k(X)).ravel() for k in kernels], axis=1)
    solution = np.linalg.lstsq(A, center(target_gram("regression", y)).ravel(), rcond=None)[0]
    assert_allclose(learner.weights_, solution / np.abs(solution).sum(), atol=1e-8)
    assert AlignmentMaximization(kernels).fit(X, y).is_psd_


def test_a_clipped_spectrum_is_a_kernel() -> None:
    X, y, kernels = negative_problem()
    learner = AlignmentMaximization(kernels, signs="free", clip_spectrum=True).fit(X, y)
    assert learner.is_psd_
    gram = learner.kernel_(X)
    values, vectors = np.linalg.eigh(gram)
    assert values[0] < -1e-3
    clipped = (vectors * np.maximum(values, 0.0)) @ vectors.T
    assert_allclose(learner.transform(X), clipped, atol=1e-9 * values[-1])
    assert np.linalg.eigvalsh(learner.transform(X)).min() > -1e-9 * values[-1]
    assert_allclose(learner.transform(X[:5]), clipped[:5], atol=1e-9 * values[-1])


def test_indefinite_kernels_are_noticed() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.sign(X[:, 0] - 0.3)

    def negative(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.asarray(A[:, :1] * B[:, :1].T - 0.5 * A[:, 1:] * B[:, 1:].T)

    told = "'negative' is not positive semi-definite: eigenvalues on training rows are negative"
    with pytest.warns(UserWarning, match=f"{told}, so the learned combination may not be"):
        assert not AlignmentMaximization([negative]).fit(X, y).is_psd_
    clipped = AlignmentMaximization([negative], clip_spectrum=True).fit(X, y)
    assert clipped.is_psd_
    assert np.linalg.eigvalsh(clipped.transform(X)).min() > -1e-8
    assert AlignmentMaximization([lambda A, B: A @ B.T]).fit(X, y).is_psd_


# --- memory and names ---------------------------------------------------------------------------


def test_little_working_memory_learns_the_same() -> None:
    X, y = problem("binary", 420)
    for name in ("alignf", "ca", "cka"):
        learner = clone(LEARNERS[name]).fit(X, y)
        with sklearn.config_context(working_memory=0.5):
            again = clone(learner).fit(X, y)
        assert_allclose(again.kernel_(X), learner.kernel_(X), atol=1e-6)


def test_names_stand_for_kernels_of_the_data_s_width() -> None:
    X = 1e6 * np.random.default_rng(0).normal(size=(30, 2))
    [kernel] = UniformCombination(["gaussian"]).fit(X, X[:, 0] > 0).kernels_
    assert kernel == Gaussian("median").bind(X)
