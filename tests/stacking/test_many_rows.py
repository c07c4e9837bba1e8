"""Boosted trees as members of stacks for many rows: honest errors, folds, files and limits."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from campaign import in_campaign
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import TimeSeriesSplit

import mercer
from mercer import KernelStackingClassifier, KernelStackingRegressor
from mercer._blocks.tables import drawn_rows
from mercer._estimators.stacking import default_estimators
from mercer._estimators.stacking.drawn_views import _estimator_folds
from mercer.kernels import Gaussian

pytest.importorskip("skops")

N = 300
RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, size=(N + 400, 4))
STEPS = 2.0 * (X[:, 0] > 0.2) - (X[:, 1] > -0.3) * (X[:, 2] > 0.0)
Y = STEPS + 0.2 * RNG.normal(size=len(X))
LABELS = np.array(["low", "middle", "high"])[np.digitize(Y, [-0.4, 1.0])]
TRAIN, NEW = slice(0, N), slice(N, None)


@pytest.fixture(scope="module", autouse=True)
def _few_rows_have_trees() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(default_estimators, "_FEWEST_ROWS", N)
        patch.setattr(default_estimators, "_FEWEST_RESPONSES", N)
        yield


def stack(kind: Any, **settings: Any) -> Any:
    return kind(approximation="nystroem", n_components=60, max_samples=150, **settings)


@pytest.fixture(scope="module")
def regression() -> Any:
    return stack(KernelStackingRegressor).fit(X[TRAIN], Y[TRAIN])


@pytest.fixture(scope="module")
def classification() -> Any:
    return stack(KernelStackingClassifier).fit(X[TRAIN], LABELS[TRAIN])


def weight_of_trees(model: Any) -> float:
    [weight] = [c.weight for c in model.candidates_ if "Boosting" in c.description]
    return float(weight)


def test_steps_are_learned_by_trees(regression: Any, classification: Any) -> None:
    assert weight_of_trees(regression) > 0.3
    assert weight_of_trees(classification) > 0.2


def test_several_responses_have_trees_of_their_own() -> None:
    Z = np.column_stack([Y, -X[:, 0]])
    model = stack(KernelStackingRegressor).fit(X[TRAIN], Z[TRAIN])
    [weight] = [c.weight for c in model.candidates_ if c.description == "MultiOutputRegressor"]
    assert weight > 0.3
    assert model.score(X[NEW], Z[NEW]) > 0.85


def test_errors_are_those_of_rows_that_trees_have_not_seen(regression: Any) -> None:
    assert abs(regression.loo_score_ - regression.score(X[NEW], Y[NEW])) < 0.03


def test_scores_of_classes_are_honest(classification: Any) -> None:
    assert abs(classification.loo_score_ - classification.score(X[NEW], LABELS[NEW])) < 0.06


@pytest.mark.parametrize("seed", [0, *in_campaign(1)])
def test_noise_is_not_learned(seed: int) -> None:
    noise = np.random.default_rng(seed).normal(size=N)
    assert stack(KernelStackingRegressor).fit(X[TRAIN], noise).loo_score_ < 0.03


def test_groups_are_left_out_as_wholes() -> None:
    groups = np.repeat(np.arange(N // 10), 10)
    effects = RNG.normal(size=N // 10)[groups]
    known = np.column_stack([X[TRAIN], effects + 0.01 * RNG.normal(size=N)])
    y = 3.0 * RNG.normal(size=N // 10)[groups] + 0.1 * RNG.normal(size=N)
    model = stack(KernelStackingRegressor).fit(known, y, groups=groups)
    assert model.loo_score_ < 0.1
    assert stack(KernelStackingRegressor).fit(known, y).loo_score_ > 0.3


def test_folds_of_the_past() -> None:
    model = stack(KernelStackingRegressor, cv=TimeSeriesSplit(3)).fit(X[TRAIN], Y[TRAIN])
    assert np.isnan(model.loo_predictions_[: N // 4]).all()
    assert model.loo_score_ > 0.4


def test_weights_of_rows_count() -> None:
    weights = np.where(X[TRAIN, 3] > 0.0, 1.0, 1e-6)
    y = np.where(X[TRAIN, 3] > 0.0, Y[TRAIN], -Y[TRAIN])
    model = stack(KernelStackingRegressor).fit(X[TRAIN], y, sample_weight=weights)
    some = X[NEW][X[NEW, 3] > 0.0]
    assert np.corrcoef(model.predict(some), STEPS[NEW][X[NEW, 3] > 0.0])[0, 1] > 0.9


def test_columns_that_say_nothing_have_little_relevance(regression: Any) -> None:
    assert regression.relevance_[3] < 0.15
    assert_allclose(regression.relevance_.sum(), 1.0)


@pytest.mark.parametrize("name", ["regression", "classification"])
def test_files(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    model = request.getfixturevalue(name)
    mercer.save(model, tmp_path / "model")
    loaded = mercer.load(tmp_path / "model")
    method = "predict_proba" if name == "classification" else "predict"
    assert_allclose(getattr(loaded, method)(X[NEW]), getattr(model, method)(X[NEW]))


def test_given_candidates_are_alone() -> None:
    model = stack(KernelStackingRegressor, candidates=[Gaussian("median")])
    assert len(model.fit(X[TRAIN], Y[TRAIN]).candidates_) == 1


def test_equal_rows_are_predicted_by_the_mean() -> None:
    X_equal, y = np.zeros((N, 2)), Y[TRAIN]
    model = stack(KernelStackingRegressor).fit(X_equal, y)
    assert_allclose(model.predict(X_equal[:3]), y.mean(), atol=1e-6)


def test_trees_are_grown_on_more_or_fewer_rows_than_are_drawn() -> None:
    weights, groups = RNG.uniform(0.5, 2.0, size=N), np.arange(N) // 3
    drawn = drawn_rows(
        KernelStackingRegressor(), X[TRAIN], Y[TRAIN], weights, groups, max_rows=50, random_state=0
    )
    found = drawn.resized(120, 0)
    rows = found.positions
    assert len(rows) == len(np.unique(rows)) == 120
    assert_allclose(found.X, X[rows])
    assert_allclose(found.y, Y[rows])
    assert_allclose(found.weights.values, weights[rows])
    assert_array_equal(found.groups, drawn.all_groups[rows])
    # A row is in the same fold wherever it is drawn.
    both, first, second = np.intersect1d(drawn.positions, rows, return_indices=True)
    assert len(both)
    assert_array_equal(drawn.held_out(5)[:, first], found.held_out(5)[:, second])
    assert_array_equal(found.trained(5), ~found.held_out(5))
    assert drawn.resized(50, 0) is drawn
    fewer = drawn.resized(20, 0).positions
    assert len(np.unique(fewer)) == 20
    assert np.isin(fewer, drawn.positions).all()


@pytest.mark.parametrize(
    ("n_drawn", "grouped", "n_folds"),
    [(50, False, 1), (15, True, 1), (50, True, 3), (100, False, 3)],
)
def test_few_of_many_rows_are_predicted_by_trees_of_all_others(
    n_drawn: int, grouped: bool, n_folds: int
) -> None:
    groups = np.arange(N) // 3 if grouped else None
    settings: Any = {"max_rows": n_drawn, "random_state": 0}
    drawn = drawn_rows(KernelStackingRegressor(), X[TRAIN], Y[TRAIN], None, groups, **settings)
    sample = drawn.resized(N, 0)
    found = _estimator_folds(sample, drawn)
    assert len(found) == n_folds
    assert_array_equal(sum(inside.astype(int) for inside, _ in found), np.ones(n_drawn))
    names = np.arange(N) if groups is None else groups
    for inside, train in found:
        assert not set(names[drawn.positions[inside]]) & set(names[sample.positions[train]])
        assert train.sum() > 0.6 * N
