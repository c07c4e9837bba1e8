"""Estimators with kernel machines: responses, stacks, and what they refuse."""

from typing import Any

import numpy as np
import pytest
from learner_cases import problem
from numpy.testing import assert_allclose, assert_array_equal
from one_stage_cases import CLASSIFIERS, PAIR, SOLVERS, data_for, refused
from reference import gaussian
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import get_tags

from mercer import L2KRR, BayesianMKLRegressor, MKLClassifier, MKLRegressor
from mercer.kernels import Gaussian, Laplacian, Polynomial, Precomputed
from mercer.losses import Hinge, Squared

KERNELS: list[Any] = [Gaussian(0.5), Gaussian(2.0), "linear", Polynomial(2), Laplacian(1.0)]
CHOSEN = ["l1-svm", "logistic-1", "krr-1", "svr-4/3"]
MODELS: dict[str, BaseEstimator] = {
    name: clone(SOLVERS[name]).set_params(kernels=KERNELS) for name in CHOSEN
}


def data(name: str, n: int = 60) -> tuple[np.ndarray, Any]:
    return problem("strings" if name in CLASSIFIERS else "regression", n)


def values(model: Any, X: Any) -> np.ndarray:
    return getattr(model, "decision_function", model.predict)(X)


def new_samples() -> np.ndarray:
    return np.random.default_rng(5).normal(size=(7, 4))


# --- targets ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["krr-1", "svr-4/3"])
def test_several_responses_share_a_kernel(name: str) -> None:
    X, Y = problem("two outputs")
    model = clone(MODELS[name]).fit(X, Y)
    assert model.predict(X).shape == (60, 2)
    assert model.intercept_.shape == (2,)
    assert model.score(X, Y) > 0.1
    assert get_tags(model).target_tags.multi_output
    column = clone(MODELS[name]).fit(X, Y[:, :1])
    flat = clone(MODELS[name]).fit(X, Y[:, 0])
    assert column.predict(X).shape == (60, 1)
    assert flat.predict(X).shape == (60,)
    assert_array_equal(column.predict(X)[:, 0], flat.predict(X))


# --- stacks -----------------------------------------------------------------------------------

WIDTHS = (0.5, 1.0, 4.0)


def stack(X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
    return np.stack([gaussian(X, s, Z) for s in WIDTHS], axis=-1)


@pytest.mark.parametrize("name", MODELS)
def test_stacks_give_the_results_of_their_kernels(name: str) -> None:
    X, y = data(name)
    Z = new_samples()
    model = clone(MODELS[name]).set_params(tol=1e-6)
    direct = clone(model).set_params(kernels=[Gaussian(s) for s in WIDTHS]).fit(X, y)
    expected, rows = values(direct, Z), stack(Z, X)
    for layout in (stack(X), np.moveaxis(stack(X), -1, 0), list(np.moveaxis(stack(X), -1, 0))):
        given = clone(model).set_params(kernels="precomputed").fit(layout, y)
        assert_allclose(given.objective_, direct.objective_, rtol=2e-6)
        assert given.X_fit_ is None
        assert given.n_features_in_ == 60
        assert list(given.kernel_.kernels) == [Precomputed(k) for k in range(3)]
        for new in (rows, np.moveaxis(rows, -1, 0), list(np.moveaxis(rows, -1, 0))):
            assert_allclose(values(given, new), expected, atol=5e-3 * np.abs(expected).max())
        assert_allclose(values(given, layout), values(given, stack(X)), rtol=1e-12)


# --- validation --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [MKLClassifier(PAIR), MKLRegressor(PAIR), BayesianMKLRegressor(PAIR)], ids=repr
)
def test_constant_targets_and_those_of_the_other_task_are_refused(model: BaseEstimator) -> None:
    X, _ = data_for(model)
    refused(model, X, np.ones(60), "only one class: .*1|y is constant")
    refused(model, X, X[:-1, 0], r"inconsistent numbers of samples: \[60, 59\]")
    if is_classifier(model):
        refused(model, X, X[:, 0], "Unknown label type: continuous")
        refused(model, X, np.ones((60, 2)) * [0, 1], "Every label belongs to all")
    else:
        Y = np.column_stack([X[:, 0], np.full(60, 3.0)])
        refused(model, X, Y, r"y is constant \(response 1\)")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (MKLClassifier(norm=0.5), "norm must be at least 1; got 0.5"),
        (L2KRR(PAIR, center=[0.5, -0.1]), "center must hold 2 numbers"),
        (L2KRR(PAIR, center=[1.0]), "center must hold 2 numbers"),
        (L2KRR(PAIR, center=[np.nan, 0.0]), "Input center contains"),
        (MKLRegressor(loss=Hinge(1.0)), r"Hinge\(C=1.0.*is a loss of labels, not of responses"),
        (MKLRegressor(loss=Squared(1.0, np.ones(60))), "loss must have no weights: pass them to"),
    ],
)
def test_wrong_parameters_are_refused(model: BaseEstimator, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        clone(model).fit(*data_for(model))


def test_numpy_scalars_are_taken_as_parameters() -> None:
    X, y = problem("regression")
    given = {"norm": np.float32(2), "max_iter": np.int64(50), "alpha": np.int32(1)}
    for flag in (np.True_, np.False_):
        model = MKLRegressor(PAIR, fit_intercept=flag, **given)
        expected = MKLRegressor(PAIR, fit_intercept=bool(flag), max_iter=50).fit(X, y)
        assert_allclose(model.fit(X, y).predict(X), expected.predict(X))


@pytest.mark.parametrize(
    "model",
    [
        MKLClassifier(norm=2, solver="interior_point"),
        MKLRegressor(norm=1, solver="interior_point"),
        L2KRR(solver="interior_point"),
    ],
)
def test_problems_without_an_interior_point_method_are_refused(model: Any) -> None:
    """They are refused before any kernel is evaluated."""

    def unused(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        raise AssertionError("the kernel was evaluated")

    model.set_params(kernels=[unused])
    refused(model, *data_for(model), 'solver="interior_point" needs the hinge or the epsilon')
