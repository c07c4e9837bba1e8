"""Stacks on Nyström features leave out the samples that a splitter holds out."""

from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    RepeatedKFold,
    StratifiedGroupKFold,
    TimeSeriesSplit,
)
from stacking_cases import ESTIMATORS, problem, target_for

from mercer import KernelOptimization, KernelStackingClassifier, KernelStackingRegressor
from mercer._blocks.listed_folds import ListedFolds
from mercer._blocks.tables import DrawnSample, block_source
from mercer._data.encoded_targets import encode_target
from mercer._data.folds import Split
from mercer._data.resampling import resampled
from mercer._data.weights import UnitWeights
from mercer._estimators.stacking.candidates import Candidate
from mercer._estimators.stacking.combination import linear_combination
from mercer._estimators.stacking.drawn_views import DrawnViews
from mercer._estimators.stacking.evaluation import Selection
from mercer._estimators.stacking.ridges import evaluate
from mercer._estimators.stacking.table_views import TableViews
from mercer._nystroem.features import nystroem_features
from mercer.kernels import Gaussian, Laplacian

CANDIDATES = [Gaussian(2.0), Laplacian(3.0)]

SPLITTERS = [
    (3, 0),
    (KFold(8), 0),
    (TimeSeriesSplit(3, gap=2), 75),
    (PredefinedSplit(np.where(np.arange(300) < 100, -1, np.arange(300) % 2)), 100),
    (PredefinedSplit(np.where(np.arange(300) < 200, -1, 0)), 200),
    (RepeatedKFold(n_splits=3, n_repeats=2, random_state=0), 0),
    ([(np.arange(90), np.arange(100, 150)), (np.arange(200), np.arange(220, 300))], 170),
]


def stack(kind: Any, candidates: Any = CANDIDATES, **settings: Any) -> Any:
    sizes = {"n_components": 60, "max_samples": 100}
    return kind(candidates, approximation="nystroem", **sizes, **settings)


def viewed(X: np.ndarray, y: np.ndarray, splits: list[Split]) -> DrawnViews:
    """All rows of a table, as those that were drawn from it."""
    n = len(y)
    resampling = resampled(splits, n)
    target = encode_target(y, classification=False, resampling=resampling)
    drawn = DrawnSample(
        X,
        y,
        UnitWeights(n),
        source=block_source(X, y),
        positions=np.arange(n),
        all_resampling=resampling,
        listed=ListedFolds.of_resampling(resampling),
    )
    settings = {"drawn": drawn, "views": TableViews(X), "n_components": 40, "random_state": 0}
    return DrawnViews({"given": X}, y, drawn.weights, target=target, **settings)


def given(kernel: Any) -> Candidate:
    return Candidate(["one"], "given", lambda *_: [kernel], learns_widths=False)


@pytest.mark.parametrize(
    "cv",
    [KFold(3), TimeSeriesSplit(4, gap=3), RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)],
)
def test_left_out_predictions_are_those_of_fits_to_the_training_rows(cv: Any) -> None:
    X, y = problem(150)
    splits = list(cv.split(X))
    table = viewed(X, y, splits)
    member, _ = table.member(Gaussian(3.0), given(Gaussian(3.0)))
    features = nystroem_features(member.kernel, member.model.columns.centers)
    Z, Y, alpha = features.transform(X), table.target.values, member.model.choice.alpha
    total, counts = np.zeros((150, 1)), np.zeros((150, 1))
    for train, test in splits:
        model = Ridge(alpha, solver="svd").fit(Z[train], Y[train, 0])
        total[test, 0] += model.predict(Z[test]) - Y[train].mean()
        counts[test] += 1.0
    expected = total / np.where(counts > 0.0, counts, np.nan)
    assert_allclose(table._out_of_fold(member, np.arange(150)), expected, atol=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("cv", "n_uncovered"), SPLITTERS)
def test_folds_score_what_they_hold_out(estimator: Any, cv: Any, n_uncovered: int) -> None:
    X, y = problem(300)
    model = stack(estimator, cv=cv).fit(X, target_for(estimator, y))
    missing = np.isnan(model.loo_predictions_).reshape(300, -1).any(axis=1)
    assert missing.sum() == n_uncovered
    assert model.loo_score_ > (0.75 if estimator is KernelStackingRegressor else 0.6)
    if estimator is KernelStackingRegressor:
        assert np.isfinite(model.predict_interval(X[:3])).all()
    else:
        assert model.predict_set(X[:3]).shape == (3, 3)


@pytest.mark.parametrize(
    "cv", [TimeSeriesSplit(3, gap=2), RepeatedKFold(n_splits=2, n_repeats=2, random_state=0)]
)
def test_kernels_are_learned_from_the_training_rows_of_each_fold(
    cv: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[int, np.ndarray] = {}
    kernels_seen: list[Any] = []
    predicted: list[tuple[np.ndarray, np.ndarray]] = []
    learn, predict = DrawnViews.learned, DrawnViews._out_of_fold

    def learned(self: Any, candidate: Candidate, rows: Any = slice(None)) -> Any:
        kernels = learn(self, candidate, rows)
        kernels_seen.extend(kernels)
        seen.update({id(kernel): self.drawn.positions[rows] for kernel in kernels})
        return kernels

    def out_of_fold(self: Any, member: Any, rows: np.ndarray) -> np.ndarray:
        predicted.append((seen[id(member.kernel)], rows))
        return predict(self, member, rows)

    name = "mercer._nystroem.width_factors.rescaled_kernel"
    monkeypatch.setattr(name, lambda kernel, *_: kernel)
    monkeypatch.setattr(DrawnViews, "learned", learned)
    monkeypatch.setattr(DrawnViews, "_out_of_fold", out_of_fold)
    X, y = problem(300)
    splits = list(cv.split(X))
    stack(KernelStackingRegressor, [KernelOptimization(Gaussian(2.0))], cv=splits).fit(X, y)
    (_, everything), *anew = predicted
    assert len(everything) == 300
    tests = [test for _, test in splits]
    assert_array_equal(
        np.sort(np.concatenate([rows for _, rows in anew])), reduce(np.union1d, tests)
    )
    for (known, rows), (train, test) in zip(anew, splits, strict=False):
        assert np.isin(known, train).all()
        assert np.isin(rows, test).all()


def test_combinations_for_the_first_fold_are_learned_from_rows_before_it() -> None:
    X, y = problem(200)
    splits = list(TimeSeriesSplit(3, gap=5).split(X))
    first = splits[0][0]
    found = []
    for labels in (y, np.where(np.arange(200) < len(first), y, -3.0 * y)):
        table = viewed(X, labels, splits)
        # The same unit of responses, which are standardized by all.
        values = labels[:, None] - y.mean()
        table = replace(table, target=replace(table.target, values=values))
        rows = np.arange(200)
        evaluations = evaluate([given(kernel) for kernel in CANDIDATES], table, random_state=0)
        chosen = Selection(evaluations, evaluations, linear_combination([], values), table.weights)

        def combine(deviations: Any, target: Any) -> Any:
            rows = target.resampling.covered
            some = [d[rows] for d in deviations]
            return linear_combination(some, target.values[rows] - target.values[rows].mean())

        members = [table.member(kernel, given(kernel))[0] for kernel in CANDIDATES]
        refined = table.refined(chosen, members, combine, rows)
        found.append(table.without(refined, lambda _, own=chosen: own, combine)(first)[0].weights)
    assert found[0].sum() > 0.5
    assert_allclose(found[0], found[1], atol=1e-10)


def test_scores_are_those_of_the_future_of_a_drift() -> None:
    rng = np.random.default_rng(0)
    found, shuffled, truth = [], [], []
    for _ in range(3):
        time = np.arange(900)
        level = np.cumsum(rng.normal(size=900)) / 5.0
        X = np.column_stack([time + rng.normal(size=900), rng.normal(size=900)])
        y = level + X[:, 1] + 0.3 * rng.normal(size=900)
        old = time < 750
        errors = []
        for cv in (TimeSeriesSplit(4), None):
            model = stack(KernelStackingRegressor, [Laplacian("median")], cv=cv)
            model.fit(X[old], y[old])
            left_out = y[old] - model.loo_predictions_
            errors.append(np.sqrt(np.nanmean(np.square(left_out))))
        found.append(errors[0])
        shuffled.append(errors[1])
        truth.append(np.sqrt(np.mean((y[~old] - model.predict(X[~old])) ** 2)))
    assert np.mean(shuffled) < 0.5 * np.mean(truth)
    assert np.mean(found) > 0.7 * np.mean(truth)


@pytest.mark.parametrize("cv", [TimeSeriesSplit(3), GroupKFold(4)])
def test_noise_scores_nothing(cv: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.normal(size=400)
    groups = np.arange(400) // 10 if isinstance(cv, GroupKFold) else None
    model = stack(KernelStackingRegressor, [KernelOptimization(), "gaussian"], cv=cv)
    assert abs(model.fit(X, y, groups=groups).loo_score_) < 0.05


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_splitters_of_groups_get_them(estimator: Any) -> None:
    X, y = problem(300)
    y, groups = target_for(estimator, y), np.arange(300) // 10
    kind = StratifiedGroupKFold if estimator is KernelStackingClassifier else GroupKFold
    listed = list(kind(4).split(X, y, groups))
    found = stack(estimator, cv=kind(4)).fit(X, y, groups=groups)
    again = stack(estimator, cv=iter(listed)).fit(X, y, groups=groups)
    assert_array_equal(found.loo_predictions_, again.loo_predictions_)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_folds_refer_to_rows_of_weight_zero(estimator: Any) -> None:
    X, y = problem(300)
    y, weights = target_for(estimator, y), np.where(np.arange(300) % 5, 1.0, 0.0)
    there = np.flatnonzero(weights)
    folds = list(TimeSeriesSplit(3).split(X))
    inside = [
        tuple(np.flatnonzero(np.isin(there, part)) for part in (train, test))
        for train, test in folds
    ]
    found = stack(estimator, cv=folds).fit(X, y, sample_weight=weights)
    expected = stack(estimator, cv=inside).fit(X[there], y[there])
    assert_allclose(found.loo_predictions_, expected.loo_predictions_)


def test_leaving_out_one_row_is_the_default() -> None:
    X, y = problem(150)
    found, plain = (stack(KernelStackingRegressor, cv=cv).fit(X, y) for cv in (LeaveOneOut(), None))
    assert_array_equal(found.loo_predictions_, plain.loo_predictions_)


def test_folds_that_cannot_work_are_refused() -> None:
    X, y = problem(300)
    with config_context(working_memory=1), pytest.raises(ValueError, match="into 40 parts"):
        stack(KernelStackingRegressor, cv=KFold(40)).fit(X, y)
    with pytest.raises(ValueError, match="cv needs a table in memory"):
        stack(KernelStackingRegressor, cv=3).fit(block_source(X, y))
    with pytest.raises(ValueError, match="trains on samples that it holds out"):
        stack(KernelStackingRegressor, cv=[(np.arange(20), np.arange(15, 30))]).fit(X, y)
    with pytest.raises(ValueError, match="Unknown label type"):
        stack(KernelStackingClassifier, cv=3).fit(X, y)


def test_folds_of_rows_that_are_all_centers_need_no_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer._nystroem.second_stage.FEW_ROWS", 100)
    X, y = problem(150)
    settings = {"approximation": "nystroem", "max_samples": 100, "cv": TimeSeriesSplit(12)}
    with config_context(working_memory=2):
        with pytest.raises(ValueError, match="into 13 parts"):
            KernelStackingRegressor(CANDIDATES, n_components=149, **settings).fit(X, y)
        model = KernelStackingRegressor(CANDIDATES, n_components=150, **settings).fit(X, y)
    assert_array_equal(np.isfinite(model.loo_predictions_), np.arange(150) >= 150 - 12 * 11)
