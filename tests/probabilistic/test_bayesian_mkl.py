from functools import cache
from typing import Any

import numpy as np
import pytest
from bayesian_cases import (
    CLASSIFIERS,
    KERNELS,
    PROBLEMS,
    data,
    every_solver,
    fitted,
    has_variances,
    make,
    may_collapse,
    suitable_problem,
)
from learner_cases import problem
from model_file_cases import saved_and_loaded
from numpy.testing import assert_allclose, assert_array_equal
from reference import centered_alignment, gaussian, target_kernel
from sklearn.base import BaseEstimator, clone

from mercer import BayesianMKLClassifier, BayesianMKLRegressor
from mercer.kernels import CallableKernel, Gaussian, WeightedSum
from mercer.probabilistic import LogisticLikelihood

CHOSEN = ["logistic vb", "gaussian marginal", "laplace mkl"]


@cache
def precisely_fitted(solver: str) -> Any:
    """Return a model whose weights are known to more digits than the default gives."""
    return make(solver, tol=1e-8).fit(*data(solver))


# --- attributes and predictions ----------------------------------------------------------------


@every_solver
def test_fitted_attributes(solver: str) -> None:
    case, model = PROBLEMS[suitable_problem(solver)](), fitted(suitable_problem(solver), solver)
    assert isinstance(model.kernel_, WeightedSum)
    gram = model.kernel_(case.X)
    assert_allclose(gram, np.tensordot(model.weights_, case.grams, axes=1), atol=1e-12)
    task = "classification" if case.classes else "regression"
    expected = centered_alignment(gram, target_kernel(np.asarray(case.y), task))
    assert_allclose(model.alignment_, expected, rtol=1e-7)
    parts = model.weights_ * np.einsum("kii->k", case.grams)
    assert_allclose(model.shares_, parts / parts.sum(), rtol=1e-12)
    assert model.dual_coef_.shape == case.Y.shape
    assert_array_equal(model.X_fit_, case.X)
    assert model.n_features_in_ == 4


@every_solver
def test_predictions_are_the_formula(solver: str) -> None:
    case, model = PROBLEMS[suitable_problem(solver)](), fitted(suitable_problem(solver), solver)
    Z = np.random.default_rng(8).normal(size=(9, 4))
    across = np.tensordot(
        model.weights_, [gaussian(case.X[:, [z]], 1.5, Z[:, [z]]).T for z in range(4)], axes=1
    )
    mean = across @ model.dual_coef_[:, 0]
    if case.classes:
        assert_allclose(model.predict_latent(Z)[0], mean, rtol=1e-9, atol=1e-12)
        assert_array_equal(model.predict(Z), np.where(mean > 0, 1, -1))
        probability = model.predict_proba(Z)
        assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-14)
        assert_array_equal(probability[:, 1] > 0.5, mean > 0)
        # The variance of the latent function moves probabilities towards one half.
        plain = 1.0 / (1.0 + np.exp(-mean))
        assert (np.abs(probability[:, 1] - 0.5) < np.abs(plain - 0.5)).all()
        return
    assert_allclose(model.predict(Z), mean * model.y_scale_ + model.y_mean_, rtol=1e-9)
    if solver.startswith("laplace m"):
        with pytest.raises(ValueError, match="no variances"):
            model.predict(Z, return_std=True)
        return
    again, std = model.predict(Z, return_std=True)
    assert_allclose(again, model.predict(Z), rtol=1e-12)
    noisy = model.predict(Z, return_std=True, include_noise=True)[1]
    assert_allclose(noisy**2 - std**2, model.noise_variance_, rtol=1e-9)
    far = model.predict(np.full((1, 4), 1e4), return_std=True)
    assert_allclose(far[0], model.y_mean_, rtol=1e-9)
    assert_allclose(far[1] ** 2, model.weights_.sum() * model.y_scale_**2, rtol=1e-9)


@pytest.mark.parametrize("solver", CHOSEN)
def test_models_survive_skops(solver: str) -> None:
    X, model = data(solver)[0], precisely_fitted(solver)
    copy = saved_and_loaded(model)
    assert_array_equal(copy.predict(X), model.predict(X))
    if solver in CLASSIFIERS:
        assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    elif has_variances(solver):
        assert_array_equal(
            copy.predict(X, return_std=True)[1], model.predict(X, return_std=True)[1]
        )


# --- stacks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", CHOSEN)
def test_stacks_are_equivalent_to_their_kernels(solver: str) -> None:
    X, y = data(solver)
    Z = np.random.default_rng(5).normal(size=(12, 4))
    train = np.stack([k(X) for k in KERNELS], axis=-1)
    across = np.stack([k(Z, X) for k in KERNELS], axis=-1)
    diagonal = np.stack([k.diag(Z) for k in KERNELS], axis=-1)
    here = precisely_fitted(solver)
    there = clone(here).set_params(kernels="precomputed").fit(train, y)
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
        with pytest.raises(ValueError, match='diagonal is for kernels="precomputed" only'):
            here.predict_proba(Z, diagonal=diagonal)
        return
    found = there.predict(across, return_std=True, diagonal=diagonal)
    assert_allclose(found[1], here.predict(Z, return_std=True)[1], rtol=1e-4)
    with pytest.raises(ValueError, match="diagonal contains NaN"):
        there.predict(across, return_std=True, diagonal=np.full_like(diagonal, np.nan))


def test_stacks_of_constant_diagonals_need_no_new_diagonal() -> None:
    solver = "gaussian marginal"
    X, y = data(solver)
    kernels = [Gaussian(1.0), Gaussian(3.0)]
    Z = np.random.default_rng(5).normal(size=(12, 4))
    here = make(solver, kernels=kernels).fit(X, y)
    there = make(solver, kernels="precomputed").fit(np.stack([k(X) for k in kernels], axis=-1), y)
    across = np.stack([k(Z, X) for k in kernels], axis=-1)
    std = there.predict(across, return_std=True)[1]
    assert_allclose(std, here.predict(Z, return_std=True)[1], rtol=1e-7)


# --- validation --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solver", "kind"), [("logistic vb", "indefinite"), ("gaussian marginal", "negative")]
)
def test_indefinite_kernels_are_rejected(solver: str, kind: str) -> None:
    X, y = data(solver)
    kernel = CallableKernel(
        lambda A, B: np.tanh(A @ B.T - 1.0) if kind == "indefinite" else -gaussian(A, 1.0, B)
    )
    with pytest.raises(ValueError, match="not positive semi-definite"):
        make(solver, kernels=[kernel]).fit(X, y)


CLASSIFIER, REGRESSOR = BayesianMKLClassifier, BayesianMKLRegressor


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (CLASSIFIER(objective="marginal_likelihood"), "objective .*got 'marginal_likelihood'"),
        (REGRESSOR(objective="laplace"), "objective must be one of .*; got 'laplace'"),
        (REGRESSOR(likelihood="laplace"), 'objective="marginal_likelihood" is in closed form'),
        (CLASSIFIER(norm=0.99), "norm must be at least 1; got 0.99"),
        (CLASSIFIER(objective="map", learn_parameters=True), "learn_parameters=True"),
        (REGRESSOR("precomputed", learn_parameters=True), "learn_parameters=True"),
    ],
)
def test_invalid_parameters_are_rejected(model: BaseEstimator, message: str) -> None:
    """Parameters are checked before the features are."""
    _, y = data("logistic vb" if isinstance(model, CLASSIFIER) else "gaussian marginal")
    with pytest.raises((ValueError, TypeError), match=message):
        clone(model).fit(np.full((len(y), 2), np.nan), y)


@pytest.mark.parametrize("solver", ["logistic vb", "logistic mkl 2"])
def test_three_classes_share_one_kernel(solver: str) -> None:
    X, y = problem("three classes", 45)
    names = np.array(["low", "mid", "top"])[y]
    model = make(solver, tol=1e-6).fit(X, names)
    assert model.weights_.shape == (3,)
    assert model.dual_coef_.shape == (45, 3)
    probability = model.predict_proba(X)
    assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-14)
    assert_array_equal(model.predict(X), model.classes_[probability.argmax(axis=1)])
    mean, std = model.predict_latent(X)
    own = [LogisticLikelihood().probability(m, v) for m, v in zip(mean.T, std.T**2, strict=True)]
    assert_allclose(probability, (own / np.sum(own, axis=0)).T, rtol=1e-9)
    assert model.score(X, names) > 0.7


@pytest.mark.parametrize("solver", CLASSIFIERS)
@may_collapse
def test_a_class_may_have_one_sample(solver: str) -> None:
    X, _ = problem("binary", 40)
    y = (np.arange(40) == 7).astype(int)
    model = make(solver).fit(X, y)
    probability = model.predict_proba(X)
    assert np.isfinite(probability).all()
    assert probability[:, 1].mean() < 0.5
    assert model.predict(X).sum() <= 1
