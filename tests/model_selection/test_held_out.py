"""Losses on held-out samples against dense ridge regressions; folds; the choice by losses."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import gaussian, ridge_with_intercept
from sklearn.model_selection import KFold, StratifiedKFold

import mercer._model_selection.held_out
from mercer._data.encoded_targets import encode_target
from mercer._data.weights import SampleWeights
from mercer._gram.dense import to_unit_scale
from mercer._gram.samples import Samples
from mercer._model_selection.held_out import (
    best_in_order,
    best_width,
    clearly_best,
    held_out_losses,
    held_out_splits,
    kernel_error,
)
from mercer._search.targets import Target, as_target
from mercer._solvers.left_out import ALPHAS, PenaltyLosses, leave_one_out
from mercer.kernels import Gaussian, Kernel

WIDTHS = [np.array([0.5, 1.0, 3.0]), np.array([3.0, 3.0, 3.0]), np.array([8.0, 0.2, 1.0])]
KERNELS = [Gaussian(widths) for widths in WIDTHS]
KINDS = ["binary", "three classes", "regression", "two outputs"]


def table(n: int = 23) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, 3))


def outputs(kind: str, X: np.ndarray) -> tuple[Any, np.ndarray]:
    """A target of some kind, and the columns that ridge regression predicts."""
    score = X[:, 0] + 0.2 * X[:, 1] ** 2
    if kind == "binary":
        y = score > 0.1
        return np.array(["no", "yes"])[y.astype(int)], np.where(y, 1.0, -1.0)[:, None]
    if kind == "three classes":
        y = np.digitize(score, [-0.4, 0.5])
        return y, np.sqrt(2.0) * np.eye(3)[y]
    Y = score[:, None] if kind == "regression" else np.column_stack([score, 1e3 * X[:, 2] ** 2])
    return (score if kind == "regression" else Y), Y / Y.std(axis=0)


def recorded(
    kernels: Sequence[Kernel], seen: list[tuple[np.ndarray, Target]]
) -> Callable[[Samples, Target], Sequence[Kernel]]:
    """A `learn` that returns the same kernels and records its arguments."""

    def learn(inside: Samples, part: Target) -> Sequence[Kernel]:
        seen.append((inside.X, part))
        return kernels

    return learn


# --- losses ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_are_those_of_dense_ridge_regressions(kind: str, weighted: bool) -> None:
    """Weights count rows, in the regressions and in the losses."""
    X = table(35)
    y, Y = outputs(kind, X)
    counts = np.random.default_rng(1).integers(1, 4, size=35) if weighted else np.ones(35, int)
    target, samples = as_target(y), Samples(X)
    if weighted:
        target = replace(target, weights=SampleWeights(counts.astype(float)))
        samples = Samples(X, weights=target.weights)
    found = held_out_losses(recorded(KERNELS, []), samples, target, 7)
    labels = kind in KINDS[:2]
    folds = (StratifiedKFold if labels else KFold)(5, shuffle=True, random_state=7)
    for losses, widths in zip(found, WIDTHS, strict=True):
        naive = np.empty((len(ALPHAS), 0))
        for train, test in folds.split(X, y if labels else None):
            rows = np.repeat(train, counts[train])
            K, tested = gaussian(X[rows], widths), gaussian(X[test], widths, X[rows])
            predicted = [ridge_with_intercept(K, Y[rows], tested, alpha) for alpha in ALPHAS]
            errors = [counts[test] * np.sum((P - Y[test]) ** 2, axis=1) for P in predicted]
            naive = np.hstack([naive, errors])
        assert_allclose(losses, naive[naive.mean(axis=1).argmin()], rtol=1e-6)


# --- folds -------------------------------------------------------------------------------------


def rows_of(part: np.ndarray, X: np.ndarray) -> set[int]:
    """Indices in the table of some of its rows."""
    return {int(np.flatnonzero((row == X).all(axis=1))[0]) for row in part}


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 11, 40])
@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_every_sample_is_held_out_once(n: int, kind: str) -> None:
    X = table(n)
    y = np.arange(n) % 2 if kind == "binary" else X[:, 0]
    seen: list[tuple[np.ndarray, Target]] = []
    losses = held_out_losses(recorded(KERNELS, seen), Samples(X), as_target(y), 0)
    assert losses.shape == (3, n)
    assert np.isfinite(losses).all()
    assert len(seen) == min(5, n)
    held_out = [set(range(n)) - rows_of(part, X) for part, _ in seen]
    assert sorted(row for rows in held_out for row in rows) == list(range(n))


@pytest.mark.parametrize("kind", ["binary", "three classes", "regression"])
def test_many_samples_are_split_at_random(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mercer._model_selection.held_out, "_DRAWN", 30)
    for n, n_test in ((41, 11), (60, 30), (200, 30)):
        X = table(n)
        y = outputs(kind, X)[0]
        seen: list[tuple[np.ndarray, Target]] = []
        losses = held_out_losses(recorded(KERNELS, seen), Samples(X), as_target(y), 0)
        assert losses.shape == (3, 3 * n_test)
        assert [len(part) for part, _ in seen] == [30, 30, 30]
        assert np.isfinite(losses).all()


def test_more_classes_than_samples_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mercer._model_selection.held_out, "_DRAWN", 8)
    X, y = table(60), np.repeat(np.arange(10), 6)
    losses = held_out_losses(recorded(KERNELS, []), Samples(X), as_target(y), 0)
    assert losses.shape == (3, 24)


@pytest.mark.parametrize(("n", "n_splits"), [(40, 3), (200, 3), (300, 5)])
def test_groups_are_not_divided(n: int, n_splits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mercer._model_selection.held_out, "_DRAWN", 30)
    groups = np.arange(n) % 13
    target = replace(as_target(table(n)[:, 0]), groups=groups)
    splits = held_out_splits(target, n, 0, n_folds=n_splits)
    assert len(splits) == n_splits
    for train, test in splits:
        assert not np.intersect1d(groups[train], groups[test]).size
        assert max(len(train), len(test)) <= 30
    assert set(groups[np.concatenate([test for _, test in splits])]) == set(range(13))


# --- the choice --------------------------------------------------------------------------------


def losses_of(*means: float, deviation: float = 1.0) -> np.ndarray:
    """Losses of 100 samples whose differences from the first have these means and a known error."""
    common = np.random.default_rng(0).exponential(size=100)
    wave = deviation * np.tile([1.0, -1.0], 50)
    return np.stack([common, *(common + mean + wave for mean in means)])


@pytest.mark.parametrize(
    ("means", "chosen"),
    [
        ((), 0),
        ((0.5, 0.2), 0),
        ((-0.09, 0.2), 0),
        ((-0.11, 0.2), 1),
        ((0.2, -0.11, -0.105), 2),
        ((-0.5, -0.6, -0.4), 2),
    ],
)
def test_a_candidate_must_be_better_by_a_standard_error(
    means: tuple[float, ...], chosen: int
) -> None:
    """The standard error is a tenth."""
    assert clearly_best(losses_of(*means)) == chosen


def test_the_error_is_that_of_differences_on_the_same_samples() -> None:
    losses = losses_of(-0.01, deviation=0.05)
    assert clearly_best(losses) == 1
    assert clearly_best(np.stack([losses[0], losses[1][::-1]])) == 0


def test_equal_candidates_are_no_better() -> None:
    losses = losses_of(0.0, 0.0, deviation=0.0)
    assert clearly_best(losses) == 0
    assert clearly_best(losses * np.array([[1.0], [1.0 - 1e-15], [1.0 - 1e-13]])) == 0
    assert clearly_best(np.zeros((3, 5))) == 0


# --- left-out errors of kernels, and of kernels in the order of their widths -----------------


def some_rows(n: int = 18, d: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("start", [0, 3, 6])
def test_steps_downhill_end_at_the_best_of_kernels_in_order(start: int) -> None:
    X = some_rows()
    y = np.sin(X[:, :1])
    kernels = [Gaussian(width) for width in 2.0 ** np.arange(-3.0, 4.0)]
    losses = [leave_one_out(to_unit_scale(k(X))[0], y, extend=False).loss for k in kernels]
    best, found = best_in_order(kernels, X, y, start)
    assert best == int(np.argmin(losses))
    assert_allclose(found.loss, min(losses))


@pytest.mark.parametrize("lowest", [-0.4, 0.0, 0.3, 2.2])
def test_widths_are_refined_between_positions(lowest: float) -> None:
    def evaluate(at: float) -> PenaltyLosses:
        return PenaltyLosses(np.array([at + 10.0]), np.array([0.1 + (at - lowest) ** 2]))

    best, found = best_width(evaluate, 0, (-4, 5), refine=True)
    assert_allclose(best, lowest, atol=1e-12)
    assert_allclose([found.loss, found.alpha], [0.1, best + 10.0])
    assert best_width(evaluate, 0, (-4, 5))[0] == round(lowest)


def test_errors_are_those_of_the_gram_matrix() -> None:
    X = some_rows(300)
    y = np.sin(X[:, 0])
    target = encode_target(y, classification=False)
    every = kernel_error(Gaussian(2.0), Samples(X), target)
    gram, _ = to_unit_scale(Gaussian(2.0)(X))
    expected = leave_one_out(gram, target.values)
    # Rounding errors of the Gram matrix count as often as its largest eigenvalue exceeds alpha.
    rounding = np.finfo(float).eps * np.trace(gram) / expected.alphas
    assert np.all(np.abs(every.losses / expected.losses - 1.0) <= 1e-12 + 10.0 * rounding)
