"""Every bad input is refused before any work, with a message that says what is wrong."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from learner_cases import FINITE, LEARNERS, problem
from reference import gaussian
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

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
from mercer.kernels import (
    CallableKernel,
    Dirichlet,
    Gaussian,
    Matern,
    OnColumns,
    RationalQuadratic,
)

every_learner = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)


def refused(
    estimator: BaseEstimator, X: Any, y: Any, message: str, kind: type = ValueError
) -> None:
    with pytest.raises(kind, match=message):
        clone(estimator).fit(X, y)


# --- features and targets ---------------------------------------------------------------------


@every_learner
@pytest.mark.parametrize(
    ("value", "message"),
    [(np.nan, "contains NaN"), (np.inf, "contains infinity"), (-np.inf, "inf")],
)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_features_that_are_not_finite(
    learner: BaseEstimator, value: float, message: str, container: Any
) -> None:
    X, y = problem("binary")
    fitted = clone(learner).fit(container(X), y)
    X[3, 1] = value
    refused(learner, container(X), y, message)
    with pytest.raises(ValueError, match=message):
        fitted.transform(container(X))


@every_learner
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_targets_that_are_not_finite(learner: BaseEstimator, value: float) -> None:
    X, y = problem("regression")
    y[5] = value
    refused(learner, X, y, "Input y contains (NaN|infinity)")


@every_learner
def test_one_class(learner: BaseEstimator) -> None:
    X, _ = problem("binary")
    refused(learner, X, np.full(60, "yes"), "only one class: .*yes")
    refused(learner, X, np.full(60, 0.5), "y is constant")


@every_learner
def test_one_sample(learner: BaseEstimator) -> None:
    refused(learner, np.ones((1, 4)), [1], "1 sample")


@every_learner
def test_no_sample_and_no_feature(learner: BaseEstimator) -> None:
    refused(learner, np.empty((0, 4)), [], "0 sample")
    refused(learner, np.empty((4, 0)), [0, 1, 0, 1], "0 feature")


@every_learner
def test_two_samples_are_enough(learner: BaseEstimator) -> None:
    """Two samples that differ are two perfect clusters."""
    fitted = clone(learner).fit([[0.0, 1.0], [2.0, 1.0]], ["a", "b"])
    np.testing.assert_allclose(fitted.alignment_, 1.0, rtol=1e-9)


@every_learner
@pytest.mark.parametrize("value", [0.0, 0.1, 1e8])
def test_constant_features_are_learned_from_without_nan(
    learner: BaseEstimator, value: float
) -> None:
    """There is nothing to find, which is no error: a pipeline's fold may be so."""
    fitted = clone(learner).fit(np.full((20, 3), value), np.arange(20) % 2)
    assert np.isfinite(fitted.weights_).all()
    assert abs(fitted.alignment_) < 1e-6
    assert np.isfinite(fitted.transform(np.full((2, 3), value))).all()


@every_learner
def test_one_constant_feature_does_no_harm(learner: BaseEstimator) -> None:
    X, y = problem("binary")
    fitted = clone(learner).fit(np.column_stack([X, np.full(60, 0.1)]), y)
    assert fitted.alignment_ > 0.1
    assert np.isfinite(fitted.transform(np.column_stack([X, np.full(60, 0.1)]))).all()


@every_learner
def test_shapes(learner: BaseEstimator) -> None:
    X, y = problem("binary")
    refused(learner, X[:, 0], y, "Expected 2D array, got 1D")
    refused(learner, X[:, :, None], y, "Found array with dim 3")
    refused(learner, X, y[:-1], r"inconsistent numbers of samples: \[60, 59\]")
    refused(learner, X, None, "requires y to be passed")
    fitted = clone(learner).fit(X, y)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 features"):
        fitted.transform(X[:, :3])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        fitted.transform(X[0])


@every_learner
def test_words_for_numbers(learner: BaseEstimator) -> None:
    X, y = problem("binary")
    words = np.array(X, dtype=object)
    words[2, 1] = "tall"
    refused(learner, words, y, "could not convert string to float: 'tall'")
    refused(learner, X.astype(complex), y, "Complex data not supported")


@every_learner
@pytest.mark.parametrize(
    ("y", "task", "message"),
    [
        (np.linspace(0, 1, 60), "classification", "Unknown label type: continuous"),
        (np.array(["a", "b"] * 30), "regression", "could not convert string|numeric"),
        (np.arange(60) % 2, "clustering", "task must be .*; got 'clustering'"),
        (np.column_stack([np.arange(60) % 2, np.arange(60) % 3]), "classification", "1d|multi"),
    ],
)
def test_tasks_that_do_not_fit(
    learner: BaseEstimator, y: np.ndarray, task: str, message: str
) -> None:
    refused(clone(learner).set_params(task=task), problem("binary")[0], y, message)


def test_columns_missing_at_prediction() -> None:
    pd = pytest.importorskip("pandas")
    X, y = problem("binary")
    table = pd.DataFrame(X, columns=list("abcd"))
    learner = UniformCombination([OnColumns(Gaussian(), ["a", "d"])]).fit(table, y)
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing:\n- d"):
        learner.transform(table[["a", "b", "c"]])
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- e"):
        learner.transform(table.assign(e=1.0))
    for model in (TwoStageClassifier(learner), TwoStageRegressor(learner)):
        fitted = model.fit(table, y if model.__sklearn_tags__().classifier_tags else X[:, 0])
        with pytest.raises(ValueError, match="yet now missing:\n- d"):
            fitted.predict(table[["a", "b", "c"]])


# --- kernels ----------------------------------------------------------------------------------

AS_FAMILY = [ContinuousAlignment, KernelOptimization]
AS_DICTIONARY = [UniformCombination, IndependentAlignment, AlignmentMaximization]


@pytest.mark.parametrize("make", [*AS_FAMILY, *AS_DICTIONARY])
def test_unknown_kernels(make: Any) -> None:
    X, y = problem("binary")
    refused(make("gausian"), X, y, "Unknown kernel 'gausian'; known names: dirichlet, gaussian")
    refused(make(3), X, y, "must be a mercer kernel, a name, a callable", TypeError)
    refused(make(Gaussian), X, y, "must be a mercer kernel, a name, a callable", TypeError)
    if make is not KernelOptimization:
        refused(make([]), X, y, "dictionary of kernels is empty")
        refused(make([Gaussian(), None]), X, y, "must be a mercer kernel", TypeError)


@pytest.mark.parametrize("make", AS_FAMILY)
def test_families_are_not_precomputed(make: Any) -> None:
    X, y = problem("binary")
    refused(make("precomputed"), X, y, "precomputed")


@pytest.mark.parametrize("make", [*AS_FAMILY, *AS_DICTIONARY])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["everywhere", "in one place"])
def test_kernels_that_return_nan_or_infinity(make: Any, bad: float, where: str) -> None:
    X, y = problem("binary")

    def broken(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        gram = gaussian(A, 1.0, B)
        if where == "everywhere":
            gram[:] = bad
        elif len(A) > 1:
            gram[1, -1] = gram[-1, 1] = bad
        return gram

    message = "Kernel returned NaN or infinity on the training samples: broken"
    refused(make(broken), X, y, message)
    if make is ContinuousAlignment:
        refused(make([Gaussian(), broken]), X, y, message)
    elif make is not KernelOptimization:
        refused(make([Gaussian(), CallableKernel(broken), "linear"]), X, y, message)


@pytest.mark.parametrize("make", [*AS_FAMILY, *AS_DICTIONARY])
def test_kernels_of_the_wrong_shape(make: Any) -> None:
    X, y = problem("binary")
    refused(make(lambda A, B: np.ones(3)), X, y, r"returned an array of shape \(3,\) where")


@pytest.mark.parametrize("make", AS_FAMILY)
@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ((2.0, 1.0), "bounds are reversed: the lower end 2 is above the upper end 1"),
        ((-1.0, 1.0), "bounds must be positive and finite"),
        ((1.0, np.inf), "bounds must be positive and finite"),
        ((1.0, np.nan), "bounds must be positive and finite"),
        ((1.0,), "bounds must be .* a pair"),
        ("dat", "bounds"),
        (None, "bounds must be .* a pair"),
    ],
)
def test_bounds(make: Any, bounds: Any, message: str) -> None:
    X, y = problem("binary")
    for family in (Gaussian(bounds=bounds), Gaussian(ard=True, bounds=bounds)):
        refused(make(family), X, y, message)
    refused(make(Dirichlet(bounds=bounds)), X[:, :1], y, message)


@pytest.mark.parametrize("make", [*AS_FAMILY, *AS_DICTIONARY])
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Gaussian(-1.0), "bandwidth must be positive and finite; got -1.0"),
        (Gaussian(np.nan), "bandwidth must be positive and finite"),
        (Gaussian([1.0, 2.0]), "2 widths, but X has 4 features"),
        (Matern(nu=1.0), "nu must be 0.5, 1.5 or 2.5; got 1.0"),
        (RationalQuadratic(alpha=0.0), "alpha must be positive and finite; got 0.0"),
        (OnColumns(Gaussian(), ["height"]), "'height' is chosen by name, but X has no column"),
        (OnColumns(Gaussian(), [7]), "Column 7 is absent: X has 4 features"),
        (OnColumns(Gaussian(), []), "No column is chosen"),
    ],
)
def test_parameters_of_kernels(make: Any, kernel: Any, message: str) -> None:
    X, y = problem("binary")
    refused(make(kernel), X, y, message)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("make", [*AS_FAMILY, *AS_DICTIONARY])
def test_absent_column_names(make: Any, library: str) -> None:
    module = pytest.importorskip(library)
    X, y = problem("binary")
    table = module.DataFrame({name: X[:, k] for k, name in enumerate("abcd")})
    message = "Column 'height' is absent: X has a, b, c, d"
    refused(make(OnColumns(Gaussian(), ["a", "height"])), table, y, message)


def test_kernels_that_do_not_take_sparse_tables() -> None:
    X, y = problem("binary")
    for make in (AlignmentMaximization, KernelOptimization, ContinuousAlignment):
        message = "dense data is required by the kernel"
        refused(make(lambda A, B: A @ B.T), sp.csr_array(X), y, message, TypeError)


# --- parameters of learners -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (
            AlignmentMaximization(signs="both"),
            'signs must be one of "nonnegative", "free"; got \'both\'',
        ),
        (HSICWeights(norm=3), 'norm must be 1, 2 or "cka"; got 3'),
        (HSICWeights(norm="ka"), "norm must be 1, 2 or \"cka\"; got 'ka'"),
        (HSICWeights(normalize=1), 'normalize must be one of None, "trace"; got 1'),
        (
            UniformCombination(normalize="norm"),
            "normalize must be one of None, \"trace\"; got 'norm'",
        ),
        (IndependentAlignment(normalize=True), 'normalize must be one of None, "trace"; got True'),
        (KernelOptimization(criterion="hisc"), 'criterion must be one of "hsic", "cka", "ka"'),
        (ContinuousAlignment(step="greedy"), 'step must be one of "corrective", "stagewise"'),
        (
            ContinuousAlignment(width_penalty="best"),
            "width_penalty must be a number or \"auto\"; got 'best'",
        ),
        (ContinuousAlignment(width_penalty=-1.0), "width_penalty must be .*not negative; got -1.0"),
        (ContinuousAlignment(tol=np.nan), "tol must be finite and not negative; got nan"),
        (ContinuousAlignment(eps=-1e-3), "eps must be finite and not negative"),
        (ContinuousAlignment(eta_max=np.inf), "eta_max must be finite and not negative"),
        (ContinuousAlignment(max_kernels=0), "max_kernels must be at least 1; got 0"),
        (
            ContinuousAlignment(Gaussian(ard=True), certificate=True),
            "certificate=True needs families of one width or frequency",
        ),
    ],
)
def test_settings(learner: BaseEstimator, message: str) -> None:
    X, y = problem("binary")
    refused(learner, X, y, message)


@pytest.mark.parametrize("name", FINITE)
def test_not_fitted(name: str) -> None:
    with pytest.raises(NotFittedError, match=re.escape("is not fitted yet")):
        clone(FINITE[name]).transform([[1.0]])
