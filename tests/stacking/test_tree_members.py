"""Boosted trees as members of stacks for classes: log-odds, folds, noise, updates, and files."""

import pickle
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from campaign import in_campaign, rotating
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logit
from sklearn.model_selection import TimeSeriesSplit

import mercer
from mercer import KernelStackingClassifier, KernelStackingRegressor
from mercer._data.encoded_targets import encode_target
from mercer._data.weights import as_weights
from mercer._estimators.stacking import tree_members
from mercer._estimators.stacking.tree_growth import Fold, TreeGrowth, out_of_fold
from mercer._estimators.stacking.tree_members import TreeMember, boosted_trees
from mercer._estimators.stacking.tree_rows import TreeRows
from mercer.inspection import shapley_values

N = 400
RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, size=(N + 1500, 4))
STEPS = 2.0 * (X[:, 0] > 0.2) - (X[:, 1] > -0.3) * (X[:, 2] > 0.0)
Y = STEPS + 0.3 * RNG.normal(size=len(X))
TWO = 1 * (Y > 0.5)
THREE = np.array(["low", "middle", "high"])[np.digitize(Y, [-0.4, 1.0])]
WEIGHTS = RNG.uniform(0.3, 3.0, size=len(X))
TRAIN, NEW = slice(0, N), slice(N, None)


@pytest.fixture(scope="module", autouse=True)
def _few_rows_suffice() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_members, "_FEWEST_ROWS", N)
        yield


def weight_of_trees(model: Any) -> float:
    return float(sum(c.weight for c in model.candidates_ if c.description == "boosted trees"))


def tree_member(model: Any) -> TreeMember:
    [member] = [m for m in model._members if isinstance(m, TreeMember)]
    return member


def rows_of(y: np.ndarray, weights: np.ndarray | None = None) -> tuple[TreeRows, Any]:
    given = as_weights(weights, len(y))
    target = encode_target(y, classification=True, weights=given)
    table = X[: len(y)]
    return TreeRows(table, target.values, target.codes, given.values.astype(float), 0), target


def log_losses(probabilities: np.ndarray, y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    codes = np.searchsorted(classes, y)
    return np.asarray(-np.log(probabilities[np.arange(len(y)), codes]))


@pytest.fixture(scope="module")
def two() -> Any:
    return KernelStackingClassifier(max_samples=300).fit(X[TRAIN], TWO[TRAIN])


@pytest.fixture(scope="module")
def three() -> Any:
    return KernelStackingClassifier(max_samples=300).fit(X[TRAIN], THREE[TRAIN])


@pytest.mark.parametrize("name", ["two", "three"])
def test_exact_fits_of_enough_rows_combine_trees(name: str, request: pytest.FixtureRequest) -> None:
    model, y = request.getfixturevalue(name), {"two": TWO, "three": THREE}[name]
    assert weight_of_trees(model) > 0.2
    new = log_losses(model.predict_proba(X[NEW]), y[NEW], model.classes_)
    left_out = log_losses(model.loo_predictions_, y[TRAIN], model.classes_)
    error = np.sqrt(new.var() / len(new) + left_out.var() / len(left_out))
    assert abs(new.mean() - left_out.mean()) < 2.0 * error
    kernels = [m for m in model._members if not isinstance(m, TreeMember)]
    assert len(kernels) + 1 == len(model.kernels_)


@pytest.mark.parametrize(
    ("kind", "n_rows", "settings"),
    [
        (KernelStackingClassifier, N - 1, {}),
        (KernelStackingClassifier, N, {"candidates": ["rbf"]}),
        (KernelStackingClassifier, N, {"max_tree_samples": N - 1}),
        (KernelStackingRegressor, N, {}),
    ],
)
def test_other_exact_fits_have_no_trees(kind: Any, n_rows: int, settings: Any) -> None:
    y = Y if kind is KernelStackingRegressor else TWO
    model = kind(max_samples=100, **settings).fit(X[:n_rows], y[:n_rows])
    assert not any("trees" in c.description for c in model.candidates_)


@pytest.mark.parametrize("weights", [None, WEIGHTS[TRAIN]], ids=["unit", "weights"])
@pytest.mark.parametrize("y", [TWO[TRAIN], THREE[TRAIN]], ids=["two", "three"])
def test_deviations_are_log_odds_minus_those_of_the_frequencies(y: Any, weights: Any) -> None:
    rows, target = rows_of(y, weights)
    growth = TreeGrowth(0, 0.1, 15, 100, n_iterations=30, slope=0.4)
    member = TreeMember.grown_on(rows, growth, "given", target.n_outputs, keeps_rows=True)
    raw = member.kernel.ensemble.decision_function(X[NEW])
    frequencies = np.average(target.values, axis=0, weights=weights)
    if raw.ndim == 1:
        odds = raw - logit(frequencies[1])
        expected = np.column_stack([-odds, odds]) / 2.0
    else:
        odds = raw - np.log(frequencies)
        expected = odds - odds.mean(axis=1, keepdims=True)
    assert_allclose(member.deviations(X[NEW], X), 0.4 * expected, atol=1e-9)
    # Few rows are evaluated by arrays of nodes.
    assert_allclose(member.deviations(X[NEW][:5], X), 0.4 * expected[:5], atol=1e-9)


@pytest.mark.parametrize("y", rotating([TWO[TRAIN], THREE[TRAIN]]))
def test_labels_of_a_fold_do_not_change_its_predictions(y: np.ndarray) -> None:
    target = encode_target(y, classification=True)
    shape, growth = target.values.shape, TreeGrowth(0, 0.1, 15, 100)
    inside = np.arange(0, N, 5)
    train = np.setdiff1d(np.arange(N), inside)

    def deviations(labels: np.ndarray) -> np.ndarray:
        rows, _ = rows_of(labels)
        fold = Fold(rows, (train, inside), X[TRAIN], shape[1], growth)
        return out_of_fold([fold], shape, 20)

    other = y.copy()
    other[inside] = RNG.permutation(y[inside])
    found = deviations(y)
    assert_array_equal(found, deviations(other))
    assert np.isnan(found[train]).all()
    assert np.abs(found[inside]).max() > 0.5


def test_iterations_are_added_until_the_loss_rises() -> None:
    rows, target = rows_of(TWO[TRAIN])
    splits = target.folds(5, 0)
    [found] = boosted_trees("given", rows, rows.X, target, splits)
    growth = found.member.growth
    folds = [Fold(rows, split, rows.X, 2, growth) for split in splits]
    losses, level = {}, logit(TWO[TRAIN].mean())
    for n in growth.stages:
        # The least log-loss over factors of the deviations.
        odds = np.outer(np.linspace(0.0, 2.0, 201), 2.0 * out_of_fold(folds, (N, 2), n)[:, 1])
        signs = np.where(TWO[TRAIN], -1.0, 1.0)
        losses[n] = np.logaddexp(0.0, signs * (odds + level)).mean(axis=1).min()
    tried = [n for n in growth.stages if n <= growth.n_iterations]
    assert losses[growth.n_iterations] <= min(losses[n] for n in tried) + 1e-4
    later = [n for n in growth.stages if n > growth.n_iterations]
    assert not later or losses[later[0]] >= losses[growth.n_iterations] - 1e-4
    # Errors are fractions of misclassified rows; log-odds are on the scale of indicators.
    assert 0.0 < found.loo_error < 0.3
    assert_allclose(np.std(found.deviations[:, 1]), np.std(TWO[TRAIN]), rtol=0.3)


def test_trees_of_more_rows_have_more_leaves() -> None:
    found = []
    for n_rows in (1000, 5000, 30_000):
        y = np.resize(TWO, n_rows)
        rows = TreeRows(np.zeros((n_rows, 1)), np.eye(2)[y], y, np.ones(n_rows), 0)
        found.append(TreeGrowth.suited_to(rows).max_leaf_nodes)
    assert found == [15, 31, 63]


@pytest.mark.parametrize("seed", [0, *in_campaign(1, 2)])
@pytest.mark.parametrize("frequencies", [[0.5, 0.5], [0.3, 0.7], [0.25] * 4])
def test_noise_grows_no_trees(frequencies: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, target = rows_of(rng.choice(len(frequencies), 1000, p=frequencies))
    assert boosted_trees("given", rows, rows.X, target, target.folds(5, 0)) == []


def test_copies_and_row_numbers_are_honest() -> None:
    rng = np.random.default_rng(3)
    table = np.repeat(rng.normal(size=(N // 4, 3)), 4, axis=0)
    y = np.repeat(rng.integers(2, size=N // 4), 4)
    model = KernelStackingClassifier(max_samples=200).fit(table, y)
    assert model.loo_score_ < 0.62
    numbered = np.column_stack([np.arange(N), rng.normal(size=N)])
    model = KernelStackingClassifier(max_samples=200).fit(numbered, rng.integers(2, size=N))
    assert model.loo_score_ < 0.56


def test_trees_never_see_the_group_that_they_predict() -> None:
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(N // 20), 20)
    effects = rng.normal(size=N // 20)[groups]
    table = np.column_stack([effects, rng.normal(size=N)])
    y = rng.integers(2, size=N // 20)[groups]
    stack = KernelStackingClassifier(max_samples=200)
    assert stack.fit(table, y, groups=groups).loo_score_ < 0.75
    assert stack.fit(table, y).loo_score_ > 0.9


def test_folds_of_the_past() -> None:
    model = KernelStackingClassifier(max_samples=300, cv=TimeSeriesSplit(3))
    model.fit(X[TRAIN], TWO[TRAIN])
    assert np.isnan(model.loo_predictions_[: N // 4]).all()
    assert model.loo_score_ > 0.8
    assert weight_of_trees(model) > 0.1


def test_a_class_of_few_rows_is_absent_in_some_folds() -> None:
    y = TWO[TRAIN].copy()
    y[[3, 300, 301]] = 2
    model = KernelStackingClassifier(max_samples=300).fit(X[TRAIN], y)
    probabilities = model.predict_proba(X[NEW])
    assert_allclose(probabilities.sum(axis=1), 1.0)
    assert probabilities[:, 2].mean() < 0.05
    assert np.isfinite(model.loo_predictions_).all()


def test_trees_are_grown_anew_on_added_rows_where_all_are_stored(two: Any) -> None:
    model = deepcopy(two)
    model.update(X[NEW][:200], TWO[NEW][:200])
    member, both = tree_member(model), slice(0, N + 200)
    assert member.keeps_rows
    rows, target = rows_of(TWO[both])
    view = model._views.transform(X[both], member.view)
    growth = tree_member(two).growth
    rows = TreeRows(view, target.values, target.codes, np.ones(N + 200), 0)
    expected = TreeMember.grown_on(rows, growth, member.view, 2, keeps_rows=True)
    new = model._views.transform(X[NEW], member.view)
    assert_allclose(member.deviations(new, view), expected.deviations(new, view))
    # A model of all rows whose trees did not change would differ.
    old = tree_member(two).deviations(new, view)
    assert np.abs(member.deviations(new, view) - old).max() > 0.01


def test_trees_of_large_tables_do_not_change_when_rows_are_added() -> None:
    settings: Any = {"approximation": "nystroem", "n_components": 50, "max_samples": 150}
    model = KernelStackingClassifier(**settings).fit(X[TRAIN], TWO[TRAIN])
    member = tree_member(model)
    assert not member.keeps_rows
    model.prepare_updates(X[TRAIN], TWO[TRAIN]).update(X[NEW], TWO[NEW])
    assert tree_member(model) is member


@pytest.mark.parametrize("name", ["two", "three"])
def test_files_and_copies(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    pytest.importorskip("skops")
    model = request.getfixturevalue(name)
    mercer.save(model, tmp_path / "model")
    loaded = mercer.load(tmp_path / "model")
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        assert_allclose(other.predict_proba(X[NEW]), model.predict_proba(X[NEW]))
        assert_allclose(other.loo_predictions_, model.loo_predictions_)
    y = {"two": TWO, "three": THREE}[name]
    loaded.update(X[NEW][:50], y[NEW][:50])
    updated = deepcopy(model).update(X[NEW][:50], y[NEW][:50])
    assert_allclose(loaded.predict_proba(X[NEW]), updated.predict_proba(X[NEW]))


def test_contributions_sum_to_the_log_odds(two: Any) -> None:
    found = shapley_values(two, X[NEW][:3], background=X[TRAIN][:20])
    odds = logit(two.predict_proba(X[NEW][:3])[:, 1])
    assert_allclose(found.values.sum(axis=1) + found.base_value, odds, atol=1e-6)
