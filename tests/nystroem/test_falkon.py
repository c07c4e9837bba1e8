"""Conjugate gradients, against the normal equations."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from mercer import _blocks as blocks
from mercer._blocks import GivenWeights, block_source, folds_at, reduce_blocks
from mercer._nystroem import falkon
from mercer._nystroem.second_stage import NystroemModel, fit_nystroem
from mercer._nystroem.target_encoding import TargetEncoding
from mercer._typing import Array
from mercer.kernels import CallableKernel, Gaussian, Kernel, Laplacian, Linear, WeightedSum

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


def exact(model: NystroemModel, alpha: float, weights: Array, y: Array, Z: Array) -> Array:
    """Predictions at Z by c + f, f = sum_j b_j k(., c_j), where sum_j b_j = 0, of least squared
    error on X plus alpha |f|^2 at unit scale."""
    kernel, centers = model.columns.kernel, model.columns.centers
    m = len(centers)
    H = np.eye(m) - 1.0 / m
    K, G = kernel(X, centers) @ H, H @ kernel(centers) @ H
    means, mean = np.average(K, axis=0, weights=weights), np.average(y, axis=0, weights=weights)
    K -= means
    values, vectors = np.linalg.eigh(K.T @ (weights[:, None] * K) + alpha * np.trace(G) / m * G)
    kept = values > 1e-13 * values[-1]
    projected = (vectors[:, kept].T @ (K.T @ (weights * (y - mean).T).T)).T / values[kept]
    return np.asarray(mean + (kernel(Z, centers) @ H - means) @ vectors[:, kept] @ projected.T)


@pytest.mark.usefixtures("iterated")
class TestConjugateGradients:
    @pytest.mark.usefixtures("precise")
    @pytest.mark.parametrize("weights", [{}, WEIGHTED], ids=["ones", "weights"])
    @pytest.mark.parametrize("alpha", [1e-3, 0.03, 30.0])
    @pytest.mark.parametrize("kernel", [Gaussian(0.7), Laplacian(2.0, norm=1.0), Linear()])
    def test_both_solvers_and_the_dense_problem_predict_the_same(
        self,
        kernel: Kernel,
        alpha: float,
        weights: dict[str, Any],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """The kernels' Gram matrices at the centers keep their digits, and none is left out."""
        new = RNG.uniform(-2.5, 2.5, size=(200, 2))
        model = fitted(Y, kernel, np.array([alpha]), **weights)
        monkeypatch.setattr("mercer._nystroem.second_stage.MOST_DIRECT", 5000)
        direct = fitted(Y, kernel, np.array([alpha]), **weights)
        of_rows = WEIGHTS if weights else np.ones(500)
        expected = exact(model, alpha, of_rows, Y, new)
        for found in (model, direct):
            np.testing.assert_allclose(found.predict(new), expected, atol=1e-6 * Y.std())

    @pytest.mark.usefixtures("precise")
    @pytest.mark.parametrize("most_direct", [50, 5000], ids=["iterated", "direct"])
    def test_a_constant_added_to_the_kernel_changes_nothing(
        self, most_direct: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("mercer._nystroem.second_stage.MOST_DIRECT", most_direct)
        constant = CallableKernel(lambda A, B: np.full((len(A), len(B)), 3.0))
        shifted = WeightedSum([Gaussian(0.7), constant], [1.0, 1.0])
        models = [fitted(Y, kernel, np.array([0.03])) for kernel in (Gaussian(0.7), shifted)]
        np.testing.assert_allclose(*(model.predict(X) for model in models), atol=1e-6 * Y.std())

    @pytest.mark.usefixtures("precise")
    def test_losses_are_relative_to_those_of_the_other_folds_means(self) -> None:
        """The mean over classes, one of which is rare."""
        labels = np.digitize(Y, [8.0, 19.0]).astype("U1")
        alphas = np.array([0.03, 0.3])
        model = fitted(labels, Gaussian(0.7), alphas)
        indicators = (labels[:, None] == np.unique(labels)).astype(float)
        out = folds_at(0, np.arange(500), 5) == 0
        baseline = np.square(indicators[out] - indicators[~out].mean(axis=0)).sum(axis=0)
        for alpha, loss in zip(model.choice.alphas, model.choice.losses, strict=True):
            predicted = exact(model, alpha, (~out).astype(float), indicators, X)
            errors = np.square(indicators - predicted)[out].sum(axis=0)
            np.testing.assert_allclose(loss, (errors / baseline).mean(), rtol=1e-5)

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


def n_products(n_rows: int, n_sampled: int, alpha: float, weighted: bool = False) -> int:
    """Passes over all rows until the preconditioned gradient is 1e-8 of that at zero."""
    rng = np.random.default_rng(1)
    rows = rng.uniform(-2.0, 2.0, size=(n_rows, 2))
    y = np.sin(2.0 * rows[:, 0]) * rows[:, 1] + 0.2 * rng.normal(size=n_rows)
    weights = np.exp(rows[:, 0]) if weighted else np.ones(n_rows)
    source, passes = block_source(rows, y), []

    def reduced(added: Any) -> Any:
        passes.append(1)
        return reduce_blocks(source, blocks.weighted(added, GivenWeights(weights)))

    sample = rng.permutation(n_rows)[:n_sampled]
    basis = falkon.center_basis(Gaussian(0.7), rows[:60], rows[sample], weights[sample])
    inverse = basis.preconditioner(float(weights.sum()), alpha)
    system = falkon._System(reduced, basis, TargetEncoding.of_responses(y), inverse)
    system.solve(np.array([alpha]), np.zeros((60, 1)), None, held_out=-1, tolerance=1e-8)
    return len(passes)


class TestPreconditioner:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
    def test_with_all_rows_in_the_sample_it_is_the_inverse(
        self, alpha: float, weighted: bool
    ) -> None:
        """One step leads to the solution: the gradient at zero, and along one direction."""
        assert n_products(500, 500, alpha, weighted) == 2

    @pytest.mark.parametrize("alpha", [1e-2, 1.0])
    def test_the_number_of_steps_does_not_grow_with_the_rows(self, alpha: float) -> None:
        """Eigenvalues of the 60 features' covariance in 400 rows, relative to that of all rows, are
        about (1 -+ sqrt(60 / 400))^2: a condition of 5.1, and 20 steps to 1e-8."""
        assert all(n_products(n, 400, alpha) <= 21 for n in (2000, 16000))


def test_evenly_spaced_centers() -> None:
    centers = np.arange(5000.0)[:, None]
    few = falkon.some_centers(centers)
    assert len(np.unique(few)) == 2000
    assert few[0, 0] == 0.0
    assert few[-1, 0] == 4999.0
