"""What one-stage estimators refuse, saying what is wrong, and what they warn of."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from learner_cases import problem
from numpy.testing import assert_allclose
from reference import gaussian
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from mercer import L1SVM, L2KRR, MKLClassifier, MKLRegressor
from mercer.kernels import CallableKernel, Gaussian, Linear, OnColumns, Polynomial

PAIR: list[Any] = [Gaussian(1.0), "linear"]
MODELS: dict[str, BaseEstimator] = {
    "mkl-classifier": MKLClassifier(PAIR),
    "mkl-classifier-2-logistic": MKLClassifier(PAIR, norm=2, loss="logistic"),
    "l1-svm": L1SVM(PAIR),
    "mkl-regressor": MKLRegressor(PAIR),
    "mkl-regressor-1-svr": MKLRegressor(PAIR, norm=1, loss="epsilon_insensitive"),
    "l2-krr": L2KRR(PAIR),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
MAKERS = [MKLClassifier, L1SVM, MKLRegressor, L2KRR]


def data(model: Any) -> tuple[np.ndarray, Any]:
    return problem("binary" if isinstance(model, MKLClassifier) else "regression")


def refused(model: Any, X: Any, y: Any, message: str, kind: type = ValueError) -> None:
    with pytest.raises(kind, match=message):
        clone(model).fit(X, y)


# --- features and targets ---------------------------------------------------------------------


@every_model
@pytest.mark.parametrize(
    ("value", "message"),
    [(np.nan, "contains NaN"), (np.inf, "contains infinity"), (-np.inf, "inf"), (1e200, "large")],
)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_features_that_are_not_finite(
    model: BaseEstimator, value: float, message: str, container: Any
) -> None:
    X, y = data(model)
    fitted = clone(model).fit(container(X), y)
    X[3, 1] = value
    refused(model, container(X), y, message)
    if not np.isfinite(value):
        with pytest.raises(ValueError, match=message):
            fitted.predict(container(X))


@every_model
def test_targets_that_are_not_finite(model: BaseEstimator) -> None:
    X, y = data(model)
    for value in (np.nan, np.inf):
        broken = np.asarray(y, dtype=float)
        broken[5] = value
        refused(model, X, broken, "Input y contains (NaN|infinity)")


@every_model
def test_targets_that_hold_one_value(model: BaseEstimator) -> None:
    X, _ = data(model)
    refused(model, X, np.ones(60), "only one class: .*1|y is constant")
    if not isinstance(model, MKLClassifier):
        Y = np.column_stack([X[:, 0], np.full(60, 3.0)])
        refused(model, X, Y, r"y is constant \(response 1\)")


@every_model
def test_shapes(model: BaseEstimator) -> None:
    X, y = data(model)
    refused(model, np.ones((1, 4)), [1], "1 sample")
    refused(model, np.empty((0, 4)), [], "0 sample")
    refused(model, np.empty((60, 0)), y, "0 feature")
    refused(model, X[:, 0], y, "Expected 2D array, got 1D")
    refused(model, X[:, :, None], y, "Found array with dim 3")
    refused(model, X, y[:-1], r"inconsistent numbers of samples: \[60, 59\]")
    refused(model, X, None, "requires y to be passed")
    fitted = clone(model).fit(X, y)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 features"):
        fitted.predict(X[:, :3])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        fitted.predict(X[0])


@every_model
def test_words_for_numbers(model: BaseEstimator) -> None:
    X, y = data(model)
    words = np.array(X, dtype=object)
    words[2, 1] = "tall"
    refused(model, words, y, "could not convert string to float: 'tall'")
    refused(model, X.astype(complex), y, "Complex data not supported")


def test_targets_of_another_kind() -> None:
    X, y = problem("regression")
    refused(MKLClassifier(PAIR), X, y, "Unknown label type: continuous")
    refused(MKLClassifier(PAIR), X, np.column_stack([y > 0, y > 1]), "1d|multi")
    refused(MKLRegressor(PAIR), X, np.array(["a", "b"] * 30), "could not convert string|numeric")


@every_model
def test_two_samples_are_enough(model: BaseEstimator) -> None:
    fitted = clone(model).fit([[0.0, 1.0], [2.0, 1.0]], [0, 1])
    assert_allclose(fitted.alignment_, 1.0, rtol=1e-9)
    assert fitted.dual_gap_ <= 1e-3


@every_model
def test_not_fitted(model: BaseEstimator) -> None:
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, method):
            with pytest.raises(NotFittedError, match=re.escape("is not fitted yet")):
                getattr(clone(model), method)([[1.0]])


# --- settings ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "message", "kind"),
    [
        (MKLClassifier(loss="hinged"), "loss must be .*; got 'hinged'", ValueError),
        (MKLClassifier(loss="epsilon_insensitive"), "loss must be one of", ValueError),
        (MKLClassifier(loss=None), "loss must be one of", ValueError),
        (MKLRegressor(loss="hinge"), "loss must be one of", ValueError),
        (MKLClassifier(norm=0.5), "norm must be at least 1; got 0.5", ValueError),
        (MKLClassifier(norm=np.nan), "norm must be at least 1; got nan", ValueError),
        (MKLRegressor(norm=-1), "norm must be at least 1; got -1", ValueError),
        (MKLRegressor(norm="l1"), "norm must be an instance of", TypeError),
        (MKLClassifier(C=0.0), "C must be positive; got 0.0", ValueError),
        (L1SVM(C=-1.0), "C must be .*not negative; got -1.0", ValueError),
        (MKLClassifier(C=np.inf), "C must be finite", ValueError),
        (MKLClassifier(C="1"), "C must be an instance of", TypeError),
        (MKLRegressor(loss="epsilon_insensitive", C=0), "C must be positive", ValueError),
        (MKLRegressor(epsilon=-0.1), "epsilon must be .*not negative; got -0.1", ValueError),
        (MKLRegressor(epsilon=np.nan), "epsilon must be finite", ValueError),
        (MKLRegressor(alpha=0.0), "alpha must be positive; got 0.0", ValueError),
        (MKLRegressor(alpha=-1.0), "alpha must be .*not negative; got -1.0", ValueError),
        (L2KRR(alpha=0), "alpha must be positive; got 0", ValueError),
        (L2KRR(radius=0.0), "radius must be positive; got 0.0", ValueError),
        (L2KRR(radius=-2.0), "radius must be .*not negative; got -2.0", ValueError),
        (L2KRR(radius=np.inf), "radius must be finite", ValueError),
        (L2KRR(center="one"), "center must be one of .*; got 'one'", ValueError),
        (MKLClassifier(normalize="norm"), "normalize must be .*; got 'norm'", ValueError),
        (L2KRR(normalize=True), "normalize must be .*; got True", ValueError),
        (MKLClassifier(fit_intercept="yes"), "fit_intercept must be .*; got 'yes'", ValueError),
        (L1SVM(tol=0.0), "tol must be positive; got 0.0", ValueError),
        (MKLRegressor(tol=-1e-3), "tol must be .*not negative", ValueError),
        (MKLRegressor(tol=np.nan), "tol must be finite", ValueError),
        (MKLClassifier(max_iter=0), "max_iter must be at least 1; got 0", ValueError),
        (L2KRR(max_iter=1.5), "max_iter must be an instance of", TypeError),
    ],
)
def test_settings(model: BaseEstimator, message: str, kind: type) -> None:
    refused(model, *data(model), message, kind)


@pytest.mark.parametrize("flag", [np.True_, np.False_])
def test_settings_that_numpy_returns(flag: Any) -> None:
    X, y = problem("regression")
    model = MKLRegressor(
        PAIR, fit_intercept=flag, norm=np.float32(2), max_iter=np.int64(50), alpha=np.int32(1)
    )
    expected = MKLRegressor(PAIR, fit_intercept=bool(flag), max_iter=50).fit(X, y)
    assert_allclose(model.fit(X, y).predict(X), expected.predict(X))


@pytest.mark.parametrize(
    "center",
    [[1.0], [0.5, 0.5, 0.0], [0.5, -0.1], [[0.5, 0.5]], [], [np.nan, 0.0], [np.inf, 0.0]],
)
def test_centers(center: Any) -> None:
    finite = np.isfinite(np.asarray(center, dtype=float)).all()
    message = "center must hold 2 numbers" if finite else "Input center contains"
    if np.size(center) == 0:
        message = "center|0 sample"
    refused(L2KRR(PAIR, center=center), *problem("regression"), message)


def test_a_center_given_as_numbers() -> None:
    X, y = problem("regression")
    named = L2KRR(PAIR, center="uniform").fit(X, y)
    for center in ([0.5, 0.5], (0.5, 0.5), np.array([0.5, 0.5], dtype=np.float32)):
        assert_allclose(L2KRR(PAIR, center=center).fit(X, y).weights_, named.weights_)


# --- kernels ----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", MAKERS)
def test_unknown_kernels(make: Any) -> None:
    X, y = data(make())
    refused(make("gausian"), X, y, "Unknown kernel 'gausian'; known names: dirichlet, gaussian")
    refused(make(3), X, y, "must be a mercer kernel, a name, a callable", TypeError)
    refused(make([Gaussian(), None]), X, y, "must be a mercer kernel", TypeError)
    refused(make([]), X, y, "dictionary of kernels is empty")
    refused(make([Gaussian(-1.0)]), X, y, "bandwidth must be positive and finite; got -1.0")
    refused(make([OnColumns(Gaussian(), ["height"])]), X, y, "'height' is chosen by name")
    refused(make([OnColumns(Gaussian(), [7])]), X, y, "Column 7 is absent: X has 4 features")


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["everywhere", "in one place"])
def test_kernels_that_return_nan_or_infinity(make: Any, bad: float, where: str) -> None:
    def broken(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        gram = gaussian(A, 1.0, B)
        if where == "everywhere":
            gram[:] = bad
        elif len(A) > 1:
            gram[1, -1] = gram[-1, 1] = bad
        return gram

    X, y = data(make())
    message = "Kernel returned NaN or infinity on the training samples: broken"
    refused(make(broken), X, y, message)
    refused(make([Gaussian(), CallableKernel(broken), "linear"]), X, y, message)


@pytest.mark.parametrize("model", [MKLRegressor(), L2KRR(), MKLClassifier(loss="logistic")])
def test_kernels_that_are_not_positive_semi_definite(model: BaseEstimator) -> None:
    X, y = problem("binary")
    model.set_params(kernels=lambda A, B: np.tanh(A @ B.T - 1.0))
    refused(model, X, y, "not positive semi-definite")


@pytest.mark.parametrize("make", MAKERS)
def test_kernels_that_do_not_take_sparse_tables(make: Any) -> None:
    X, y = data(make())
    message = "dense data is required by the kernel"
    refused(make(lambda A, B: A @ B.T), sp.csr_array(X), y, message, TypeError)


@every_model
@pytest.mark.parametrize("value", [0.0, 0.1, 1e8])
@pytest.mark.parametrize("intercept", [True, False])
def test_kernels_that_are_all_constant(model: Any, value: float, intercept: bool) -> None:
    """There is nothing to find, which is no error: a pipeline's fold may be so."""
    X = np.full((20, 3), value)
    y = np.arange(20) % 2 if isinstance(model, MKLClassifier) else np.arange(20.0)
    options = {} if isinstance(model, L1SVM) else {"fit_intercept": intercept}
    fitted = clone(model).set_params(kernels=[Gaussian(), "linear"], **options).fit(X, y)
    assert np.isfinite(fitted.weights_).all()
    assert abs(fitted.alignment_) < 1e-6
    assert np.isfinite(fitted.shares_).all()
    predicted = fitted.predict(X)
    assert len(np.unique(predicted)) == 1
    if intercept and not isinstance(model, MKLClassifier):
        assert_allclose(predicted, 9.5, atol=6.0)


# --- stacks -----------------------------------------------------------------------------------


def grams() -> list[np.ndarray]:
    X, _ = problem("binary")
    return [gaussian(X, 1.0), X @ X.T]


@pytest.mark.parametrize("make", MAKERS)
def test_stacks_that_are_no_kernels(make: Any) -> None:
    _, y = data(make())
    model = make("precomputed")
    refused(model, [grams()[0], -grams()[0]], y, "kernel 1 is not positive semi-definite")
    crooked = grams()
    crooked[1][3, 4] += 0.1
    refused(model, crooked, y, "kernel 1 is not symmetric")
    for bad in (np.nan, np.inf):
        broken = grams()
        broken[0][2, 5] = broken[0][5, 2] = bad
        refused(model, broken, y, "contains (NaN|infinity)")
    refused(model, np.stack(grams(), axis=-1)[:30], y[:30], "must be square")
    refused(model, np.ones((60, 60, 60)), y, "ambiguous")
    refused(model, np.ones(60), y, "must have shape")
    refused(model, [grams()[0], np.eye(3)], y, "differ in shape")
    refused(model, sp.csr_array(grams()[0]), y, "Sparse data was passed", TypeError)
    refused(model, np.stack(grams(), axis=-1), y[:-1], "inconsistent numbers of samples")
    fitted = model.fit(np.stack(grams(), axis=-1), y)
    rows = np.stack(grams(), axis=-1)[:5]
    with pytest.raises(ValueError, match=r"one column a fitted sample: got .*\(5, 50, 2\)"):
        fitted.predict(rows[:, :50])
    rows[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        fitted.predict(rows)


@pytest.mark.parametrize("make", MAKERS)
def test_stacks_of_constant_matrices(make: Any) -> None:
    _, y = data(make())
    for value in (0.0, 0.1, 3.0):
        fitted = make("precomputed").fit(np.full((60, 60, 2), value), y)
        assert np.isfinite(fitted.weights_).all()
        assert len(np.unique(fitted.predict(np.full((2, 60, 2), value)))) == 1


# --- the iteration limit ----------------------------------------------------------------------


@pytest.mark.parametrize("make", MAKERS)
def test_the_iteration_limit_names_the_gap(make: Any) -> None:
    X, y = data(make())
    model = make([Gaussian(0.5), Gaussian(2.0), "linear", Polynomial(2)], max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="relative duality gap of .*raise max_iter") as told:
        model.fit(X, y)
    message = str(told[0].message)
    assert f"{model.dual_gap_:.2g}" in message
    assert model.dual_gap_ > 1e-9
    assert model.n_iter_ == 1
    assert f"Stopped after {model.n_iter_} step" in message
    # The line that called fit, for whoever reads the warning.
    assert told[0].filename == __file__


def test_rank_one_kernels_at_the_iteration_limit() -> None:
    X, y = problem("binary")
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        L1SVM([Linear(per_feature=True)], max_iter=1, tol=1e-9).fit(X, y)
