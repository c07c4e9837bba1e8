"""Estimators with kernel machines: training data, parameters, predictions, scikit-learn's tools."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from learner_cases import problem
from numpy.testing import assert_allclose, assert_array_equal
from one_stage_cases import CLASSIFIERS, SOLVERS, data_for, refused
from reference import gaussian
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from mercer import BayesianMKLRegressor, MKLClassifier, MKLRegressor
from mercer.kernels import Gaussian, Laplacian, Polynomial, Precomputed

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


def grams() -> list[np.ndarray]:
    X, _ = problem("binary")
    return [gaussian(X, 1.0), X @ X.T]


@pytest.mark.parametrize("make", [MKLClassifier, BayesianMKLRegressor])
def test_stacks_that_are_no_gram_matrices_are_refused(make: Any) -> None:
    """`tests/gram/test_stacks.py` has every message."""
    _, y = data_for(make())
    model = make("precomputed")
    refused(model, [grams()[0], -grams()[0]], y, "kernel 1 is not positive semi-definite")
    refused(model, [grams()[0], np.eye(3)], y, "differ in shape")
    refused(model, sp.csr_array(grams()[0]), y, "Sparse data was passed", TypeError)
    fitted = model.fit(np.stack(grams(), axis=-1), y)
    rows = np.stack(grams(), axis=-1)[:5]
    with pytest.raises(ValueError, match=r"one column a fitted sample: got .*\(5, 50, 2\)"):
        fitted.predict(rows[:, :50])
    rows[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        fitted.predict(rows)


@pytest.mark.parametrize(("make", "value"), [(MKLClassifier, 0.0), (MKLRegressor, 3.0)])
def test_stacks_of_constant_matrices_predict_one_value(make: Any, value: float) -> None:
    _, y = data_for(make())
    fitted = make("precomputed").fit(np.full((60, 60, 2), value), y)
    assert np.isfinite(fitted.weights_).all()
    assert len(np.unique(fitted.predict(np.full((2, 60, 2), value)))) == 1
