"""Weights of linear kernels from features: in a subspace, and from the triangular factor."""

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import MKLRegressor
from mercer._gram.samples import Samples
from mercer._search.weights.feature_weights import learn_feature_weights, rotated_weights
from mercer._search.weights.generalized_krylov import subspace_weights
from mercer._search.weights.linear_features import LinearFeatures, linear_features
from mercer._search.weights.mkl import LearnedWeights
from mercer._search.weights.weight_sets import LpBall, ShiftedBall, Simplex, WeightSet
from mercer.kernels import Linear, OnColumns
from mercer.losses import Squared
from mercer.losses._loss import Problems
from mercer.metrics import centered_alignment

N, D = 300, 160
SCALES = np.array([1.0, 0.5, 2.0, 1.0, 1.0])
SETS: dict[str, WeightSet] = {
    "simplex": Simplex(),
    "l1.5": LpBall(1.5),
    "l2": LpBall(2.0),
    "shifted": ShiftedBall(np.full(5, 0.2), 1.0),
}


def table() -> np.ndarray:
    """Correlated features in five groups, of which one is zero and two are equal."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 8)) @ rng.normal(size=(8, D)) + rng.normal(size=(N, D))
    X[:, 96:128], X[:, 128:] = 0.0, X[:, :32]
    return X


def responses(X: np.ndarray, number: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    return X @ rng.normal(size=(D, number)) / 20.0 + rng.normal(size=(N, number)) + 1.0


def groups(n_features: int = D, size: int = 32) -> list[OnColumns]:
    columns = np.arange(n_features).reshape(-1, size)
    return [OnColumns(Linear(), part.tolist()) for part in columns]


def problem(alpha: float, n_responses: int = 1, **options: Any) -> LinearFeatures:
    X = table()
    problems = Problems(Squared(alpha), responses(X, n_responses), intercept=True)
    found = linear_features(problems, Samples(X), options.pop("kernels", groups()))
    assert found is not None
    return found


def in_subspace(features: LinearFeatures, weight_set: WeightSet, tol: float) -> LearnedWeights:
    scales = SCALES[: len(features.members)]
    found = subspace_weights(features, scales, weight_set, tol=tol, max_iter=50)
    assert found is not None
    return found


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(("n_responses", "alpha"), [(1, 3e3), (3, 1e5)])
def test_a_subspace_has_the_optimum_of_all_samples(
    name: str, n_responses: int, alpha: float
) -> None:
    features = problem(alpha, n_responses)
    found = in_subspace(features, SETS[name], 1e-9)
    assert found.gap <= 1e-9
    options: dict[str, Any] = {"solver": "newton", "max_iter": 100, "start": None}
    expected = rotated_weights(features, SCALES, SETS[name], tol=1e-9, **options)
    assert expected is not None
    assert_allclose(found.objective, expected.objective, rtol=2e-9)
    # Two equal groups share their weight in any proportion.
    sums = [[*w[1:3].tolist(), w[0] + w[4]] for w in (found.weights, expected.weights)]
    assert_allclose(sums[0], sums[1], atol=1e-3)
    scale = np.abs(expected.dual).max()
    assert_allclose(found.dual, expected.dual, atol=1e-3 * scale)


@pytest.mark.parametrize("name", SETS)
def test_the_dual_variables_prove_the_gap(name: str) -> None:
    features, weight_set = problem(300.0, 2), SETS[name]
    found = in_subspace(features, weight_set, 1e-2)
    grams = np.stack([s * features.X[:, m] @ features.X[:, m].T for s, m in _groups_of(features)])
    c, Y, alpha = found.dual, features.Y, features.alpha
    K = np.tensordot(found.weights, grams, axes=1)
    assert_allclose(found.values, K @ c, atol=1e-9 * np.abs(K @ c).max())
    primal = 0.5 * np.sum(c * (K @ c)) + 0.5 * np.sum((Y - K @ c) ** 2) / alpha
    q = np.array([np.sum(c * (gram @ c)) for gram in grams])
    bound = np.sum(Y * c) - 0.5 * alpha * np.sum(c**2) - 0.5 * weight_set.support(q)
    assert_allclose(found.objective, primal, rtol=1e-12)
    assert_allclose(found.gap, 1.0 - bound / primal, rtol=1e-6)
    assert_allclose(found.quadratics, q, rtol=1e-9, atol=1e-12 * q.max())


def _groups_of(features: LinearFeatures) -> list[tuple[float, np.ndarray]]:
    return list(zip(SCALES, features.members, strict=True))


def test_a_tiny_penalty_needs_the_triangular_factor() -> None:
    features, options = problem(1e-3), {"tol": 1e-8, "max_iter": 100}
    reported: list[Any] = []
    alone = in_subspace(features, Simplex(), 1e-8)
    found = learn_feature_weights(
        features, SCALES, Simplex(), solver="auto", on_step=reported.append, **options
    )
    assert found is not None
    assert alone.gap > 1e-8 >= found.gap
    assert len(alone.history) < len(found.history) <= 100
    assert reported[: len(alone.history)] == alone.history
    assert len(reported) == len(found.history)


def test_half_of_the_steps_are_left_for_the_factor() -> None:
    options: dict[str, Any] = {"solver": "auto", "tol": 1e-15}
    found = learn_feature_weights(problem(300.0), SCALES, Simplex(), max_iter=5, **options)
    assert found is not None
    assert len(found.history) == 5
    one = learn_feature_weights(problem(300.0), SCALES, Simplex(), max_iter=1, **options)
    assert one is not None
    assert_allclose(one.weights, 0.2)


@pytest.mark.parametrize(
    ("kernels", "weight_set"),
    [(groups(), LpBall(np.inf)), ([Linear()], Simplex()), (groups(size=4), Simplex())],
    ids=["fixed weights", "one kernel", "more kernels than dimensions"],
)
def test_a_subspace_is_not_used(kernels: list[Any], weight_set: WeightSet) -> None:
    features = problem(1.0, kernels=kernels)
    scales = np.ones(len(kernels))
    options: dict[str, Any] = {"tol": 1e-3, "max_iter": 50}
    assert subspace_weights(features, scales, weight_set, **options) is None


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e12])
@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_columns_of_any_scale(alpha: float, factor: float) -> None:
    X = table()
    y = responses(X, 1)[:, 0]
    X[:, 40:45] *= factor
    X[:, 5] *= factor
    model = MKLRegressor(groups(), norm=1.0, alpha=alpha, tol=1e-6).fit(X, y)
    stack = np.stack([kernel(X) for kernel in groups()], axis=2)
    other = MKLRegressor("precomputed", norm=1.0, alpha=alpha, tol=1e-6).fit(stack, y)
    assert model.dual_gap_ <= 1e-6
    assert_allclose(model.objective_, other.objective_, rtol=2e-6)


def test_single_precision_and_weights_of_zero() -> None:
    X, weights = table().astype(np.float32), np.arange(N) % 3.0
    y = responses(X, 1)[:, 0]
    model = MKLRegressor(groups(), norm=1.0, alpha=30.0, tol=1e-6)
    weighted = model.fit(X, y, sample_weight=weights).predict(X)
    assert_array_equal(model.dual_coef_[weights == 0.0], 0.0)
    rows = np.repeat(np.arange(N), weights.astype(int))
    repeated = MKLRegressor(groups(), norm=1.0, alpha=30.0, tol=1e-6).fit(X[rows], y[rows])
    assert_allclose(weighted, repeated.predict(X), atol=1e-3)
    assert_allclose(model.alignment_, repeated.alignment_, rtol=1e-4)


def test_alignment_is_computed_when_it_is_read() -> None:
    X = table()
    y = responses(X, 1)[:, 0]
    with pytest.raises(AttributeError, match="alignment_"):
        _ = MKLRegressor(groups()).alignment_
    model = MKLRegressor(groups(), norm=1.0, alpha=30.0).fit(X, y)
    saved = pickle.loads(pickle.dumps(model))
    expected = centered_alignment(model.kernel_(X), y)
    assert_allclose([model.alignment_, saved.alignment_], expected, rtol=1e-10)
    assert_allclose(pickle.loads(pickle.dumps(model)).alignment_, expected, rtol=1e-10)
