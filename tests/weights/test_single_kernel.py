"""Machines of a single kernel."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import MKLClassifier, MKLRegressor
from mercer._estimators.one_stage import lp_norm_mkl
from mercer._gram.samples import Samples
from mercer._search.weights import single_kernel
from mercer._search.weights.single_kernel import libsvm_kernel, single_kernel_machine
from mercer.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial
from mercer.losses import EpsilonInsensitive, Hinge, Logistic
from mercer.losses._loss import Problems

RNG = np.random.default_rng(0)
N = 450
X = RNG.normal(size=(N, 4))
SCORES = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.5 * RNG.normal(size=N)
LABELS, RESPONSES = (SCORES > 0.0).astype(int), SCORES
WEIGHTS = RNG.integers(0, 3, N).astype(float)
PLAIN: dict[str, Any] = {"normalize": None, "C": 5.0}


@pytest.fixture(params=["Gram matrix", "rows by LIBSVM"])
def road(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to a machine: its Gram matrix, and rows that LIBSVM computes."""
    name: str = request.param
    if name == "rows by LIBSVM":
        monkeypatch.setattr(single_kernel, "FEW_SAMPLES", 0)
    return name


def is_fitted_alone(
    kernel: Kernel, table: Any = X, tol: float = 1e-3, Y: Any = None, **options: Any
) -> bool:
    signs = np.where(LABELS, 1.0, -1.0)[:, None] if Y is None else Y
    problems = Problems(options.pop("loss", Hinge(5.0)), signs, options.pop("intercept", True))
    found = single_kernel_machine(problems, Samples(table), kernel, tol=tol)
    return found is not None


def with_gram(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lp_norm_mkl, "single_kernel_machine", lambda *args, **options: None)


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Polynomial(3, gamma=0.1)], ids=str)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
def test_machines_are_those_of_the_gram_matrix(
    kernel: Kernel, weights: Any, road: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two thirds of the samples have positive weights.
    table, labels = np.vstack([X, X + 0.1]), np.tile(LABELS, 2)
    given = None if weights is None else np.tile(weights, 2)
    alone = MKLClassifier([kernel], **PLAIN).fit(table, labels, given)
    with_gram(monkeypatch)
    other = MKLClassifier([kernel], **PLAIN).fit(table, labels, given)
    assert_allclose(alone.objective_, other.objective_, rtol=2e-3)
    assert_allclose(alone.alignment_, other.alignment_, rtol=1e-9)
    assert_allclose(alone.shares_, other.shares_)
    assert_allclose(alone.decision_function(X), other.decision_function(X), atol=0.05)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_the_stated_gap_is_that_of_the_coefficients(scale: float, shift: float, road: str) -> None:
    table, own = scale * (X + shift), np.where(LABELS, 1.0, -1.0)
    model = MKLClassifier([Gaussian(2.0 * scale)], **PLAIN).fit(table, LABELS, 0.5 + WEIGHTS)
    c = model.dual_coef_[:, 0]
    f = model.kernel_(table) @ c
    losses = np.maximum(0.0, 1.0 - own * (f + model.intercept_[0]))
    primal = 0.5 * c @ f + 5.0 * ((0.5 + WEIGHTS) @ losses)
    dual = own @ c - 0.5 * c @ f
    assert_allclose(model.objective_, primal, rtol=1e-6)
    assert_allclose(model.dual_gap_, (primal - dual) / primal, rtol=1e-3)
    assert model.dual_gap_ <= model.tol
    assert np.all(own * c >= 0.0)
    assert np.all(own * c <= 5.0 * (0.5 + WEIGHTS) * (1.0 + 1e-12))
    assert abs(c.sum()) < 1e-9 * np.abs(c).sum()


def test_regression_is_that_of_the_gram_matrix(road: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {"loss": "epsilon_insensitive", "alpha": 0.2, "normalize": None}
    alone = MKLRegressor([Gaussian(2.0)], **settings).fit(X, RESPONSES)
    with_gram(monkeypatch)
    other = MKLRegressor([Gaussian(2.0)], **settings).fit(X, RESPONSES)
    assert_allclose(alone.objective_, other.objective_, rtol=2e-3)
    assert alone.dual_gap_ <= alone.tol


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Laplacian(2.0)], ids=str)
def test_kernels_of_unit_trace(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {"C": 5.0, "normalize": "trace"}
    alone = MKLClassifier([kernel], **settings).fit(X, LABELS, 0.5 + WEIGHTS)
    with_gram(monkeypatch)
    other = MKLClassifier([kernel], **settings).fit(X, LABELS, 0.5 + WEIGHTS)
    assert_allclose(alone.weights_, other.weights_)
    assert_allclose(alone.shares_, other.shares_)
    assert_allclose(alone.objective_, other.objective_, rtol=2e-3)
    assert_allclose(alone.alignment_, other.alignment_)
    assert_allclose(alone.decision_function(X), other.decision_function(X), atol=0.05)
    assert alone.dual_gap_ <= alone.tol


def test_a_gap_that_is_missed_is_reached_by_a_finer_tolerance(
    road: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(single_kernel, "_LIBSVM_TOL", 0.3)
    model = MKLClassifier([Gaussian(2.0)], **PLAIN, tol=0.1).fit(X, LABELS)
    assert model.dual_gap_ > 2e-3
    assert is_fitted_alone(Gaussian(2.0), tol=1e-3)


def test_which_machines_are_fitted_alone(road: str) -> None:
    assert is_fitted_alone(Gaussian(2.0))
    regression = EpsilonInsensitive(5.0, 0.1)
    assert is_fitted_alone(Gaussian(2.0), loss=regression, Y=RESPONSES[:, None])
    assert is_fitted_alone(Laplacian(2.0))
    assert is_fitted_alone(Gaussian(2.0), table=sp.csr_array(X))
    assert not is_fitted_alone(Linear())
    assert not is_fitted_alone(Gaussian(2.0), intercept=False)
    assert not is_fitted_alone(Gaussian(2.0), loss=Logistic(5.0))
    assert not is_fitted_alone(Gaussian(2.0), Y=np.eye(2)[LABELS] - 0.5)
    assert not is_fitted_alone(Gaussian(2.0), tol=1e-9)
    assert not is_fitted_alone(Gaussian(2.0), table=np.full((N, 2), 0.1))
    # Its values are equal in single precision, unless they are less the offset.
    assert is_fitted_alone(Gaussian(1e4), loss=Hinge(1e6)) == (road == "Gram matrix")
    assert not is_fitted_alone(Polynomial(3), table=1e120 * X)


def test_kernels_of_libsvm_are_equal_to_ours() -> None:
    assert libsvm_kernel(Gaussian(4.0)) == {"kernel": "rbf", "gamma": 0.0625}
    assert libsvm_kernel(Gaussian(np.ones(4), ard=True)) is None
    assert libsvm_kernel(Linear()) is None
    expected = {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 3.0}
    assert libsvm_kernel(Polynomial(2, gamma=0.5, coef0=3.0)) == expected


def test_copies_and_files_of_a_model_predict_alike(tmp_path: Path) -> None:
    model = MKLClassifier([Gaussian(2.0)], **PLAIN).fit(X, LABELS)
    expected = model.decision_function(X)
    copied = pickle.loads(pickle.dumps(model))
    assert_array_equal(copied.decision_function(X), expected)
    assert copied.alignment_ == model.alignment_
    for complete in (True, False):
        fresh = MKLClassifier([Gaussian(2.0)], **PLAIN).fit(X, LABELS)
        mercer.save(fresh, tmp_path / "model.skops", complete=complete)
        loaded = mercer.load(tmp_path / "model.skops")
        assert_allclose(loaded.decision_function(X), expected, rtol=1e-12)
        if complete:
            assert loaded.alignment_ == model.alignment_
        else:
            with pytest.raises(AttributeError, match="complete=True"):
                _ = loaded.alignment_


def test_replaced_attributes_change_predictions() -> None:
    model = MKLClassifier([Gaussian(2.0)], **PLAIN).fit(X, LABELS)
    expected = model.decision_function(X)
    model.dual_coef_, model.intercept_ = 2.0 * model.dual_coef_, 2.0 * model.intercept_
    assert_allclose(model.decision_function(X), 2.0 * expected, rtol=1e-9, atol=1e-12)
