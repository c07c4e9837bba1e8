"""Edges of objectives for given weights, inputs of other kinds, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from probabilistic_cases import KERNELS, LIKELIHOODS, OBJECTIVES, THETA, naive, problem
from probabilistic_reference import joint_map, variational
from reference import gaussian
from scipy.sparse import csr_array

from mercer.kernels import Gaussian, Linear, OnColumns
from mercer.probabilistic import (
    GaussianLikelihood,
    LaplaceLikelihood,
    LogisticLikelihood,
    posterior,
)

every_likelihood = pytest.mark.parametrize("name", LIKELIHOODS)
every_objective = pytest.mark.parametrize("kind", OBJECTIVES)


# --- edges ------------------------------------------------------------------------------------


@every_likelihood
@every_objective
def test_no_kernel_at_all(name: str, kind: str) -> None:
    X, y, grams = problem(name)
    likelihood, naive_likelihood = LIKELIHOODS[name]
    found = posterior(X, y, KERNELS, np.zeros(3), likelihood=likelihood, **OBJECTIVES[kind])
    expected = naive_likelihood.losses(y, np.zeros(len(y)))[0].sum()
    if kind == "map":
        expected = joint_map(np.zeros_like(grams[0]), y, naive_likelihood, 0.3)
    assert_allclose(found.objective, expected, rtol=1e-8)
    mean, variance = found.predict(X)
    assert_array_equal(mean, 0.0)
    if "laplace" not in name or kind == "vb":
        assert_array_equal(variance, 0.0)
    assert np.isfinite(found.gradient).all()


@every_likelihood
@every_objective
@pytest.mark.parametrize("size", [1e-12, 1e6, 1e10])
def test_kernels_of_any_size(name: str, kind: str, size: float) -> None:
    X, y, _ = problem(name)
    found = posterior(
        X, y, KERNELS, size * THETA, likelihood=LIKELIHOODS[name][0], **OBJECTIVES[kind]
    )
    assert np.isfinite(found.objective)
    assert np.isfinite(found.gradient).all()
    assert np.isfinite(found.latent).all()
    if size < 1.0:
        assert_allclose(found.predict(X)[0], 0.0, atol=1e-9)
        if "mkl" not in kind and not (name == "laplace" and kind == "map"):
            assert_allclose(found.predict(X)[1], size * 3.5, rtol=1e-6)


@every_likelihood
@every_objective
def test_one_sample(name: str, kind: str) -> None:
    X, y = np.zeros((1, 2)), np.ones(1)
    grams = np.ones((3, 1, 1))
    found = posterior(X, y, KERNELS, THETA, likelihood=LIKELIHOODS[name][0], **OBJECTIVES[kind])
    assert_allclose(found.objective, naive(name, kind, y, grams, THETA), rtol=1e-8, atol=1e-8)


@every_likelihood
@every_objective
def test_duplicated_rows_and_columns_of_zeros(name: str, kind: str) -> None:
    X, y, _ = problem(name, 6)
    X, y = np.repeat(np.column_stack([X, np.zeros(6)]), 3, axis=0), np.repeat(y, 3)
    y[0] = -y[0]
    kernels = [Gaussian(1.0), OnColumns(Linear(), [2]), Linear()]
    grams = np.stack([gaussian(X, 1.0), np.zeros((18, 18)), X @ X.T])
    found = posterior(X, y, kernels, THETA, likelihood=LIKELIHOODS[name][0], **OBJECTIVES[kind])
    if kind == "vb":
        # The reference's gradient needs no inverse of K.
        K = np.tensordot(THETA, grams, axes=1) + 1e-9 * np.eye(18)
        expected = variational(K, y, LIKELIHOODS[name][1])[0]
    else:
        expected = naive(name, kind, y, grams, THETA)
    assert_allclose(found.objective, expected, rtol=1e-6)


def test_samples_far_away_know_nothing() -> None:
    for name, (likelihood, _) in LIKELIHOODS.items():
        X, y, _ = problem(name)
        found = posterior(X, y, KERNELS, THETA, likelihood=likelihood)
        mean, variance = found.predict(np.full((1, 2), 1e3))
        assert_allclose(mean, 0.0, atol=1e-12)
        assert_allclose(variance, 3.5, rtol=1e-12)
        assert (found.predict(X)[1] < 3.5).all()
        assert (found.predict(X)[1] > 0.0).all()


def test_inputs_of_other_kinds() -> None:
    X, y, _ = problem("logistic")
    X = np.round(X, 1).astype(np.float32).astype(float)
    expected = posterior(
        X, y, [Linear(), Gaussian(1.5)], [1.0, 2.0], likelihood=LogisticLikelihood()
    )
    for table, labels in (
        (X.astype(np.float32), y),
        (csr_array(X), y),
        (X.tolist(), y.astype(int).tolist()),
    ):
        found = posterior(
            table, labels, ["linear", Gaussian(1.5)], (1, 2), likelihood=LogisticLikelihood()
        )
        assert_allclose(found.objective, expected.objective, rtol=1e-7)
        assert_allclose(found.predict(table)[0], expected.predict(X)[0], atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"objective": "mlm"}, 'objective="mlm" is in closed form for Gaussian noise only'),
        ({"objective": "ml2"}, "objective must be one of"),
        ({"weights": [1.0]}, "weights must hold 3|3 kernels"),
        ({"weights": [1.0, -1.0, 0.0]}, "weights must .*(at least zero|not negative)"),
        ({"weights": [1.0, np.nan, 0.0]}, "weights .*NaN"),
        ({"kernels": []}, "empty"),
        ({"objective": "map"}, "jitter must be positive"),
        ({"objective": "map", "jitter": -1.0}, "jitter must be"),
        ({"objective": "mkl", "penalty": -1.0}, "penalty must be"),
        ({"objective": "mkl", "norm": 0.5}, "norm must be at least 1"),
        ({"y": [1.0, -1.0]}, "inconsistent numbers of samples"),
        ({"y": np.arange(14.0)}, "labels .*-1 and 1"),
        ({"y": np.full(14, np.nan)}, "y contains NaN"),
        ({"X": np.full((14, 2), np.nan)}, "X contains NaN"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], message: str) -> None:
    X, y, _ = problem("logistic")
    given_ = {"X": X, "y": y, "kernels": KERNELS, "weights": THETA, **changes}
    X, y, kernels, weights = (given_.pop(name) for name in ("X", "y", "kernels", "weights"))
    with pytest.raises(ValueError, match=message):
        posterior(X, y, kernels, weights, likelihood=LogisticLikelihood(), **given_)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_noise_that_is_none(value: float) -> None:
    X, y, _ = problem("gaussian")
    for likelihood in (GaussianLikelihood, LaplaceLikelihood):
        with pytest.raises(ValueError, match=r"(noise|rate) must be"):
            posterior(X, y, KERNELS, THETA, likelihood=likelihood(value))
