"""Sums of kernels in place of several members: their weights, and when they are taken."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from stacking_cases import values_target, viewed

from mercer import KernelStackingClassifier, KernelStackingRegressor
from mercer._data.sample import EncodedTarget
from mercer._stacking.candidates import Candidate
from mercer._stacking.combination import LinearCombination, linear_combination
from mercer._stacking.evaluation import Evaluation, ViewedSample
from mercer._stacking.kernel_sums import unit_sum, with_sums
from mercer._stacking.ridges import evaluate
from mercer.kernels import Gaussian, Kernel, Laplacian, OnColumns, WeightedSum

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 2))
ADDITIVE = np.sin(2.0 * X[:, [0]]) + np.abs(X[:, [1]]) + 0.1 * RNG.normal(size=(150, 1))
FIRST, SECOND = OnColumns(Gaussian(1.0), [0]), OnColumns(Gaussian(1.0), [1])


def combine(deviations: Any, target: EncodedTarget) -> LinearCombination:
    return linear_combination(deviations, target.values - target.mean, target.weights)


def candidate(name: str, kernel: Kernel, **settings: Any) -> Candidate:
    return Candidate([name], "given", lambda X, y, target: [kernel.bind(X)], **settings)


def evaluated(*candidates: Candidate, Y: np.ndarray) -> tuple[list[Evaluation], ViewedSample]:
    table = viewed(X, Y, values_target(Y))
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
    monkeypatch.setattr("mercer._stacking.kernel_sums._sums", lambda *_: [worse])
    assert summed(kept, table) == kept


@pytest.mark.parametrize("settings", [{"memorizes_labels": True}, {"learns_widths": False}])
def test_kernels_that_are_evaluated_or_rescaled_otherwise_are_not_added(settings: Any) -> None:
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
    table = rng.uniform(-2.0, 2.0, size=(500, 2))
    y = np.sin(3.0 * table[:, 0]) + np.abs(table[:, 1]) + 0.05 * rng.normal(size=500)
    candidates = [
        OnColumns(Gaussian(1.0), [0]),
        OnColumns(Gaussian(1.0), [1]),
    ]
    settings: Any = {
        "candidates": candidates,
        "approximation": "nystroem",
        "n_components": 60,
        "max_samples": 150,
    }
    regressor = KernelStackingRegressor(**settings).fit(table[:300], y[:300])
    [kernel] = regressor.kernels_
    assert isinstance(kernel, WeightedSum)
    assert regressor.score(table[300:], y[300:]) > 0.95
    assert abs(regressor.loo_score_ - regressor.score(table[300:], y[300:])) < 0.03
    classifier = KernelStackingClassifier(**settings).fit(table[:300], y[:300] > 0.5)
    assert not any(isinstance(kernel, WeightedSum) for kernel in classifier.kernels_)
