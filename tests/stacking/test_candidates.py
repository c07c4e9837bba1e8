"""Candidates: families of one width, learned relevance, and what a user gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.svm import SVC
from stacking_cases import problem

from mercer import KernelOptimization
from mercer._data.sample import encode_target
from mercer._gram.dense import unit_gram
from mercer._solvers.left_out import leave_one_out
from mercer._stacking.candidates import (
    given_candidates,
    isotropic_candidates,
    learns_relevance,
    relevance_candidates,
)
from mercer.kernels import Gaussian


def test_families_of_one_width_have_names_of_their_own_and_choose_by_price() -> None:
    X, y = problem(60)
    target = encode_target(y, classification=False)
    candidates = isotropic_candidates(["scaled", "quantiles"])
    assert len({name for one in candidates for name in one.descriptions}) == len(candidates)
    assert {one.view for one in candidates} == {"scaled", "quantiles"}
    for candidate in candidates:
        assert not candidate.uses_labels
        [kernel] = candidate.learn(X, y, target.values)
        assert kernel.theta.size == 1
        chosen = leave_one_out(unit_gram(kernel, X)[0], target.values).loss
        for factor in (0.5, 1.0, 2.0):
            median = candidate.learn.family.bind(X)
            other = median.with_theta(median.theta + np.log(factor))
            assert chosen <= leave_one_out(unit_gram(other, X)[0], target.values).loss


def test_relevance_is_found() -> None:
    X, y = problem(120, 8)
    target = encode_target(y, classification=False)
    for candidate in relevance_candidates("scaled"):
        kernels = candidate.learn(X, y, target.values)
        for description, kernel in zip(candidate.descriptions, kernels, strict=True):
            relevance = kernel.relevance(8)
            assert relevance[:2].min() > 2.0 * relevance[2:].max(), description


def test_relevance_needs_samples_and_columns() -> None:
    assert learns_relevance(problem(100)[0])
    assert not learns_relevance(problem(10)[0])
    assert not learns_relevance(problem(100)[0][:, :1])


@pytest.mark.parametrize("sources", [[], (), "gaussian", 3, Gaussian(), iter(["gaussian"])])
def test_candidates_must_be_a_list(sources: Any) -> None:
    with pytest.raises(ValueError, match="candidates must be a list of kernels or learners; got"):
        given_candidates(sources, problem()[0])


def test_what_is_no_kernel_is_refused() -> None:
    with pytest.raises(TypeError, match=r"or a kernel learner, .*; got the predictor SVC\(\)"):
        given_candidates([SVC()], problem()[0])
    with pytest.raises(TypeError, match=r"A kernel must be .*; got 3"):
        given_candidates(["gaussian", 3], problem()[0])


def test_kernels_names_callables_and_learners_are_candidates() -> None:
    X, y = problem(30)
    target = encode_target(y, classification=False)
    learner = KernelOptimization()
    sources = [Gaussian(2.0), "linear", lambda A, B: A @ B.T, learner]
    found = given_candidates(sources, X)
    assert [one.uses_labels for one in found] == [False, False, False, True]
    assert {one.view for one in found} == {"given"}
    assert_allclose(found[0].learn(X, y, target.values)[0](X), Gaussian(2.0)(X))
    assert_allclose(found[1].learn(X, y, target.values)[0](X), X @ X.T)
    assert_allclose(found[2].learn(X, y, target.values)[0](X), X @ X.T)
    expected = KernelOptimization().fit(X, y).kernel_
    assert_allclose(found[3].learn(X, y, target.values)[0](X), expected(X))
    assert not hasattr(learner, "kernel_")
