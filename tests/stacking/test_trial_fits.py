"""Which kernels are fitted to all rows of a large table beside the leaves of trees."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from campaign import in_campaign
from sklearn.model_selection import KFold

from mercer import KernelStackingClassifier, KernelStackingRegressor
from mercer._blocks import tables
from mercer._blocks.tables import DrawnSample, block_source
from mercer._data.encoded_targets import EncodedTarget, encode_target
from mercer._data.weights import SampleWeights
from mercer._estimators.stacking.candidates import Candidate
from mercer._estimators.stacking.combination import linear_combination
from mercer._estimators.stacking.evaluation import Evaluation, FittedApart, RidgeSolver
from mercer._estimators.stacking.trial_fits import (
    _predicted_by_features,
    _predicted_by_pairs,
    worth_all_rows,
)
from mercer.kernels import Forest, Gaussian, OnColumns

N, N_DRAWN = 1500, 250
RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, size=(2 * N, 3))
SMOOTH = X @ np.array([1.0, -2.0, 0.5]) + np.sin(2.0 * X[:, 0] * X[:, 1])
NOISE = 0.1 * RNG.normal(size=2 * N)
TRAIN, NEW = slice(0, N), slice(N, None)


@pytest.fixture(autouse=True)
def _few_rows_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of small tables, few rows stand for the 20,000 that are drawn of large ones."""
    drawn = tables.drawn_rows
    monkeypatch.setattr(
        tables, "drawn_rows", lambda *args, **settings: drawn(*args, **settings, max_rows=N_DRAWN)
    )


def stack(kind: Any = KernelStackingRegressor, **settings: Any) -> Any:
    return kind(approximation="nystroem", n_components=80, max_samples=100, **settings)


def drawn_rows_of(y: Any, groups: Any = None, n_rows: int = N) -> DrawnSample:
    """Rows that stand for what is drawn of a table of `n_rows` rows."""
    rows = np.sort(np.random.default_rng(1).choice(n_rows, N_DRAWN, replace=False))
    weights = SampleWeights(RNG.uniform(0.5, 2.0, size=N_DRAWN))
    source = block_source(X[:n_rows], y[:n_rows])
    settings: Any = {"source": source, "positions": rows, "groups": groups}
    return DrawnSample(X[rows], y[rows], weights, **settings)


def kept_beside(leaves: float, n_rows: int = N) -> list[str]:
    """What is kept of a kernel that predicts well, and of leaves that predict a part of it."""
    drawn = drawn_rows_of(SMOOTH, n_rows=n_rows)
    target = encode_target(drawn.y, classification=False, weights=drawn.weights)
    candidate = Candidate([], "given", lambda X, y, target: [])
    known = leaves * (target.values - target.mean)
    given: Any = (RidgeSolver(1.0), known, 0.0, candidate)
    evaluations = [
        FittedApart("leaves", Gaussian(9.0), *given, member=lambda: None),
        Evaluation("kernel", Gaussian(2.0), *given),
    ]

    def combine(deviations: Any, target: EncodedTarget) -> Any:
        return linear_combination(deviations, target.values - target.mean, target.weights)

    settings: Any = {"least_share": 0.1, "random_state": 0}
    found = worth_all_rows(evaluations, lambda view: drawn, target, combine, **settings)
    return [e.description for e in found]


def test_kernels_are_kept_that_count_beside_leaves() -> None:
    assert kept_beside(1.0) == ["leaves"]
    assert kept_beside(0.0) == ["leaves", "kernel"]


def test_all_are_kept_of_a_few_times_the_rows() -> None:
    assert kept_beside(1.0, n_rows=5 * N_DRAWN) == ["leaves"]
    assert kept_beside(1.0, n_rows=5 * N_DRAWN - 1) == ["leaves", "kernel"]


@pytest.mark.parametrize("classes", [True, False])
def test_kernels_of_classes_are_left_out_that_others_make_useless(classes: bool) -> None:
    y: Any = 1 * (SMOOTH > 0.0) if classes else SMOOTH
    drawn = drawn_rows_of(y, n_rows=2 * N_DRAWN)
    target = encode_target(drawn.y, classification=classes, weights=drawn.weights)
    candidate = Candidate([], "given", lambda X, y, target: [])
    given: Any = (RidgeSolver(1.0), np.zeros_like(target.values), 0.0, candidate)
    leaves: Any = FittedApart("leaves", Gaussian(9.0), *given, member=lambda: None)
    kernels = [
        Evaluation("all columns", Gaussian(2.0), *given),
        Evaluation("one column", OnColumns(Gaussian(1.0), [2]), *given),
    ]

    def combine(deviations: Any, target: EncodedTarget) -> Any:
        """One that nearly takes the best alone: by the cube of the part that members explain."""
        own = target.values - target.mean
        parts = [1.0 - np.square(own - found).sum() / np.square(own).sum() for found in deviations]
        sizes = np.maximum(parts, 0.0) ** 3
        return SimpleNamespace(shares=lambda *args: sizes / sizes.sum())

    settings: Any = {"least_share": 0.1, "random_state": 0}
    found = worth_all_rows([leaves, *kernels], lambda view: drawn, target, combine, **settings)
    assert [e.description for e in found] == ["leaves", "all columns", "one column"][: 3 - classes]
    alone = worth_all_rows([leaves, kernels[1]], lambda view: drawn, target, combine, **settings)
    assert len(alone) == 2


def test_kernels_are_fitted_to_what_is_smooth() -> None:
    model = stack().fit(X[TRAIN], (SMOOTH + NOISE)[TRAIN])
    assert not all(isinstance(kernel, Forest) for kernel in model.kernels_)
    assert model.score(X[NEW], SMOOTH[NEW]) > 0.98


def test_classes_are_predicted() -> None:
    labels = np.where(SMOOTH > 0.0, "high", "low")
    model = stack(KernelStackingClassifier).fit(X[TRAIN], labels[TRAIN])
    assert model.score(X[NEW], labels[NEW]) > 0.95


@pytest.mark.parametrize("settings", [{}, *in_campaign({"cv": KFold(3)})])
def test_noise_is_not_learned(settings: Any) -> None:
    y = np.random.default_rng(0).normal(size=2 * N)
    model = stack(**settings).fit(X[TRAIN], y[TRAIN])
    assert model.loo_score_ < 0.01
    assert model.score(X[NEW], y[NEW]) > -0.01


def test_groups_are_left_out_as_wholes() -> None:
    groups = np.repeat(np.arange(N // 10), 10)
    effects = RNG.normal(size=N // 10)[groups]
    table = np.column_stack([X[TRAIN], effects + 0.01 * RNG.normal(size=N)])
    y = 3.0 * RNG.normal(size=N // 10)[groups] + NOISE[TRAIN]
    assert stack().fit(table, y, groups=groups).loo_score_ < 0.1


@pytest.mark.parametrize("predicted", [_predicted_by_features, _predicted_by_pairs])
@pytest.mark.parametrize("grouped", [False, True])
def test_the_label_of_a_row_has_no_part_in_its_prediction(grouped: bool, predicted: Any) -> None:
    drawn = drawn_rows_of(SMOOTH + 10.0 * NOISE, np.arange(N_DRAWN) // 5 if grouped else None)
    y = drawn.y
    target = encode_target(y, classification=False)
    before = predicted(Gaussian(2.0), drawn, target.encoding, 0)
    changed = y.copy()
    changed[7] += 0.01
    after = predicted(Gaussian(2.0), replace(drawn, y=changed), target.encoding, 0)
    own = np.arange(5, 10) if grouped else [7]
    # So small a change does not change the penalty, which is chosen by all rows.
    assert np.abs(after - before)[own].max() < 1e-12
    assert np.abs(after - before).max() > 1e-6
    assert np.corrcoef(before[:, 0], SMOOTH[drawn.positions])[0, 1] > 0.9
