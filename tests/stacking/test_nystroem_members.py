"""Stacks on Nyström features: beside exact ones, from files, and what they hold."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from campaign import rotating
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from stacking_cases import (
    ESTIMATORS,
    RULE,
    labels,
    outputs,
    problem,
    ridge_evaluation,
    target_for,
    values_target,
    viewed,
)

from mercer import (
    KernelOptimization,
    KernelStackingClassifier,
    KernelStackingRegressor,
    ParquetSource,
    UniformCombination,
)
from mercer._blocks.row_sample import row_folds
from mercer._blocks.tables import DrawnSample, block_source
from mercer._data.encoded_targets import EncodedTarget, encode_target
from mercer._data.resampling import left_out_together
from mercer._data.weights import UnitWeights
from mercer._estimators.stacking.candidates import Candidate
from mercer._estimators.stacking.combination import LinearCombination
from mercer._estimators.stacking.drawn_views import DrawnViews, NystroemMember
from mercer._estimators.stacking.evaluation import Selection
from mercer._estimators.stacking.table_views import TableViews
from mercer._nystroem.width_factors import with_width_factor
from mercer.kernels import Gaussian, Polynomial

N_ROWS = 400
GIVEN = [Gaussian(3.0), Polynomial(2)]


KINDS = pytest.mark.parametrize("kind", [KernelStackingRegressor, KernelStackingClassifier])


def stack(kind: Any, **settings: Any) -> Any:
    return kind(approximation="nystroem", n_components=60, max_samples=100, **settings)


def drawn_views(
    tables: dict[Any, Any], X: Any, y: np.ndarray, target: EncodedTarget, views: TableViews
) -> DrawnViews:
    """All rows of a table as those that were drawn from it."""
    n = len(y)
    weights, source = UnitWeights(n), block_source(X, y)
    return DrawnViews(
        tables,
        y,
        weights,
        target=target,
        drawn=DrawnSample(X, y, weights, source=source, positions=np.arange(n)),
        views=views,
        n_components=40,
        random_state=0,
    )


def test_predictions_are_near_those_of_an_exact_stack() -> None:
    X, y = problem(N_ROWS)
    approximate = stack(KernelStackingRegressor).fit(X[:300], y[:300])
    exact = KernelStackingRegressor(max_samples=100).fit(X[:300], y[:300])
    assert approximate.score(X[300:], y[300:]) > exact.score(X[300:], y[300:]) - 0.05
    assert approximate.loo_predictions_.shape == (300,)
    assert abs(approximate.loo_score_ - approximate.score(X[300:], y[300:])) < 0.1


def test_out_of_fold_predictions_are_those_of_fits_without_the_fold() -> None:
    X, y = problem(150)
    views, target = TableViews(X), encode_target(y, classification=False)
    scaled = views.transform(X, "scaled")
    table = drawn_views({"scaled": scaled}, X, y, target, views)
    kernel = Gaussian(3.0)
    given = Candidate(["one"], "scaled", lambda *_: [kernel], learns_widths=False)
    member, _ = table.member(kernel, given)
    rows = np.array([3, 20, 77, 149])
    found = table._out_of_fold(member, rows)
    folds = row_folds(0, rows, len(member.model.choice.fold_fits))
    for row, fold, prediction in zip(rows, folds, found, strict=True):
        fit = member.model.choice.fold_fits[fold]
        expected = fit.predict(member.model.columns(scaled[[row]]))
        assert_allclose(prediction, expected[0] - target.mean, atol=1e-12)
    assert np.abs(found - member.deviations(scaled[rows], scaled)).max() > 1e-6
    assert_array_equal(table.take(rows).drawn.positions, rows)


@pytest.mark.parametrize("n_groups", [3, 30])
def test_kernels_are_learned_without_the_groups_that_they_predict(
    n_groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[int, np.ndarray] = {}
    kernels_seen: list[Any] = []
    predicted: list[tuple[np.ndarray, np.ndarray]] = []
    learn, predict = DrawnViews.learned, DrawnViews._out_of_fold

    def learned(self: Any, candidate: Candidate, rows: Any = slice(None)) -> Any:
        kernels = learn(self, candidate, rows)
        kernels_seen.extend(kernels)
        seen.update({id(kernel): self.drawn.groups[rows] for kernel in kernels})
        return kernels

    def in_folds(self: Any, member: NystroemMember, rows: np.ndarray) -> np.ndarray:
        predicted.append((seen[id(member.kernel)], self.drawn.groups[rows]))
        return predict(self, member, rows)

    name = "mercer._nystroem.width_factors.rescaled_kernel"
    monkeypatch.setattr(name, lambda kernel, *_: kernel)
    monkeypatch.setattr(DrawnViews, "learned", learned)
    monkeypatch.setattr(DrawnViews, "_out_of_fold", in_folds)
    X, y = problem(300)
    groups = np.random.default_rng(0).integers(n_groups, size=300)
    candidates = [KernelOptimization(Gaussian(2.0))]
    stack(KernelStackingRegressor, candidates=candidates).fit(X, y, groups=groups)
    (known, everything), *anew = predicted
    assert len(everything) == 300
    unseen = np.setdiff1d(groups, known)
    assert unseen.size == (0 if n_groups < 6 else n_groups // 3)
    for known, divided in anew:
        assert not np.isin(divided, known).any()
    parts = [np.unique(divided) for _, divided in anew]
    assert_array_equal(np.sort(np.concatenate([unseen, *parts])), np.arange(n_groups))


def test_learners_that_fail_without_some_groups_predict_these_by_the_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learn, calls = DrawnViews.learned, []

    def learned(self: Any, candidate: Candidate, rows: Any = slice(None)) -> Any:
        calls.append(candidate)
        if len(calls) > 1:
            raise ValueError("too few")
        return learn(self, candidate, rows)

    monkeypatch.setattr(DrawnViews, "learned", learned)
    X, y = problem(300)
    groups = np.random.default_rng(0).integers(30, size=300)
    candidates = [KernelOptimization(Gaussian(2.0))]
    found = stack(KernelStackingRegressor, candidates=candidates).fit(X, y, groups=groups)
    assert len(calls) == 3
    # The groups that the first kernel was learned from, two thirds, have the mean alone.
    assert np.mean(np.abs(found.loo_predictions_ - y.mean()) < 0.1 * y.std()) > 0.6
    assert np.std(found.predict(X)) > 0.5 * y.std()


def test_samples_of_evaluated_groups_are_not_learned_from() -> None:
    X, y = problem(120)
    groups = np.arange(120) % 12
    target = encode_target(y, classification=False, resampling=left_out_together(120, groups))
    table = drawn_views({"given": X}, X, y, target, TableViews(X))
    rows = table.evaluated_rows(10, 0)
    # Fewer than the samples of a third of the groups.
    assert len(rows) == 10
    rest = table.others(rows)
    assert rest is not None
    assert len(rest) == 20
    assert not np.isin(groups[rest.drawn.positions], groups[rows]).any()
    assert len(table._unseen(rows)) == 2
    pairs = encode_target(
        y, classification=False, resampling=left_out_together(120, np.arange(120) // 2)
    )
    many = drawn_views({"given": X}, X, y, pairs, table.views)
    assert not many._unseen(many.evaluated_rows(40, 0))
    alone = drawn_views({"given": X}, X, y, encode_target(y, classification=False), table.views)
    rest = alone.others(rows)
    assert not np.isin(rest.drawn.positions, rows).any()
    assert np.isin(groups[rest.drawn.positions], groups[rows]).any()


def test_intervals_hold_as_many_responses_as_they_should() -> None:
    X, y = problem(N_ROWS)
    found = stack(KernelStackingRegressor, candidates=GIVEN).fit(X[:300], y[:300])
    ends = found.predict_interval(X[300:], coverage=0.8)
    inside = (ends[:, 0] <= y[300:]) & (y[300:] <= ends[:, 1])
    assert 0.65 < inside.mean() < 0.95
    center = found.predict(X[300:])
    assert (ends[:, 0] < center).all()
    assert (center < ends[:, 1]).all()


def test_a_model_holds_centers_and_few_samples() -> None:
    X, y = problem(N_ROWS)
    found = stack(KernelStackingRegressor, candidates=GIVEN).fit(X, y)
    assert all(table.shape[0] == 100 for table in found._training.values())
    members = [member for member in found._members if isinstance(member, NystroemMember)]
    assert members
    assert all(member.model.columns.n_centers == 60 for member in members)
    again = pickle.loads(pickle.dumps(found))
    assert_allclose(again.predict(X), found.predict(X))


@pytest.mark.parametrize(
    "kind",
    [
        KernelStackingRegressor,
        pytest.param(KernelStackingClassifier, marks=pytest.mark.campaign),
    ],
)
def test_a_file_is_fitted_like_the_table(kind: Any, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frames = pytest.importorskip("pandas")
    X, y = problem(N_ROWS)
    y = labels(y) if kind is KernelStackingClassifier else y
    names = [f"x{k}" for k in range(X.shape[1])]
    table = frames.DataFrame(X, columns=names)
    table.assign(y=y).to_parquet(tmp_path / "table.parquet", row_group_size=90)
    in_memory = stack(kind).fit(table, y)
    streamed = stack(kind).fit(ParquetSource(tmp_path / "table.parquet", target="y"))
    assert list(streamed.feature_names_in_) == names
    assert_allclose(streamed.loo_score_, in_memory.loo_score_, rtol=1e-9)
    expected = in_memory.predict(table)
    if kind is KernelStackingRegressor:
        assert_allclose(streamed.predict(table), expected, rtol=1e-6, atol=1e-9)
    else:
        assert (streamed.predict(table) == expected).mean() > 0.99


def test_sparse_tables_stay_sparse() -> None:
    X, y = problem(N_ROWS)
    X[np.abs(X) < 0.5] = 0.0
    found = stack(KernelStackingRegressor).fit(sp.csr_matrix(X), y)
    assert sp.issparse(found._members[0].model.columns.centers)
    assert found.score(sp.csr_matrix(X), y) > 0.5


@KINDS
def test_given_kernels_stay(kind: Any) -> None:
    X, y = problem(N_ROWS)
    wide = [Gaussian(20.0), Polynomial(2)]
    given = [*wide, UniformCombination([Gaussian(30.0)])]
    found = stack(kind, candidates=given).fit(X, target_for(kind, y))
    # No machine is combined with the ridge regressions.
    assert len(found.candidates_) == len(given)
    kernels = {candidate.description: candidate.kernel for candidate in found.candidates_}
    assert [kernels[kernel.describe()] for kernel in wide] == wide
    (combined,) = kernels[repr(given[2])].kernels
    assert combined == Gaussian(30.0)
    assert [member.model.columns.kernel for member in found._members] == found.kernels_
    assert all(kernel in kernels.values() for kernel in found.kernels_)


@pytest.mark.parametrize(
    ("candidates", "kind"),
    rotating([None, [KernelOptimization(), UniformCombination()]], ESTIMATORS),
)
def test_rescaled_widths_are_reported(
    kind: Any, candidates: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "mercer._nystroem.width_factors.rescaled_kernel",
        lambda kernel, *_: with_width_factor(kernel, float(np.log(1.7))),
    )
    X, y = problem(N_ROWS)
    found = stack(kind, candidates=candidates).fit(X, target_for(kind, y))
    monkeypatch.undo()
    reported = [candidate.kernel for candidate in found.candidates_ if candidate.weight > 0.0]
    assert len(reported) == np.count_nonzero(found.weights_)
    assert all(kernel in found.kernels_ for kernel in reported)
    members = [member for member in found._members if isinstance(member, NystroemMember)]
    assert [member.model.columns.kernel for member in members] == [m.kernel for m in members]
    assert [member.kernel for member in found._members] == found.kernels_


def test_an_exact_fit_beyond_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer._gram.memory._UNCHECKED", 0.0)
    monkeypatch.setattr("mercer._gram.memory.available_memory", lambda: 1e5)
    with pytest.raises(MemoryError, match=r"100 rows need .* use approximation='nystroem'"):
        KernelStackingRegressor(approximation="exact").fit(*problem(100))


def rare_class(n: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = problem(n)
    return X, np.where(y > 2.0, "rare", "usual")


@pytest.mark.parametrize("kind", [KernelStackingRegressor, KernelStackingClassifier])
def test_rows_of_weight_zero_are_left_out(kind: Any) -> None:
    X, y = problem(200)
    y = labels(y) if kind is KernelStackingClassifier else y
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 200)
    weights[::3] = 0.0
    there = weights > 0.0
    found = stack(kind, candidates=GIVEN).fit(X, y, sample_weight=weights)
    expected = stack(kind, candidates=GIVEN).fit(X[there], y[there], sample_weight=weights[there])
    assert_allclose(outputs(found, X), outputs(expected, X))
    assert found.loo_predictions_.shape[0] == there.sum()
    ones = stack(kind, candidates=GIVEN).fit(X, y, sample_weight=there)
    expected = stack(kind, candidates=GIVEN).fit(X[there], y[there])
    assert_allclose(outputs(ones, X), outputs(expected, X))


@pytest.mark.parametrize("approximation", ["nystroem", "exact"])
@pytest.mark.parametrize("kind", [KernelStackingRegressor, KernelStackingClassifier])
def test_the_scale_of_weights_does_not_matter(kind: Any, approximation: str) -> None:
    X, y = problem(100)
    y = labels(y) if kind is KernelStackingClassifier else y
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 100)
    model = stack(kind, candidates=GIVEN).set_params(approximation=approximation)
    expected = outputs(clone(model).fit(X, y, sample_weight=weights), X)
    found = outputs(clone(model).fit(X, y, sample_weight=1e-9 * weights), X)
    assert_allclose(found, expected, atol=1e-6)


def test_intervals_are_those_of_the_rows_that_count() -> None:
    X, y = problem(N_ROWS)
    quiet = X[:, 3] > 0.0
    y = np.where(quiet, y, y + np.random.default_rng(1).normal(size=N_ROWS))
    weights = np.where(quiet, 20.0, 1.0)
    model = stack(KernelStackingRegressor, candidates=GIVEN)
    found = clone(model).fit(X[:300], y[:300], sample_weight=weights[:300])
    usual = clone(model).fit(X[:300], y[:300])
    ends, wide = (model.predict_interval(X[300:], 0.8) for model in (found, usual))
    assert np.ptp(ends, axis=1).mean() < 0.7 * np.ptp(wide, axis=1).mean()
    inside = (ends[:, 0] <= y[300:]) & (y[300:] <= ends[:, 1])
    assert 0.65 < np.average(inside, weights=weights[300:]) < 0.95


@pytest.mark.parametrize("approximation", ["nystroem", "exact"])
def test_classes_of_a_file_have_weights(approximation: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frames = pytest.importorskip("pandas")
    X, y = rare_class(150)
    names = [f"x{k}" for k in range(X.shape[1])]
    table = frames.DataFrame(X, columns=names)
    table.assign(y=y).to_parquet(tmp_path / "table.parquet", row_group_size=90)
    model = stack(KernelStackingClassifier, candidates=GIVEN)
    model.set_params(class_weight="balanced", approximation=approximation)
    source = ParquetSource(tmp_path / "table.parquet", target="y")
    streamed, in_memory = clone(model).fit(source), clone(model).fit(table, y)
    assert_allclose(streamed.predict_proba(table), in_memory.predict_proba(table), rtol=1e-5)


def test_kernels_of_a_small_part_of_the_weights_are_left_out_of_large_tables() -> None:
    rng = np.random.default_rng(0)
    parts = rng.normal(size=(3, 200, 1))
    parts -= parts.mean(axis=1, keepdims=True)
    y = 0.8 * parts[0] + 0.12 * parts[1] + 0.06 * parts[2]
    target = values_target(y)
    table = viewed(y, y, target)
    found = [
        replace(ridge_evaluation(Gaussian(), 0.1, part), description=str(k))
        for k, part in enumerate(parts)
    ]
    large = drawn_views(table.X, y, y, target, TableViews(y))
    kept = RULE.choose(found, large)
    assert [e.description for e in kept.kept] == ["0", "1"]
    # The weights are those of the two kernels alone, rather than beside the third. Responses are
    # without the same means as the deviations: those of the other samples.
    alone = np.linalg.lstsq(np.hstack(parts[:2]), y * 200 / 199, rcond=None)[0][:, 0]
    assert_allclose(kept.combination.weights, alone, rtol=1e-6)
    assert len(RULE.choose(found, table).kept) == 3


def test_left_out_predictions_are_combined_by_other_rows() -> None:
    rng = np.random.default_rng(0)
    parts, train = rng.normal(size=(2, 60, 1)), np.arange(40)
    y = parts[0] + 0.3 * rng.normal(size=(60, 1))
    kept = [ridge_evaluation(Gaussian(), 0.1, p) for p in parts]
    other = np.vstack([y[:40], -y[40:]])
    predicted = []
    for target in (values_target(y), values_target(other)):
        table = drawn_views({"given": y}, y, y, target, TableViews(y))
        found = Selection(kept, kept, LinearCombination(np.ones(2)), table.weights)
        choose = table.without(found, RULE.select, RULE.combine)
        combination, deviations = choose(train)
        assert [len(part) for part in deviations] == [60, 60]
        predicted.append(combination.combine(parts, np.zeros(1)))
    assert_array_equal(*predicted)
