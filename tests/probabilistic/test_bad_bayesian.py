"""What probabilistic estimators refuse, saying what is wrong, and what they warn of."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from bayesian_cases import SOLVERS
from learner_cases import problem
from numpy.testing import assert_allclose
from reference import gaussian
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from mercer import BayesianMKLClassifier, BayesianMKLRegressor
from mercer.kernels import CallableKernel, Gaussian, OnColumns, Polynomial

PAIR: list[Any] = [Gaussian(1.0), "linear"]
MODELS = {name: clone(model).set_params(kernels=PAIR) for name, model in SOLVERS.items()}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
MAKERS = [BayesianMKLClassifier, BayesianMKLRegressor]


def data(model: Any) -> tuple[np.ndarray, Any]:
    return problem("binary" if isinstance(model, BayesianMKLClassifier) else "regression", 30)


def refused(model: Any, X: Any, y: Any, message: str, kind: type = ValueError) -> None:
    with pytest.raises(kind, match=message):
        clone(model).fit(X, y)


# --- features and targets ---------------------------------------------------------------------


@every_model
@pytest.mark.parametrize(
    ("value", "message"),
    [(np.nan, "contains NaN"), (np.inf, "contains infinity"), (1e200, "large")],
)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_features_that_are_not_finite(
    model: BaseEstimator, value: float, message: str, container: Any
) -> None:
    X, y = data(model)
    X[3, 1] = value
    refused(model, container(X), y, message)


@every_model
def test_targets(model: BaseEstimator) -> None:
    X, y = data(model)
    for value in (np.nan, np.inf):
        broken = np.array(y, dtype=float)
        broken[5] = value
        refused(model, X, broken, "Input y contains (NaN|infinity)")
    refused(model, X, np.ones(30), "only one class: .*1|y is constant")
    refused(model, X, y[:-1], r"inconsistent numbers of samples: \[30, 29\]")
    refused(model, X, None, "requires y to be passed")
    if isinstance(model, BayesianMKLClassifier):
        refused(model, X, X[:, 0], "Unknown label type: continuous")
        refused(model, X, np.column_stack([y, y]), "1d|multi")
    else:
        Y = np.column_stack([X[:, 0], np.full(30, 3.0)])
        refused(model, X, Y, r"y is constant \(response 1\)")
        refused(model, X, np.array(["a", "b"] * 15), "could not convert string|numeric")


@pytest.mark.filterwarnings("ignore:The objective is as low without any kernel")
@every_model
def test_shapes(model: BaseEstimator) -> None:
    X, y = data(model)
    refused(model, np.ones((1, 4)), [1], "1 sample")
    refused(model, np.empty((0, 4)), [], "0 sample")
    refused(model, np.empty((30, 0)), y, "0 feature")
    refused(model, X[:, 0], y, "Expected 2D array, got 1D")
    fitted = clone(model).fit(X, y)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 features"):
        fitted.predict(X[:, :3])


@every_model
def test_not_fitted(model: BaseEstimator) -> None:
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, method):
            with pytest.raises(NotFittedError, match=re.escape("is not fitted yet")):
                getattr(clone(model), method)([[1.0]])


# --- settings ---------------------------------------------------------------------------------

CLASSIFIER, REGRESSOR = BayesianMKLClassifier, BayesianMKLRegressor


@pytest.mark.parametrize(
    ("model", "message", "kind"),
    [
        (CLASSIFIER(objective="mlm"), "objective must be one of .*; got 'mlm'", ValueError),
        (CLASSIFIER(objective="VB"), "objective must be one of", ValueError),
        (CLASSIFIER(objective=None), "objective must be one of", ValueError),
        (CLASSIFIER(objective=["vb"]), "objective must be one of", ValueError),
        (REGRESSOR(objective="ml2"), "objective must be one of .*; got 'ml2'", ValueError),
        (REGRESSOR(likelihood="student"), "likelihood must be one of", ValueError),
        (REGRESSOR(likelihood="logistic"), "likelihood must be one of", ValueError),
        (REGRESSOR(likelihood="laplace"), 'objective="mlm" is in closed form', ValueError),
        (REGRESSOR(noise=0.0), "noise must be positive; got 0.0", ValueError),
        (REGRESSOR(noise=-1.0), "noise must be .*not negative; got -1.0", ValueError),
        (REGRESSOR(noise=np.nan), "noise must be finite", ValueError),
        (REGRESSOR(noise="auto"), "noise must be an instance of", TypeError),
        (CLASSIFIER(penalty=0), "penalty must be positive; got 0", ValueError),
        (REGRESSOR(penalty=-0.5), "penalty must be .*not negative", ValueError),
        (CLASSIFIER(penalty=np.inf), "penalty must be finite", ValueError),
        (CLASSIFIER(norm=0.99), "norm must be at least 1; got 0.99", ValueError),
        (CLASSIFIER(norm=np.inf), "norm must be .*got inf", ValueError),
        (REGRESSOR(norm=np.nan), "norm must be", ValueError),
        (CLASSIFIER(jitter=0.0), "jitter must be positive; got 0.0", ValueError),
        (REGRESSOR(jitter=-1), "jitter must be .*not negative", ValueError),
        (CLASSIFIER(jitter="0.1"), "jitter must be an instance of", TypeError),
        (CLASSIFIER(learn_parameters="yes"), "learn_parameters must be .*; got 'yes'", ValueError),
        (CLASSIFIER(objective="map", learn_parameters=True), "learn_parameters=True", ValueError),
        (REGRESSOR(objective="mkl", learn_parameters=True), "learn_parameters=True", ValueError),
        (REGRESSOR("precomputed", learn_parameters=True), "learn_parameters=True", ValueError),
        (CLASSIFIER(n_starts=0), "n_starts must be at least 1; got 0", ValueError),
        (REGRESSOR(n_starts=1.5), "n_starts must be an instance of", TypeError),
        (CLASSIFIER(tol=0.0), "tol must be positive", ValueError),
        (REGRESSOR(tol=np.nan), "tol must be finite", ValueError),
        (REGRESSOR(max_iter=0), "max_iter must be at least 1; got 0", ValueError),
        (REGRESSOR(normalize_y="no"), "normalize_y must be True or False; got 'no'", ValueError),
    ],
)
def test_settings(model: BaseEstimator, message: str, kind: type) -> None:
    """Before any work: the features are not even looked at."""
    refused(model, *data(model), message, kind)
    refused(model, np.full((30, 4), np.nan), data(model)[1], message, kind)


def test_settings_that_numpy_returns() -> None:
    X, y = problem("regression")
    model = REGRESSOR(
        PAIR,
        normalize_y=np.True_,
        noise=np.float32(0.5),
        max_iter=np.int64(50),
        n_starts=np.int32(2),
    )
    expected = REGRESSOR(PAIR, noise=0.5, max_iter=50, n_starts=2).fit(X, y)
    assert_allclose(model.fit(X, y).predict(X), expected.predict(X))


# --- kernels ----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", MAKERS)
def test_unknown_kernels(make: Any) -> None:
    X, y = data(make())
    refused(make("gausian"), X, y, "Unknown kernel 'gausian'; known names: dirichlet, gaussian")
    refused(make(3), X, y, "must be a mercer kernel, a name, a callable", TypeError)
    refused(make([]), X, y, "dictionary of kernels is empty")
    refused(make([Gaussian(-1.0)]), X, y, "bandwidth must be positive and finite; got -1.0")
    refused(make([OnColumns(Gaussian(), [7])]), X, y, "Column 7 is absent: X has 4 features")


@every_model
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_kernels_that_return_nan_or_infinity(model: Any, bad: float) -> None:
    def broken(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        gram = gaussian(A, 1.0, B)
        if len(A) > 1:
            gram[1, -1] = gram[-1, 1] = bad
        return gram

    message = "Kernel returned NaN or infinity on the training samples: broken"
    X, y = data(model)
    kernels = [Gaussian(), CallableKernel(broken), "linear"]
    refused(clone(model).set_params(kernels=kernels), X, y, message)


@every_model
@pytest.mark.parametrize("kind", ["indefinite", "negative"])
def test_kernels_that_are_not_positive_semi_definite(model: Any, kind: str) -> None:
    X, y = data(model)
    kernel = CallableKernel(
        lambda A, B: np.tanh(A @ B.T - 1.0) if kind == "indefinite" else -gaussian(A, 1.0, B)
    )
    refused(clone(model).set_params(kernels=[kernel]), X, y, "not positive semi-definite")


@pytest.mark.parametrize("make", MAKERS)
def test_stacks_that_are_no_kernels(make: Any) -> None:
    X, y = data(make())
    grams = [gaussian(X, 1.0), X @ X.T]
    model = make("precomputed")
    refused(model, [grams[0], -grams[0]], y, "kernel 1 is not positive semi-definite")
    refused(model, np.stack(grams, axis=-1)[:20], y[:20], "must be square")
    fitted = model.fit(np.stack(grams, axis=-1), y)
    rows = np.stack(grams, axis=-1)[:5]
    with pytest.raises(ValueError, match=r"one column a fitted sample: got .*\(5, 20, 2\)"):
        fitted.predict(rows[:, :20])


# --- the iteration limit ----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The objective is as low without any kernel")
@every_model
def test_the_iteration_limit(model: Any) -> None:
    X, y = data(model)
    model = clone(model).set_params(
        kernels=[Gaussian(0.5), Gaussian(2.0), "linear", Polynomial(2)], max_iter=1, tol=1e-9
    )
    with pytest.warns(ConvergenceWarning, match="before tol=1e-09 .*raise max_iter") as told:
        model.fit(X, y)
    message = str(next(w.message for w in told if "tol=" in str(w.message)))
    if model.objective == "mkl":
        assert f"relative duality gap of {model.dual_gap_:.2g}" in message
    assert f"Stopped after {model.n_iter_} step" in message
    assert all(w.filename == __file__ for w in told)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("make", MAKERS)
def test_the_iteration_limit_of_parameters(make: Any) -> None:
    X, y = data(make())
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        make([Gaussian(0.5, ard=True)], learn_parameters=True, max_iter=1, tol=1e-9).fit(X, y)
