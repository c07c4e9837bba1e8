"""Every learner: fitted attributes, invariances, kernels that they take, and stacks of them."""

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from learner_cases import (
    FINITE,
    KERNELS,
    KINDS,
    LEARNERS,
    problem,
    refused,
    target_gram,
    training_gram,
)
from numpy.testing import assert_allclose, assert_array_equal
from reference import alignf, center, centered_alignment, gaussian, hsic, target_kernel
from sklearn.base import BaseEstimator, clone

from mercer import (
    AlignmentMaximization,
    ContinuousAlignment,
    HSICWeights,
    IndependentAlignment,
    KernelOptimization,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer._search.weights.alignment_weights import dependence_weights
from mercer.datasets import make_sine
from mercer.kernels import CallableKernel, Dirichlet, Gaussian, Kernel, Linear, OnColumns, as_kernel

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


# --- kernels ----------------------------------------------------------------------------------

MAKERS = [ContinuousAlignment, AlignmentMaximization]


@pytest.mark.parametrize("make", MAKERS)
def test_unknown_kernels(make: Any) -> None:
    X, y = problem("binary")
    refused(make(lambda A, B: np.ones(3)), X, y, r"returned an array of shape \(3,\) where")
    refused(make("gausian"), X, y, "Unknown kernel 'gausian'; known names: .*dirichlet, .*gaussian")
    refused(make(3), X, y, "must be a mercer kernel, a name, a callable", TypeError)
    refused(make(Gaussian), X, y, "must be a mercer kernel, a name, a callable", TypeError)
    refused(make([]), X, y, "dictionary of kernels is empty")
    refused(make([Gaussian(), None]), X, y, "must be a mercer kernel", TypeError)
    message = "dense data is required by the kernel"
    refused(make(lambda A, B: A @ B.T), sp.csr_array(X), y, message, TypeError)
    refused(ContinuousAlignment("precomputed"), X, y, "precomputed")


@pytest.mark.parametrize("make", [*MAKERS, KernelOptimization])
def test_kernels_that_return_nan_or_infinity(make: Any) -> None:
    X, y = problem("binary")

    def broken(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        gram = gaussian(A, 1.0, B)
        if len(A) > 1:
            gram[1, -1] = gram[-1, 1] = np.nan
        return gram

    message = "Kernel returned NaN or infinity on the training samples: broken"
    refused(make(broken), X, y, message)
    refused(make(lambda A, B: np.full((len(A), len(B)), np.inf)), X, y, "NaN or infinity")
    if make is AlignmentMaximization:
        refused(make([Gaussian(), CallableKernel(broken), "linear"]), X, y, message)


# --- parameters of learners -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (
            ContinuousAlignment(Gaussian(ard=True), certificate=True),
            "certificate=True needs families of one width or frequency",
        ),
    ],
)
def test_settings(learner: BaseEstimator, message: str) -> None:
    X, y = problem("binary")
    refused(learner, X, y, message)


# --- one kernel a feature ---------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_thousands_of_rank_one_kernels(container: Any) -> None:
    """800 samples, 1000 features: one Gram matrix is 5 MB, all of them 5 GB."""
    n, p = 800, 1000
    rng = np.random.default_rng(0)
    X = sp.random_array((n, p), density=0.01, rng=rng, format="csr")
    y = np.sign(np.asarray(X[:, :50].sum(axis=1)).ravel() - 0.25)
    dense = X.toarray()
    table = container(dense)
    learner = IndependentAlignment([Linear(per_feature=True)], normalize="trace")
    tracemalloc.start()
    try:
        learner.fit(table, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.2e9
    centered = dense - dense.mean(axis=0)
    traces = (centered**2).sum(axis=0)
    a = (centered.T @ (y - y.mean())) ** 2
    expected = np.divide(a, traces**2, out=np.zeros(p), where=traces > 1e-12)
    assert_allclose(learner.weights_, expected / expected.sum(), rtol=1e-7, atol=1e-15)
    assert learner.weights_.shape == (p,)
    weights = learner.weights_ / learner.scale_
    assert_allclose(learner.transform(table[:3]), (dense[:3] * weights) @ dense.T, atol=1e-9)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_a_feature_constant_up_to_rounding_has_no_weight(container: Any) -> None:
    X, y = problem("binary")
    table = container(np.column_stack([X, np.full(len(X), 0.1)]))
    for learner in (
        UniformCombination([Linear(per_feature=True)], normalize="trace"),
        IndependentAlignment([Linear(per_feature=True)], normalize="trace"),
        IndependentAlignment([Linear(per_feature=True)]),
        AlignmentMaximization([Linear(per_feature=True)]),
    ):
        assert learner.fit(table, y).weights_[-1] < 1e-9


# --- stacks of Gram matrices -------------------------------------------------------------------


WIDTHS = (0.5, 1.0, 4.0)


def stack(X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
    return np.stack([gaussian(X, s, Z) for s in WIDTHS], axis=-1)


X, Y = problem("binary")


@pytest.mark.parametrize("name", ["align-trace", "alignf"])
def test_stacks_are_learned_from_as_their_kernels_are(name: str) -> None:
    X, y = problem("three classes")
    Z = np.random.default_rng(3).normal(size=(7, 4))
    direct = clone(FINITE[name]).set_params(kernels=[Gaussian(s) for s in WIDTHS]).fit(X, y)
    learner = clone(direct).set_params(kernels="precomputed")
    last = stack(X)
    for layout in (last, np.moveaxis(last, -1, 0), list(np.moveaxis(last, -1, 0)), last.tolist()):
        learner.fit(layout, y)
        assert_allclose(learner.weights_, direct.weights_, atol=1e-9)
        assert_allclose(learner.alignment_, direct.alignment_, rtol=1e-9)
        assert learner.n_features_in_ == 60
        assert learner.X_fit_ is None
    gram = direct.transform(Z)
    rows = stack(Z, X)
    for layout in (rows, np.moveaxis(rows, -1, 0), list(np.moveaxis(rows, -1, 0))):
        assert_allclose(learner.transform(layout), gram, atol=1e-8)


def test_ties_up_to_rounding_go_to_the_first() -> None:
    assert_array_equal(dependence_weights(np.array([0.5, 1.0 - 1e-15, 1.0]), 1), [0.0, 1.0, 0.0])
    assert_array_equal(dependence_weights(np.zeros(3), 1), [1.0, 0.0, 0.0])
    assert_array_equal(dependence_weights(np.array([-1e-18, 2.0]), 2), [0.0, 2.0])


def test_nothing_to_find() -> None:
    """Features that are constant have kernels of no dependence: the first, or all alike."""
    X, y = np.ones((20, 2)), np.arange(20) % 2
    kernels = [Gaussian(1.0), Gaussian(2.0)]
    assert_array_equal(HSICWeights(kernels, norm=1).fit(X, y).weights_, [1.0, 0.0])
    assert_array_equal(HSICWeights(kernels).fit(X, y).weights_, [0.5, 0.5])


FREQUENCIES = [0.0, *np.arange(1.0, 10.0)]
GRID = [Dirichlet(s) for s in FREQUENCIES]
"""The grid of Afkanpour, Szepesvari, Bowling (2013), section 3.1, which starts at zero."""


@pytest.mark.parametrize(
    "learner",
    [
        UniformCombination(normalize="trace"),
        IndependentAlignment(),
        AlignmentMaximization(signs="free", clip_spectrum=True),
        HSICWeights(norm=2),
        HSICWeights(norm="cka"),
    ],
    ids=str,
)
def test_the_frequency_zero_has_no_weight(learner: BaseEstimator) -> None:
    X, y = make_sine(120, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = clone(learner).set_params(kernels=GRID).fit(X, y)
    rest = clone(learner).set_params(kernels=GRID[1:]).fit(X, y)
    assert whole.weights_[0] == 0.0
    assert whole.shares_[0] == 0.0
    assert_allclose(whole.weights_[1:], rest.weights_, rtol=1e-9, atol=1e-12)
    assert_allclose(whole.alignment_, rest.alignment_, rtol=1e-12)
    assert_allclose(
        whole.alignment_, centered_alignment(whole.kernel_(X), target_kernel(y)), rtol=1e-9
    )


def test_a_family_may_start_from_the_frequency_zero() -> None:
    X, y = make_sine(200, random_state=0)
    here, there = (ContinuousAlignment(Dirichlet(s, bounds=(0.0, 20.0))).fit(X, y) for s in (0, 1))
    assert_allclose(here.kernel_(X), there.kernel_(X), rtol=0)
    criterion = KernelOptimization(Dirichlet(0), criterion="cka").fit(X, y)
    assert criterion.kernels_[0].frequency > 0.0


STACK = stack(X)


LEARNER = AlignmentMaximization("precomputed")


@pytest.mark.parametrize("model", [TwoStageClassifier(LEARNER), TwoStageRegressor(LEARNER)])
def test_two_stage_takes_the_layouts_of_its_learner(model: Any) -> None:
    layout = list(np.moveaxis(STACK, -1, 0))
    y = Y if model.__sklearn_tags__().classifier_tags else X[:, 0]
    assert clone(model).fit(layout, y).predict(layout).shape == (60,)
