"""Estimators as members of stacks: scores out of fold, noise, groups, weights, files, refusals."""

import pickle
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from campaign import in_campaign, rotating
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import TimeSeriesSplit
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC

import mercer
from mercer import KernelStackingClassifier, KernelStackingRegressor
from mercer._data.encoded_targets import encode_target
from mercer._estimators.stacking import default_estimators
from mercer._estimators.stacking.evaluation import GramMember
from mercer._estimators.stacking.out_of_fold import FittedEstimator, OutOfFold
from mercer._gram.dense import unit_gram, unit_rows
from mercer.inspection import shapley_values
from mercer.kernels import Gaussian

N = 400
RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, size=(N + 1500, 4))
STEPS = 2.0 * (X[:, 0] > 0.2) - (X[:, 1] > -0.3) * (X[:, 2] > 0.0)
Y = STEPS + 0.3 * RNG.normal(size=len(X))
TWO = 1 * (Y > 0.5)
THREE = np.array(["low", "middle", "high"])[np.digitize(Y, [-0.4, 1.0])]
WEIGHTS = RNG.uniform(0.3, 3.0, size=len(X))
TRAIN, NEW = slice(0, N), slice(N, None)
TREES = HistGradientBoostingClassifier(max_iter=30, random_state=0)


@pytest.fixture(scope="module", autouse=True)
def _few_rows_suffice() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(default_estimators, "_FEWEST_ROWS", N)
        yield


def weight_of(model: Any, name: str = "HistGradientBoosting") -> float:
    return float(sum(c.weight for c in model.candidates_ if c.description.startswith(name)))


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
def test_fits_of_enough_rows_combine_trees(name: str, request: pytest.FixtureRequest) -> None:
    model, y = request.getfixturevalue(name), {"two": TWO, "three": THREE}[name]
    assert weight_of(model) > 0.1
    new = log_losses(model.predict_proba(X[NEW]), y[NEW], model.classes_)
    left_out = log_losses(model.loo_predictions_, y[TRAIN], model.classes_)
    error = np.sqrt(new.var() / len(new) + left_out.var() / len(left_out))
    assert abs(new.mean() - left_out.mean()) < 2.0 * error
    assert [kernel is None for kernel in model.kernels_].count(True) == 1
    assert_allclose(model.relevance_.sum(), 1.0)
    assert np.argmax(model.relevance_) == 0


@pytest.mark.parametrize(
    ("kind", "n_rows", "settings"),
    [
        (KernelStackingClassifier, N - 1, {}),
        (KernelStackingClassifier, N, {"candidates": ["rbf"]}),
        (KernelStackingRegressor, N, {}),
    ],
)
def test_other_exact_fits_have_no_trees(kind: Any, n_rows: int, settings: Any) -> None:
    y = Y if kind is KernelStackingRegressor else TWO
    model = kind(max_samples=100, **settings).fit(X[:n_rows], y[:n_rows])
    assert not any("Boosting" in c.description for c in model.candidates_)


@pytest.mark.parametrize("classes", [[0, 1, 2], [0, 2, 3], [1, 2]], ids=str)
def test_machines_of_several_classes_vote_by_one_sum(classes: list[int]) -> None:
    """Their deviations are those of the machines, also if a class has no samples."""
    codes = np.array(classes)[np.arange(60) % len(classes)]
    table, new, kernel = X[:60], X[60:100], Gaussian(1.0)
    gram, unit = unit_gram(kernel, table, None)
    machine = SVC(kernel="precomputed").fit(gram, codes)
    level = np.linspace(0.0, 1.0, 4)
    predictor = FittedEstimator(machine, "decision_function", machine.classes_, level, 60)
    member = GramMember("given", kernel, unit, predictor)
    expected = predictor.deviations(unit_rows(kernel, unit, new, table))
    assert_allclose(member.deviations(new, table), expected, rtol=1e-9, atol=1e-9)
    assert (predictor.pairs(60) is not None) == (len(classes) > 2)


@pytest.mark.parametrize("weights", [None, WEIGHTS[TRAIN]], ids=["unit", "weights"])
@pytest.mark.parametrize("y", [TWO[TRAIN], THREE[TRAIN]], ids=["two", "three"])
def test_deviations_are_scores_minus_their_level(y: Any, weights: Any) -> None:
    target = encode_target(y, classification=True, weights=weights)
    for estimator in (TREES, RandomForestClassifier(20, random_state=0), LogisticRegression()):
        found = OutOfFold(estimator, 0).fit(X[TRAIN], target)
        model = found.estimator
        if hasattr(model, "decision_function"):
            raw, own = (model.decision_function(rows) for rows in (X[NEW], X[TRAIN]))
            if raw.ndim == 1:
                raw, own = (np.column_stack([-values, values]) for values in (raw, own))
            expected = raw - np.average(own, axis=0, weights=weights)
        else:
            least, frequencies = 1.0 / (N + 2.0), np.average(target.values, 0, weights=weights)
            expected = np.log(np.maximum(model.predict_proba(X[NEW]), least) / frequencies)
            expected -= expected.mean(axis=1, keepdims=True)
        assert_allclose(found.deviations(X[NEW]), expected, atol=1e-9)


@pytest.mark.parametrize("y", rotating([TWO[TRAIN], THREE[TRAIN]]))
def test_labels_of_a_fold_do_not_change_its_predictions(y: np.ndarray) -> None:
    inside = np.arange(0, N, 5)
    train = np.setdiff1d(np.arange(N), inside)

    def scores(labels: np.ndarray) -> np.ndarray:
        target = encode_target(labels, classification=True)
        return OutOfFold(TREES, 0).scores(X[TRAIN], target, X[TRAIN], [(train, inside)])[0]

    other = y.copy()
    other[inside] = RNG.permutation(y[inside])
    found = scores(y)
    assert_array_equal(found, scores(other))
    assert np.isnan(found[train]).all()
    assert np.abs(found[inside]).max() > 0.5


@pytest.mark.parametrize(
    "estimator",
    [
        TREES,
        RandomForestClassifier(30, random_state=0),
        KNeighborsClassifier(1),
        LogisticRegression(),
        RidgeClassifier(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("frequencies", rotating([[0.5, 0.5], [0.3, 0.7], [0.25] * 4]))
def test_noise_is_not_read_off_left_out_predictions(
    estimator: Any, frequencies: list[float]
) -> None:
    """The score is at most three standard errors above that of the most frequent class."""
    rng = np.random.default_rng(1)
    y = rng.permutation(
        np.repeat(np.arange(len(frequencies)), (200 * np.array(frequencies)).astype(int))
    )
    table = rng.normal(size=(len(y), 3))
    model = KernelStackingClassifier([Gaussian(2.0), estimator]).fit(table, y)
    best = max(frequencies)
    assert model.loo_score_ < best + 3.0 * np.sqrt(best * (1.0 - best) / len(y))
    losses = log_losses(model.loo_predictions_, y, model.classes_)
    assert losses.mean() > -np.dot(frequencies, np.log(frequencies)) - 0.02


@pytest.mark.parametrize(
    "estimator",
    [HistGradientBoostingRegressor(random_state=0), KNeighborsRegressor(1), Ridge()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_noise_is_no_response(estimator: Any) -> None:
    rng = np.random.default_rng(2)
    table, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    model = KernelStackingRegressor([Gaussian(2.0), estimator]).fit(table, y)
    assert model.loo_score_ < 3.0 / np.sqrt(200)
    low, high = model.predict_interval(rng.normal(size=(300, 3))).T
    assert abs(np.mean((low <= 0.0) & (high >= 0.0)) - 1.0) < 0.01


def test_estimators_of_responses_are_combined() -> None:
    forest = RandomForestRegressor(50, random_state=0)
    model = KernelStackingRegressor(["default", forest], max_samples=300).fit(X[TRAIN], Y[TRAIN])
    alone = KernelStackingRegressor(max_samples=300).fit(X[TRAIN], Y[TRAIN])
    assert weight_of(model, "RandomForest") > 0.3
    assert model.score(X[NEW], Y[NEW]) > alone.score(X[NEW], Y[NEW])
    assert abs(model.loo_score_ - model.score(X[NEW], Y[NEW])) < 0.05
    low, high = model.predict_interval(X[NEW]).T
    assert abs(np.mean((low <= Y[NEW]) & (Y[NEW] <= high)) - 0.9) < 0.05
    both = np.column_stack([Y, X[:, 3]])[TRAIN]
    assert KernelStackingRegressor([forest]).fit(X[TRAIN], both).predict(X[NEW]).shape == (1500, 2)


def test_estimators_of_one_class_have_names_of_their_own() -> None:
    neighbors = [KNeighborsClassifier(k) for k in (5, 15)]
    model = KernelStackingClassifier([Gaussian(1.0), *neighbors]).fit(X[:100], TWO[:100])
    assert [c.description for c in model.candidates_[-2:]] == [
        "KNeighborsClassifier",
        "KNeighborsClassifier 2",
    ]
    assert model.loo_score_ > 0.6


def test_copies_and_row_numbers_are_honest() -> None:
    rng = np.random.default_rng(3)
    table = np.repeat(rng.normal(size=(N // 4, 3)), 4, axis=0)
    y = np.repeat(rng.integers(2, size=N // 4), 4)
    model = KernelStackingClassifier(["default", KNeighborsClassifier(1)], max_samples=200)
    assert model.fit(table, y).loo_score_ < 0.62
    numbered = np.column_stack([np.arange(N), rng.normal(size=N)])
    model = KernelStackingClassifier(max_samples=200).fit(numbered, rng.integers(2, size=N))
    assert model.loo_score_ < 0.56


def test_estimators_never_see_the_group_that_they_predict() -> None:
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
    assert weight_of(model) > 0.1


def test_a_class_of_few_rows_is_absent_in_some_folds() -> None:
    y = TWO[TRAIN].copy()
    y[[3, 300, 301]] = 2
    model = KernelStackingClassifier(["default", KNeighborsClassifier()], max_samples=300)
    probabilities = model.fit(X[TRAIN], y).predict_proba(X[NEW])
    assert_allclose(probabilities.sum(axis=1), 1.0)
    assert probabilities[:, 2].mean() < 0.05
    assert np.isfinite(model.loo_predictions_).all()


def test_weights_reach_the_estimator_and_zero_means_absent() -> None:
    weights = np.where(np.arange(N) % 3 == 0, 0.0, WEIGHTS[TRAIN])
    forest = RandomForestClassifier(20, random_state=0)
    model = KernelStackingClassifier([Gaussian(1.0), forest])
    weighted = model.fit(X[TRAIN], TWO[TRAIN], sample_weight=weights).predict_proba(X[NEW])
    some = weights > 0.0
    alone = model.fit(X[TRAIN][some], TWO[TRAIN][some], sample_weight=weights[some])
    assert_allclose(weighted, alone.predict_proba(X[NEW]), atol=1e-9)
    assert np.abs(weighted - model.fit(X[TRAIN], TWO[TRAIN]).predict_proba(X[NEW])).max() > 0.01


def test_an_estimator_that_takes_no_weights_is_named() -> None:
    model = KernelStackingClassifier([Gaussian(1.0), KNeighborsClassifier()])
    with pytest.warns(UserWarning, match=r"KNeighborsClassifier.* takes no sample_weight"):
        model.fit(X[:60], TWO[:60], sample_weight=WEIGHTS[:60])


class Failing(ClassifierMixin, BaseEstimator):
    def fit(self, X: Any, y: Any) -> Any:
        raise ValueError("no luck")

    def predict(self, X: Any) -> Any:
        raise NotImplementedError


def test_a_candidate_that_fails_is_left_out() -> None:
    with pytest.warns(UserWarning, match="'Failing' is left out: no luck"):
        model = KernelStackingClassifier([Gaussian(1.0), Failing()]).fit(X[:60], TWO[:60])
    assert len(model.kernels_) == len([c for c in model.candidates_ if c.weight])
    with (
        pytest.warns(UserWarning, match="left out"),
        pytest.raises(ValueError, match="No candidate could be evaluated"),
    ):
        KernelStackingClassifier([Failing()]).fit(X[:60], TWO[:60])


class Few(KNeighborsClassifier):  # type: ignore[misc]
    """Neighbors that refuse more rows than `most`."""

    def __init__(self, most: int = 100) -> None:
        super().__init__()
        self.most = most

    def fit(self, X: Any, y: Any) -> Any:
        if len(X) > self.most:
            raise ValueError("too many rows")
        return super().fit(X, y)


@pytest.mark.parametrize("most", [50, 70, 110])
@pytest.mark.parametrize("max_samples", [40, 1000])
def test_a_candidate_that_fails_on_many_rows_alone_is_left_out(most: int, max_samples: int) -> None:
    candidates = [Gaussian(1.0), Gaussian(2.0), Few(most)]
    model = KernelStackingClassifier(candidates, max_samples=max_samples)
    with pytest.warns(UserWarning, match="'Few.*' is left out: too many rows"):
        model.fit(X[:120], TWO[:120])
    assert not any("Few" in c.description for c in model.candidates_)
    assert np.isfinite(model.loo_predictions_).all()
    assert model.loo_score_ > 0.6


def test_an_estimator_alone_that_fails_on_all_rows_says_why() -> None:
    with pytest.raises(ValueError, match="too many rows"):
        KernelStackingClassifier([Few(110)]).fit(X[:120], TWO[:120])


class FailingOnce(KNeighborsClassifier):  # type: ignore[misc]
    """Neighbors that fail in the one fold that leaves out the first row."""

    def fit(self, X: Any, y: Any) -> Any:
        if not (X == FIRST_ROW).all(axis=1).any():
            raise ValueError("the first row is missing")
        return super().fit(X, y)


FIRST_ROW = X[0]


@pytest.mark.parametrize("settings", [{}, {"approximation": "nystroem", "n_components": 40}])
def test_a_candidate_that_fails_in_one_fold_is_left_out(settings: Any) -> None:
    model = KernelStackingClassifier([Gaussian(1.0), FailingOnce()], **settings)
    with pytest.warns(UserWarning, match="'FailingOnce' is left out: the first row is missing"):
        model.fit(X[TRAIN], TWO[TRAIN])
    alone = KernelStackingClassifier([Gaussian(1.0)], **settings).fit(X[TRAIN], TWO[TRAIN])
    assert_allclose(model.predict_proba(X[NEW]), alone.predict_proba(X[NEW]))


class LabelsOnly(ClassifierMixin, BaseEstimator):
    """A forest that predicts neither probabilities nor decision values."""

    def fit(self, X: Any, y: Any) -> Any:
        self.forest_ = RandomForestClassifier(30, random_state=0).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        return self.forest_.predict(X)[:, None]


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_labels_alone_are_combined(y: np.ndarray) -> None:
    """Their scores are indicators of the predicted classes, and shift no class's frequency."""
    target = encode_target(y[TRAIN], classification=True)
    found = OutOfFold(LabelsOnly(), 0).fit(X[TRAIN], target)
    labels = RandomForestClassifier(30, random_state=0).fit(X[TRAIN], y[TRAIN]).predict(X[NEW])
    expected = (labels[:, None] == np.unique(y)) - target.mean
    assert_allclose(found.deviations(X[NEW]), expected)
    model = KernelStackingClassifier([Gaussian(30.0), LabelsOnly()]).fit(X[TRAIN], y[TRAIN])
    alone = KernelStackingClassifier([Gaussian(30.0)]).fit(X[TRAIN], y[TRAIN])
    losses, others = (
        log_losses(one.predict_proba(X[NEW]), y[NEW], one.classes_) for one in (model, alone)
    )
    assert weight_of(model, "LabelsOnly") > 0.2
    assert losses.mean() < others.mean()
    left_out = log_losses(model.loo_predictions_, y[TRAIN], model.classes_)
    error = np.sqrt(losses.var() / len(losses) + left_out.var() / len(left_out))
    assert abs(losses.mean() - left_out.mean()) < 2.0 * error


@pytest.mark.parametrize("y", [TWO, Y], ids=["classes", "responses"])
def test_a_member_that_memorizes_does_no_harm(y: np.ndarray) -> None:
    """Nearest neighbors are right on all rows that they have seen."""
    kind, nearest = KernelStackingRegressor, KNeighborsRegressor(1)
    if y is TWO:
        kind, nearest = KernelStackingClassifier, KNeighborsClassifier(1)
    model = kind([Gaussian(1.0), nearest]).fit(X[TRAIN], y[TRAIN])
    alone = kind([Gaussian(1.0)]).fit(X[TRAIN], y[TRAIN])
    assert weight_of(model, "KNeighbors") < 0.5
    assert model.score(X[NEW], y[NEW]) > alone.score(X[NEW], y[NEW]) - 0.01
    assert abs(model.loo_score_ - model.score(X[NEW], y[NEW])) < 0.05


@pytest.mark.parametrize(
    ("package", "stem", "settings"),
    [
        ("catboost", "CatBoost", {"verbose": 0, "allow_writing_files": False, "thread_count": 1}),
        ("lightgbm", "LGBM", {"verbose": -1, "n_jobs": 1}),
    ],
)
@pytest.mark.parametrize("y", [TWO, THREE, Y], ids=["two", "three", "responses"])
def test_trees_of_other_packages(package: str, stem: str, settings: Any, y: np.ndarray) -> None:
    module = pytest.importorskip(package, reason=f"{package} is not installed")
    kind, name = KernelStackingRegressor, f"{stem}Regressor"
    if y is not Y:
        kind, name = KernelStackingClassifier, f"{stem}Classifier"
    trees = getattr(module, name)(n_estimators=50, **settings)
    model = kind([Gaussian(1.0), trees]).fit(X[TRAIN], y[TRAIN])
    assert weight_of(model, stem) > 0.2
    if y is Y:
        assert abs(model.loo_score_ - model.score(X[NEW], y[NEW])) < 0.05
    else:
        new = log_losses(model.predict_proba(X[NEW]), y[NEW], model.classes_)
        left_out = log_losses(model.loo_predictions_, y[TRAIN], model.classes_)
        error = np.sqrt(new.var() / len(new) + left_out.var() / len(left_out))
        assert abs(new.mean() - left_out.mean()) < 2.0 * error
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(copy.predict(X[NEW]), model.predict(X[NEW]))
    found = shapley_values(copy, X[NEW][:3], background=X[TRAIN][:20])
    assert np.isfinite(found.values).all()
    if y is TWO:
        odds = logit(model.predict_proba(X[NEW][:3])[:, 1])
        assert_allclose(found.values.sum(axis=1) + found.base_value, odds, atol=1e-6)


def test_estimators_of_large_tables_do_not_change_when_rows_are_added() -> None:
    settings: Any = {"approximation": "nystroem", "n_components": 50, "max_samples": 150}
    model = KernelStackingClassifier(**settings).fit(X[TRAIN], TWO[TRAIN])
    [member] = [m for m in model._members if m.kernel is None]
    before = model.predict_proba(X[NEW])
    model.prepare_updates(X[TRAIN], TWO[TRAIN]).update(X[NEW], TWO[NEW])
    assert any(other is member for other in model._members)
    assert np.abs(model.predict_proba(X[NEW]) - before).max() > 1e-4


@pytest.mark.parametrize("name", ["two", "three"])
def test_files_and_copies(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    pytest.importorskip("skops")
    model = request.getfixturevalue(name)
    mercer.save(model, tmp_path / "model")
    loaded = mercer.load(tmp_path / "model")
    for other in (loaded, deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert_allclose(other.predict_proba(X[NEW]), model.predict_proba(X[NEW]))
        assert_allclose(other.loo_predictions_, model.loo_predictions_)


def test_contributions_sum_to_the_log_odds(two: Any) -> None:
    found = shapley_values(two, X[NEW][:3], background=X[TRAIN][:20])
    odds = logit(two.predict_proba(X[NEW][:3])[:, 1])
    assert_allclose(found.values.sum(axis=1) + found.base_value, odds, atol=1e-6)


@pytest.mark.parametrize("n_draws", [4, *in_campaign(24)])
def test_trees_of_noise_have_little_weight(n_draws: int) -> None:
    """Over 24 draws, the log-loss exceeds that of the frequencies by .004 +- .0014."""
    found, y = list[float](), np.arange(1000) % 2
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        table = rng.normal(size=(1000, 5))
        model = KernelStackingClassifier(max_samples=300).fit(table, rng.permutation(y))
        new = model.predict_proba(rng.normal(size=(2000, 5)))
        found.append(log_losses(new, np.arange(2000) % 2, [0, 1]).mean())
    assert np.mean(found) < np.log(2.0) + 0.01
