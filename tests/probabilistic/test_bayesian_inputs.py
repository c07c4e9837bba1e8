"""Inputs of probabilistic estimators: containers, stacks, classes, edges, and collapse."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io as sio
from bayesian_cases import CLASSIFIERS, REGRESSORS, SOLVERS, finest
from learner_cases import problem
from numpy.testing import assert_allclose, assert_array_equal
from reference import gaussian
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils import Bunch

from mercer import BayesianMKLClassifier, BayesianMKLRegressor
from mercer.kernels import Gaussian, Linear, OnColumns, Polynomial
from mercer.probabilistic import LogisticLikelihood

every_solver = pytest.mark.parametrize("solver", SOLVERS)
may_collapse = pytest.mark.filterwarnings("ignore:The objective is as low without any kernel")
KERNELS: list[Any] = [Gaussian(1.0), Gaussian(3.0), Linear()]


def data(solver: str) -> tuple[np.ndarray, Any]:
    return problem("binary", 40) if solver in CLASSIFIERS else problem("regression", 25)


def make(solver: str, **options: Any) -> Any:
    return clone(SOLVERS[solver]).set_params(**{"kernels": KERNELS, "max_iter": 400, **options})


def has_variances(solver: str) -> bool:
    return solver not in ("laplace map", "laplace mkl")


# --- containers -------------------------------------------------------------------------------


@every_solver
def test_containers(solver: str) -> None:
    X, y = data(solver)
    X = X.astype(np.float32).astype(float)
    # Rounding differs, and may add a step: the weights are as precise as the search.
    model = make(solver, tol=max(finest(solver), 1e-6))
    here = clone(model).fit(X, y)
    for table in (csr_array(X), X.tolist(), pd.DataFrame(X, columns=list("abcd"))):
        there = clone(model).fit(table, y)
        assert_allclose(there.objective_, here.objective_, rtol=2.0 * model.tol)
        assert_allclose(there.weights_, here.weights_, rtol=1e-3, atol=1e-4)
        assert_allclose(there.predict(table), here.predict(X), rtol=1e-3, atol=1e-4)
    single = clone(model).fit(X.astype(np.float32), y)
    assert_allclose(single.objective_, here.objective_, rtol=1e-4)
    assert_allclose(single.predict(X.astype(np.float32)), here.predict(X), rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("solver", ["logistic vb", "gaussian mlm"])
def test_columns_by_name(solver: str) -> None:
    X, y = data(solver)
    frame = pd.DataFrame(X, columns=["age", "bmi", "pulse", "height"])
    named = [OnColumns(Gaussian(1.5), ["age"]), OnColumns(Gaussian(1.5), ["bmi", "pulse"])]
    placed = [OnColumns(Gaussian(1.5), [0]), OnColumns(Gaussian(1.5), [1, 2])]
    here = make(solver, kernels=named).fit(frame, y)
    there = make(solver, kernels=placed).fit(X, y)
    assert_allclose(here.weights_, there.weights_, rtol=1e-12)
    assert_array_equal(here.feature_names_in_, frame.columns)
    assert_allclose(here.predict(frame), there.predict(X), rtol=1e-9)


# --- stacks -----------------------------------------------------------------------------------


@every_solver
def test_stacks_are_the_kernels(solver: str) -> None:
    X, y = data(solver)
    Z = np.random.default_rng(5).normal(size=(12, 4))
    train = np.stack([k(X) for k in KERNELS], axis=-1)
    across = np.stack([k(Z, X) for k in KERNELS], axis=-1)
    diagonal = np.stack([k.diag(Z) for k in KERNELS], axis=-1)
    here = make(solver, tol=max(finest(solver), 1e-6)).fit(X, y)
    there = make(solver, kernels="precomputed", tol=max(finest(solver), 1e-6)).fit(train, y)
    assert_allclose(there.weights_, here.weights_, rtol=1e-4, atol=1e-6)
    assert_allclose(there.objective_, here.objective_, rtol=1e-7)
    assert_allclose(there.predict(across), here.predict(Z), rtol=1e-4, atol=1e-5)
    assert there.X_fit_ is None
    if not has_variances(solver):
        return
    if solver in CLASSIFIERS:
        found = there.predict_proba(across, diagonal=diagonal)
        assert_allclose(found, here.predict_proba(Z), atol=1e-5)
        with pytest.raises(ValueError, match="pass them as diagonal, of shape"):
            there.predict_proba(across)
        with pytest.raises(ValueError, match="diagonal must have shape"):
            there.predict_proba(across, diagonal=diagonal[:3])
        with pytest.raises(ValueError, match='diagonal is for kernels="precomputed" only'):
            here.predict_proba(Z, diagonal=diagonal)
        return
    found = there.predict(across, return_std=True, diagonal=diagonal)
    assert_allclose(found[1], here.predict(Z, return_std=True)[1], rtol=1e-4)
    with pytest.raises(ValueError, match="pass them as diagonal, of shape"):
        there.predict(across, return_std=True)
    with pytest.raises(ValueError, match="diagonal contains NaN"):
        there.predict(across, return_std=True, diagonal=np.full_like(diagonal, np.nan))


@pytest.mark.parametrize("solver", ["logistic vb", "gaussian mlm", "laplace vb"])
def test_stacks_of_constant_diagonals_need_no_more(solver: str) -> None:
    X, y = data(solver)
    kernels = [Gaussian(1.0), Gaussian(3.0)]
    Z = np.random.default_rng(5).normal(size=(12, 4))
    here = make(solver, kernels=kernels).fit(X, y)
    there = make(solver, kernels="precomputed").fit(np.stack([k(X) for k in kernels], axis=-1), y)
    across = np.stack([k(Z, X) for k in kernels], axis=-1)
    if solver in CLASSIFIERS:
        assert_allclose(there.predict_proba(across), here.predict_proba(Z), atol=1e-8)
    else:
        std = there.predict(across, return_std=True)[1]
        assert_allclose(std, here.predict(Z, return_std=True)[1], rtol=1e-7)


def test_stacks_of_three_classes() -> None:
    X, y = problem("three classes", 45)
    Z = np.random.default_rng(5).normal(size=(12, 4))
    here = make("logistic vb").fit(X, y)
    there = make("logistic vb", kernels="precomputed")
    there.fit(np.stack([k(X) for k in KERNELS], axis=-1), y)
    across = np.stack([k(Z, X) for k in KERNELS], axis=-1)
    diagonal = np.stack([k.diag(Z) for k in KERNELS], axis=-1)
    assert_array_equal(there.predict(across, diagonal=diagonal), here.predict(Z))
    assert_allclose(
        there.predict_proba(across, diagonal=diagonal), here.predict_proba(Z), atol=1e-4
    )
    with pytest.raises(ValueError, match="pass them as diagonal, of shape"):
        there.predict(across)


def test_stacks_pass_through_model_selection() -> None:
    X, y = data("logistic vb")
    stack = np.stack([gaussian(X, s) for s in (0.5, 2.0)], axis=-1)
    model = BayesianMKLClassifier("precomputed")
    found = cross_val_score(model, stack, y, cv=3, scoring="neg_log_loss")
    plain = BayesianMKLClassifier([Gaussian(0.5), Gaussian(2.0)])
    assert_allclose(found, cross_val_score(plain, X, y, cv=3, scoring="neg_log_loss"), rtol=1e-6)
    search = GridSearchCV(
        BayesianMKLRegressor("precomputed", objective="mkl", noise=0.1), {"penalty": [0.1, 1.0]}
    )
    assert search.fit(stack, X[:, 0]).best_params_["penalty"] in (0.1, 1.0)


# --- classes and outputs ----------------------------------------------------------------------


@pytest.mark.parametrize("solver", CLASSIFIERS)
def test_three_classes_share_one_kernel(solver: str) -> None:
    X, y = problem("three classes", 45)
    names = np.array(["low", "mid", "top"])[y]
    model = make(solver, tol=1e-6).fit(X, names)
    assert_array_equal(model.classes_, ["low", "mid", "top"])
    assert model.weights_.shape == (3,)
    assert model.dual_coef_.shape == (45, 3)
    probability = model.predict_proba(X)
    assert probability.shape == (45, 3)
    assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-14)
    assert (probability > 0.0).all()
    assert_array_equal(model.predict(X), model.classes_[probability.argmax(axis=1)])
    mean, std = model.predict_latent(X)
    assert mean.shape == std.shape == (45, 3)
    own = [LogisticLikelihood().probability(m, v) for m, v in zip(mean.T, std.T**2, strict=True)]
    assert_allclose(probability, (own / np.sum(own, axis=0)).T, rtol=1e-9)
    assert model.score(X, names) > (0.4 if model.objective == "map" else 0.7)
    moved = make(solver, tol=1e-6).fit(X, np.array(["b", "c", "a"])[y])
    assert_allclose(moved.objective_, model.objective_, rtol=1e-6)
    assert_allclose(moved.predict_proba(X)[:, [1, 2, 0]], probability, atol=1e-3)


@pytest.mark.parametrize("solver", REGRESSORS)
def test_several_responses(solver: str) -> None:
    X, Y = problem("two outputs", 20)
    model = make(solver).fit(X, Y)
    assert model.predict(X).shape == (20, 2)
    assert model.noise_variance_.shape == (2,)
    if has_variances(solver):
        mean, std = model.predict(X, return_std=True, include_noise=True)
        assert mean.shape == std.shape == (20, 2)
        assert_allclose(std[:, 1] / std[:, 0], model.y_scale_[1] / model.y_scale_[0], rtol=0.5)
    swapped = make(solver).fit(X, Y[:, ::-1])
    assert_allclose(swapped.objective_, model.objective_, rtol=1e-5)
    alone, column = make(solver).fit(X, Y[:, 0]), make(solver).fit(X, Y[:, :1])
    assert column.predict(X).shape == (20, 1)
    assert_allclose(column.predict(X)[:, 0], alone.predict(X), rtol=1e-12)
    if model.objective in ("mlm", "vb"):
        twice = make(solver).fit(X, Y[:, [0, 0]])
        assert_allclose(twice.objective_, 2.0 * alone.objective_, rtol=5e-4)


@pytest.mark.parametrize("solver", CLASSIFIERS)
@may_collapse
def test_one_sample_against_many(solver: str) -> None:
    X, _ = problem("binary", 40)
    y = (np.arange(40) == 7).astype(int)
    model = make(solver).fit(X, y)
    probability = model.predict_proba(X)
    assert np.isfinite(probability).all()
    assert probability[:, 1].mean() < 0.5
    assert model.predict(X).sum() <= 1


# --- edges ------------------------------------------------------------------------------------


@every_solver
@may_collapse
def test_two_samples(solver: str) -> None:
    model = make(solver).fit([[0.0, 1.0], [2.0, 1.0]], [0, 1])
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.predict([[0.0, 1.0], [1.0, 1.0], [50.0, -3.0]])).all()
    if solver in CLASSIFIERS:
        assert_allclose(model.predict_proba([[1.0, 1.0]]).sum(), 1.0, rtol=1e-14)


@every_solver
@may_collapse
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_stacks_of_constant_matrices(solver: str, value: float) -> None:
    _, y = data(solver)
    n = len(y)
    model = make(solver, kernels="precomputed").fit(np.full((n, n, 2), value), y)
    assert np.isfinite(model.weights_).all()
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.shares_).all()
    assert len(np.unique(model.predict(np.full((2, n, 2), value)))) == 1


@every_solver
@pytest.mark.parametrize("factor", [1e-150, 1e8])
def test_kernels_of_any_size(solver: str, factor: float) -> None:
    X, y = data(solver)
    stack = np.stack([k(X) for k in KERNELS], axis=-1)
    model = make(solver, kernels="precomputed", tol=max(finest(solver), 1e-6))
    here, there = model.fit(stack, y), clone(model).fit(factor * stack, y)
    assert_allclose(there.weights_ * factor, here.weights_, rtol=1e-3, atol=1e-6)
    assert_allclose(there.predict(factor * stack), here.predict(stack), rtol=1e-4, atol=1e-5)


def test_rounding_ends_a_search() -> None:
    """Terms of very different sign that cancel leave fewer digits than tol asks for."""
    X, y = problem("regression", 40)
    stack = 1e-8 * np.stack([k(X) for k in KERNELS], axis=-1)
    model = BayesianMKLRegressor("precomputed", tol=1e-7).fit(stack, y)
    assert model.n_iter_ < 100


@pytest.mark.parametrize("solver", REGRESSORS)
def test_responses_without_noise(solver: str) -> None:
    X, _ = data(solver)
    y = X @ [1.0, -2.0, 0.5, 0.0]
    model = make(solver).fit(X, y)
    assert model.noise_variance_ >= 0.0
    if solver in ("gaussian mlm", "gaussian vb", "laplace vb"):
        assert model.noise_variance_ < 1e-3
        assert model.score(X, y) > 0.999
        Z = np.random.default_rng(5).normal(size=(12, 4))
        assert_allclose(model.predict(Z), Z @ [1.0, -2.0, 0.5, 0.0], atol=0.1)


@pytest.mark.parametrize("solver", ["gaussian mlm", "gaussian vb", "laplace vb"])
def test_responses_of_noise_alone(solver: str) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(100, 3)), 5.0 * rng.normal(size=100) + 2.0
    model = make(solver).fit(X, y)
    assert_allclose(model.noise_variance_, y.var(), rtol=0.3)
    assert model.predict(X).std() < 0.5 * y.std()
    likelihood = "gaussian" if "gaussian" in solver else "laplace"
    # White noise alone is one of the models.
    r = np.abs(y - y.mean()) / y.std()
    none = {
        "gaussian": -50.0 * (np.log(2.0 * np.pi) + 1.0),
        "laplace": -100.0 * (np.log(2.0 * r.mean()) + 1.0),
    }
    assert model.log_marginal_likelihood_ >= none[likelihood] * (1.0 + 1e-4)


@pytest.mark.parametrize("kernel", [Polynomial(3), Linear()])
@pytest.mark.parametrize("solver", ["logistic vb", "gaussian mlm", "laplace vb"])
def test_kernels_of_very_different_diagonals(solver: str, kernel: Any) -> None:
    X, y = data(solver)
    X[0] *= 1e4
    model = make(solver, kernels=[kernel, Gaussian(1.0)], max_iter=1000).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


# --- on disk ----------------------------------------------------------------------------------


@every_solver
def test_models_on_disk(solver: str) -> None:
    X, y = data(solver)
    model = make(solver).fit(X, y)
    dumped = sio.dumps(model)
    trusted = sio.get_untrusted_types(data=dumped)
    assert all(name.startswith("mercer.") for name in trusted)
    for copy in (pickle.loads(pickle.dumps(model)), sio.loads(dumped, trusted=trusted)):
        assert_array_equal(copy.predict(X), model.predict(X))
        if solver in CLASSIFIERS:
            assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
        elif has_variances(solver):
            assert_array_equal(
                copy.predict(X, return_std=True)[1], model.predict(X, return_std=True)[1]
            )


# --- joint MAP's collapse ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ionosphere", "sonar", "heart", "german"])
def test_joint_map_collapses_for_little_jitter_alone(
    name: str, data: Callable[[str], Bunch]
) -> None:
    found = data(name)
    rows = np.random.default_rng(0).permutation(len(found.target))
    rows = rows[:150] if name == "german" else rows
    X, y = np.asarray(found.data, dtype=float)[rows], found.target[rows]
    deviation = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)
    model = BayesianMKLClassifier(objective="map").fit(X, y)
    assert model.weights_.sum() > 0.0
    if name != "german":
        assert model.score(X, y) > 0.8
    with pytest.warns(UserWarning, match=r"joint MAP has collapsed. Raise jitter") as told:
        clone(model).set_params(jitter=1e-3).fit(X[:150], y[:150])
    assert told[0].filename == __file__
