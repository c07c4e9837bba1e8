"""Conjugate gradients, against the normal equations."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from mercer._blocks import GivenWeights, block_source, reduce_blocks
from mercer._nystroem import falkon
from mercer._nystroem.second_stage import NystroemModel, fit_nystroem
from mercer._nystroem.target_encoding import TargetEncoding
from mercer._typing import Array
from mercer.kernels import Gaussian, Kernel, Laplacian, Linear

RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, size=(500, 2))
Y = 10.0 + 5.0 * np.sin(2.0 * X[:, 0]) * X[:, 1] + 0.2 * RNG.normal(size=500)
WEIGHTS = np.exp(2.0 * X[:, 0]) / 50.0
WEIGHTED = {"weights": GivenWeights(WEIGHTS), "sample_weight": WEIGHTS}
LABELS = np.where(Y > 10.0, "high", "low")


def fitted(
    y: Array, kernel: Kernel | None = None, alphas: Array | None = None, **weights: Any
) -> NystroemModel:
    of = TargetEncoding.of_classes if y.dtype.kind == "U" else TargetEncoding.of_responses
    kernel = Gaussian(1.5) if kernel is None else kernel
    source = block_source(X, y, block_rows=64)
    return fit_nystroem(kernel, source, of(y), X, n_components=60, alphas=alphas, **weights)


@pytest.fixture
def iterated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few centers are many, so that they are fitted by conjugate gradients."""
    monkeypatch.setattr("mercer._nystroem.second_stage.MOST_DIRECT", 50)
    monkeypatch.setattr(falkon, "_FEW", 30)


@pytest.fixture
def precise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Iterations end at convergence."""
    for name, value in {"_COMPARED": 1e-8, "_FITTED": 1e-8, "_MAX_ITER": 200}.items():
        monkeypatch.setattr(falkon, name, value)


def exact(kernel: Kernel, centers: Array, alpha: float, weights: Array) -> Array:
    """Predictions of ridge regression with an intercept on the span of the centers."""
    K, G = kernel(X, centers), kernel(centers)
    scale = np.trace(G) / len(G) - G.mean()
    K, mean = K - np.average(K, axis=0, weights=weights), np.average(Y, weights=weights)
    system = K.T @ (weights[:, None] * K) + alpha * scale * G
    values, vectors = np.linalg.eigh(system)
    kept = values > 1e-13 * values[-1]
    projected = vectors[:, kept].T @ (K.T @ (weights * (Y - mean)))
    return np.asarray(mean + K @ (vectors[:, kept] @ (projected / values[kept])))


@pytest.mark.usefixtures("iterated")
class TestConjugateGradients:
    @pytest.mark.usefixtures("precise")
    @pytest.mark.parametrize("kernel", [Gaussian(0.7), Laplacian(2.0, norm=1.0), Linear()])
    def test_predictions_are_those_of_the_normal_equations(self, kernel: Kernel) -> None:
        alpha = 0.03
        model = fitted(Y, kernel, np.array([alpha]))
        expected = exact(kernel, model.columns.centers, alpha, np.ones(500))
        np.testing.assert_allclose(model.predict(X), expected, atol=1e-5 * Y.std())

    @pytest.mark.usefixtures("precise")
    def test_weights_are_those_of_the_normal_equations(self) -> None:
        alpha, kernel = 0.03, Gaussian(0.7)
        model = fitted(Y, kernel, np.array([alpha]), **WEIGHTED)
        expected = exact(kernel, model.columns.centers, alpha, WEIGHTS)
        np.testing.assert_allclose(model.predict(X), expected, atol=1e-5 * Y.std())

    def test_they_are_as_good_as_those_of_the_direct_solution(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        iterated = fitted(Y)
        monkeypatch.undo()
        direct = fitted(Y)
        truth = 10.0 + 5.0 * np.sin(2.0 * X[:, 0]) * X[:, 1]
        errors = [np.std(model.predict(X) - truth) for model in (iterated, direct)]
        assert errors[0] < 1.3 * errors[1]

    def test_the_penalty_is_one_of_those_given(self) -> None:
        alphas = np.array([1e-3, 1e-2, 1e-1, 1.0, 10.0])
        model = fitted(Y, alphas=alphas)
        assert model.choice.alpha in alphas
        assert set(model.choice.alphas) <= set(alphas)

    def test_several_responses(self) -> None:
        model = fitted(np.column_stack([Y, -Y]))
        found = model.predict(X)
        np.testing.assert_allclose(found[:, 0], -found[:, 1], rtol=1e-6)

    def test_probabilities(self) -> None:
        model = fitted(LABELS)
        assert np.mean(model.predict(X) == LABELS) > 0.93
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)

    @pytest.mark.parametrize("weights", [{}, WEIGHTED], ids=["ones", "weights"])
    def test_few_passes_are_enough(
        self, weights: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        passes = []

        def counted(*arguments: object, **settings: object) -> object:
            passes.append(1)
            return partial(reduce_blocks)(*arguments, **settings)  # type: ignore[arg-type]

        monkeypatch.setattr("mercer._nystroem.second_stage.reduce_blocks", counted)
        fitted(Y, **weights)
        assert len(passes) <= 40


def test_evenly_spaced_centers() -> None:
    centers = np.arange(5000.0)[:, None]
    few = falkon.some_centers(centers)
    assert len(np.unique(few)) == 2000
    assert few[0, 0] == 0.0
    assert few[-1, 0] == 4999.0
