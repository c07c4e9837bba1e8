"""Probabilistic classification: several classes, their names, and rare classes."""

from __future__ import annotations

import numpy as np
import pytest
from bayesian_cases import CLASSIFIERS, KERNELS, make, may_collapse
from learner_cases import problem
from numpy.testing import assert_allclose, assert_array_equal

from mercer.probabilistic import LogisticLikelihood


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


def test_three_classes_from_stacks() -> None:
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
