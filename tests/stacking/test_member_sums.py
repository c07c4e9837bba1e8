"""Sums of kernels in place of several members: their weights, and when they are taken."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from stacking_cases import values_target

from mercer import KernelStackingClassifier, KernelStackingRegressor
from mercer._data.encoded_targets import EncodedTarget
from mercer._estimators.stacking.candidates import Candidate
from mercer._estimators.stacking.combination import LinearCombination, linear_combination
from mercer._estimators.stacking.evaluation import Evaluation, ViewedSample
from mercer._estimators.stacking.member_sums import unit_sum, with_sums
from mercer._estimators.stacking.ridges import evaluate
from mercer._estimators.stacking.table_views import ViewName
from mercer.kernels import Gaussian, Kernel, Laplacian, OnColumns, WeightedSum

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 2))
ADDITIVE = np.sin(2.0 * X[:, [0]]) + np.abs(X[:, [1]]) + 0.1 * RNG.normal(size=(150, 1))
FIRST, SECOND = OnColumns(Gaussian(1.0), [0]), OnColumns(Gaussian(1.0), [1])


def combine(deviations: Any, target: EncodedTarget) -> LinearCombination:
    return linear_combination(deviations, target.values - target.mean, target.weights)


def candidate(name: str, kernel: Kernel, **settings: Any) -> Candidate:
    settings = {"view": "scaled"} | settings
    return Candidate([name], learn=lambda X, y, target: [kernel.bind(X)], **settings)


def evaluated(*candidates: Candidate, Y: np.ndarray) -> tuple[list[Evaluation], ViewedSample]:
    target = values_target(Y)
    views: dict[ViewName, np.ndarray] = {"scaled": X, "given": X}
    table = ViewedSample(views, Y, target.weights, target=target)
    return evaluate(candidates, table, random_state=0), table


def summed(kept: list[Evaluation], table: ViewedSample) -> list[Evaluation]:
    return with_sums(kept, [e.deviations for e in kept], table, combine)


def test_terms_have_unit_scale_before_they_are_weighted() -> None:
    kernels, weights = [Gaussian(2.0), 100.0 * Laplacian(1.0)], np.array([0.3, 0.7])
    found = unit_sum([kernel.bind(X) for kernel in kernels], weights, X)(X)
    centering = np.eye(len(X)) - 1.0 / len(X)
    grams = [centering @ kernel.bind(X)(X) @ centering for kernel in kernels]
    expected = sum(w * K / np.mean(np.diag(K)) for w, K in zip(weights, grams, strict=True))
    assert_allclose(centering @ found @ centering, expected, atol=1e-10)


def test_kernels_of_an_additive_response_are_added() -> None:
    kept, table = evaluated(candidate("x", FIRST), candidate("z", SECOND), Y=ADDITIVE)
    [found] = summed(kept, table)
    assert found.description == "x + z"
    assert isinstance(found.kernel, WeightedSum)
    assert found.loo_error < 0.5 * min(e.loo_error for e in kept)


def test_the_sum_can_be_learned_from_other_rows() -> None:
    kept, table = evaluated(candidate("x", FIRST), candidate("z", SECOND), Y=ADDITIVE)
    [found] = summed(kept, table)
    [again] = found.candidate.learn(X, ADDITIVE, table.target)
    assert_allclose(again(X), found.kernel(X))


def test_a_kernel_without_a_share_is_dropped() -> None:
    kept, table = evaluated(candidate("x", FIRST), candidate("z", SECOND), Y=ADDITIVE)
    opposite = replace(kept[1], deviations=-kept[0].deviations)
    assert summed([kept[0], opposite], table) == kept[:1]


def test_members_stay_where_their_sum_errs_more(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, table = evaluated(candidate("x", FIRST), candidate("z", SECOND), Y=ADDITIVE)
    found = summed(kept, table)[0]
    worse = replace(found, deviations=np.zeros_like(ADDITIVE))
    monkeypatch.setattr("mercer._estimators.stacking.member_sums._sums", lambda *_: [worse])
    assert summed(kept, table) == kept


@pytest.mark.parametrize("settings", [{"memorizes_labels": True}, {"view": "given"}])
def test_kernels_of_trees_and_those_that_are_given_are_not_added(settings: Any) -> None:
    other = candidate("z", SECOND, **settings)
    kept, table = evaluated(candidate("x", FIRST), other, Y=ADDITIVE)
    assert summed(kept, table) == kept


def test_kernels_that_have_not_seen_a_part_are_added_too() -> None:
    parts = [candidate(name, k, uses_labels=True) for name, k in (("x", FIRST), ("z", SECOND))]
    kept, table = evaluated(*parts, Y=ADDITIVE)
    [found] = summed(kept, table)
    assert found.learned_from_some
    assert len(found.unseen) == len(kept[0].unseen) == 2


def test_stacks_of_many_rows_add_kernels_of_responses_alone() -> None:
    rng = np.random.default_rng(1)
    table = rng.uniform(-2.0, 2.0, size=(900, 5))
    y = np.exp(table[:, 0]) * table[:, 1] + 0.5 * rng.normal(size=900)
    settings: Any = {"approximation": "nystroem", "n_components": 100, "max_samples": 150}
    regressor = KernelStackingRegressor(**settings).fit(table[:500], y[:500])
    [summed] = [c for c in regressor.candidates_ if " features + " in c.description]
    assert summed.weight > 0.5
    assert isinstance(summed.kernel, WeightedSum)
    assert regressor.score(table[500:], y[500:]) > 0.95
    assert abs(regressor.loo_score_ - regressor.score(table[500:], y[500:])) < 0.03
    classifier = KernelStackingClassifier(**settings).fit(table[:200], y[:200] > 0.0)
    assert not any(" features + " in c.description for c in classifier.candidates_)
