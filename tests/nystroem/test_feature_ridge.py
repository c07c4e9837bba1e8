"""Ridge regression from sums of folds, against ridge regression on the rows."""

from dataclasses import replace
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from nystroem_reference import naive_losses
from sklearn import config_context
from sklearn.linear_model import Ridge

from mercer._blocks.blocks import Block
from mercer._blocks.row_sample import row_folds
from mercer._blocks.tables import block_source
from mercer._data.sample import TargetEncoding
from mercer._data.weights import SampleWeights, UnitWeights
from mercer._nystroem import feature_ridge
from mercer._nystroem.feature_ridge import ridge_on_features
from mercer._nystroem.features import Moments, NormalEquations, fold_tiles, nystroem_features
from mercer._typing import Array
from mercer.kernels import CallableKernel, Gaussian

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = np.column_stack([np.sin(2.0 * X[:, 0]) + 0.1 * RNG.normal(size=80), X[:, 1] + 4.0])
FEATURES = nystroem_features(Gaussian(2.0), X[:10])
ENCODING = TargetEncoding(np.zeros(2), np.ones(2), None)
STATISTIC = NormalEquations(FEATURES, ENCODING)
ALPHAS = np.array([1e-4, 1e-2, 1.0, 100.0])
WEIGHTS = RNG.uniform(0.2, 3.0, 80)


def sums_of(values: Array, weights: Array | None = None) -> list[Moments]:
    k = values.shape[1]
    given = UnitWeights(0) if weights is None else SampleWeights(weights)
    statistic = NormalEquations(FEATURES, TargetEncoding(np.zeros(k), np.ones(k), None), given)
    return statistic.add(statistic.start(), Block(X[: len(values)], values))


def assert_equal_sums(found: list[Moments], expected: list[Moments]) -> None:
    for part, other in zip(found, expected, strict=True):
        for name, sums in vars(other).items():
            size = float(np.abs(sums).max())
            np.testing.assert_allclose(getattr(part, name), sums, rtol=1e-11, atol=1e-12 * size)


class TestSums:
    def test_they_are_those_of_the_rows_of_each_fold(self) -> None:
        folds, K = row_folds(0, np.arange(80), 5), FEATURES.columns(X)
        for fold, part in enumerate(sums_of(Y)):
            rows = folds == fold
            expected = Moments.zero(10, 2)
            expected.gram, expected.cross = K[rows].T @ K[rows], K[rows].T @ Y[rows]
            expected.features, expected.values = K[rows].sum(axis=0), Y[rows].sum(axis=0)
            expected.squares, expected.count = (Y[rows] ** 2).sum(axis=0), float(rows.sum())
            assert_equal_sums([part], [expected])

    @pytest.mark.parametrize("width", [2.0, 100.0])
    def test_weighted_sums_are_those_of_repeated_rows(self, width: float) -> None:
        features = nystroem_features(Gaussian(width), X[:7])
        counts = RNG.integers(1, 4, 80)
        totals = []
        for rows, weights in (
            (np.arange(80), SampleWeights(counts)),
            (np.arange(80).repeat(counts), UnitWeights(0)),
        ):
            statistic = NormalEquations(features, ENCODING, weights)
            parts = statistic.add(statistic.start(), Block(X[rows], Y[rows]))
            totals.append([reduce(Moments.plus, parts)])
        assert_equal_sums(*totals)

    @given(st.sets(st.integers(0, 80), max_size=8))
    def test_any_division_into_blocks_gives_the_same(self, cuts: set[int]) -> None:
        state = STATISTIC.start()
        for first, last in pairwise([0, *sorted(cuts), 80]):
            block = Block(X[first:last], Y[first:last], first)
            before = [replace(part) for part in state]
            added = STATISTIC.add(STATISTIC.start(), block)
            merged = STATISTIC.merge(state, added)
            assert_equal_sums(state, before)
            state = merged
        assert_equal_sums(state, sums_of(Y))

    @pytest.mark.parametrize("rows", [1, 7, 100])
    def test_a_pass_over_a_source_gives_the_same(self, rows: int) -> None:
        assert_equal_sums(block_source(X, Y, block_rows=rows).reduce(STATISTIC), sums_of(Y))

    def test_tiles_are_rows_of_one_fold(self) -> None:
        folds = row_folds(0, np.arange(80), 5)
        tiles = list(fold_tiles(folds, 6))
        assert all((folds[rows] == fold).all() and len(rows) <= 6 for fold, rows in tiles)
        np.testing.assert_array_equal(np.sort(np.concatenate([r for _, r in tiles])), np.arange(80))

    def test_sparse_and_single_precision_rows(self) -> None:
        sparse = STATISTIC.add(STATISTIC.start(), Block(sp.csr_array(X), Y))
        assert_equal_sums(sparse, sums_of(Y))
        single = STATISTIC.add(STATISTIC.start(), Block(X.astype(np.float32), Y))
        for part, other in zip(single, sums_of(Y), strict=True):
            np.testing.assert_allclose(part.gram, other.gram, atol=1e-4)

    def test_ill_conditioned_centers_have_rows_whitened(self) -> None:
        features = nystroem_features(Gaussian(100.0), X[:7])
        assert features.whitens_rows
        assert not FEATURES.whitens_rows
        statistic = NormalEquations(features, ENCODING)
        found, Z = statistic.add(statistic.start(), Block(X, Y)), features.transform(X)
        np.testing.assert_allclose(sum(part.gram for part in found), Z.T @ Z, rtol=1e-10)

    def test_a_kernel_that_is_not_finite_on_a_block_is_refused(self) -> None:
        def values(A: Any, B: Any) -> Any:
            return np.where(A[:, :1] > 5.0, np.nan, A @ B.T)

        statistic = NormalEquations(nystroem_features(CallableKernel(values), X[:7]), ENCODING)
        with pytest.raises(ValueError, match="NaN or infinity"):
            statistic.add(statistic.start(), Block(X + 10.0, Y))

    def test_many_centers_have_fewer_folds(self) -> None:
        def wide(m: int) -> NormalEquations:
            columns = replace(FEATURES.columns, centers=np.empty((m, 3)))
            return NormalEquations(replace(FEATURES, columns=columns), ENCODING)

        with config_context(working_memory=8):
            assert [wide(m).n_folds for m in (10, 320, 360, 500, 8000)] == [5, 5, 4, 2, 2]


WEIGHTED = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["ones", "weights"])


class TestRidge:
    @WEIGHTED
    def test_losses_are_those_of_cross_validation(self, weights: Array | None) -> None:
        found = ridge_on_features(sums_of(Y, weights), FEATURES, ALPHAS)
        Z, folds = FEATURES.transform(X), row_folds(0, np.arange(80), 5)
        expected = naive_losses(Z, Y, folds, ALPHAS.tolist(), weights)
        np.testing.assert_allclose(found.losses, expected, rtol=1e-6)
        assert found.alpha == ALPHAS[expected.argmin()]

    @WEIGHTED
    def test_the_fit_is_that_of_ridge_regression(self, weights: Array | None) -> None:
        found = ridge_on_features(sums_of(Y, weights), FEATURES, ALPHAS)
        Z = FEATURES.transform(X)
        expected = Ridge(found.alpha).fit(Z, Y, sample_weight=weights).predict(Z)
        np.testing.assert_allclose(found.fit.predict(FEATURES.columns(X)), expected, atol=1e-8)

    @WEIGHTED
    def test_fits_of_folds_leave_the_fold_out(self, weights: Array | None) -> None:
        found = ridge_on_features(sums_of(Y, weights), FEATURES, ALPHAS)
        Z, folds = FEATURES.transform(X), row_folds(0, np.arange(80), 5)
        for fold, fit in enumerate(found.fold_fits):
            inside = (folds != fold) * (1.0 if weights is None else weights)
            expected = Ridge(found.alpha).fit(Z, Y, sample_weight=inside).predict(Z)
            np.testing.assert_allclose(fit.predict(FEATURES.columns(X)), expected, atol=1e-5)

    def test_folds_are_solved_by_conjugate_gradients_or_decomposed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As many penalties as features leave no steps, and one penalty leaves enough."""
        few = [ridge_on_features(sums_of(Y), FEATURES, ALPHAS[k : k + 1]) for k in range(4)]
        several = ridge_on_features(sums_of(Y), FEATURES, np.append(ALPHAS, np.logspace(3, 4, 9)))
        np.testing.assert_allclose([one.losses[0] for one in few], several.losses[:4], rtol=1e-7)
        decomposed: list[int] = []
        original = feature_ridge._Path

        def counted(*arguments: Any) -> Any:
            decomposed.append(1)
            return original(*arguments)

        monkeypatch.setattr(feature_ridge, "_Path", counted)
        ridge_on_features(sums_of(Y[:, :1]), FEATURES, np.array([100.0]))
        assert len(decomposed) == 1
        ridge_on_features(sums_of(Y), FEATURES, ALPHAS)
        assert len(decomposed) == 7

    def test_the_scale_of_weights_does_not_matter(self) -> None:
        mean = float(WEIGHTS.mean())
        once = ridge_on_features(sums_of(Y, WEIGHTS), FEATURES, mean_weight=mean)
        scaled = ridge_on_features(sums_of(Y, 3e-5 * WEIGHTS), FEATURES, mean_weight=3e-5 * mean)
        np.testing.assert_allclose(scaled.alpha, 3e-5 * once.alpha, rtol=1e-12)
        np.testing.assert_allclose(
            scaled.fit.predict(FEATURES.columns(X)), once.fit.predict(FEATURES.columns(X))
        )


class TestFewRows:
    def test_one_row_gives_its_target(self) -> None:
        found = ridge_on_features(sums_of(Y[:1]), FEATURES)
        assert found.fold_fits == [None] * 5
        predicted = found.fit.predict(FEATURES.columns(X[:3]))
        np.testing.assert_allclose(predicted, np.tile(Y[0], (3, 1)))

    def test_no_rows_are_refused(self) -> None:
        with pytest.raises(ValueError, match="no rows"):
            ridge_on_features(sums_of(Y[:0]), FEATURES)


def test_digits_survive_a_penalty_far_below_the_features() -> None:
    """A smooth kernel, whose products of values have lost half the digits of its spectrum."""
    features = nystroem_features(Gaussian(8.0), X[:40])
    statistic = NormalEquations(features, ENCODING)
    sums = statistic.add(statistic.start(), Block(X, Y))
    found = ridge_on_features(sums, features, np.array([1e-6]))
    Z = features.transform(X)
    expected = Ridge(1e-6, solver="svd").fit(Z, Y).predict(Z)
    np.testing.assert_allclose(found.fit.predict(features.columns(X)), expected, atol=1e-5)


def test_a_constant_target_is_predicted() -> None:
    fit = ridge_on_features(sums_of(np.full((80, 1), 2.0)), FEATURES).fit
    np.testing.assert_allclose(fit.predict(FEATURES.columns(X)), 2.0)


def test_no_features_give_the_mean() -> None:
    found = ridge_on_features(sums_of(Y), replace(FEATURES, whitening=np.empty((10, 0))))
    np.testing.assert_allclose(found.fit.predict(FEATURES.columns(X[:1]))[0], Y.mean(axis=0))


@pytest.mark.parametrize("alphas", [[], [0.0, 1.0], [-1.0], [np.nan], [np.inf]])
def test_penalties_are_positive_and_finite(alphas: list[float]) -> None:
    with pytest.raises(ValueError, match="alphas must be positive and finite"):
        ridge_on_features(sums_of(Y), FEATURES, np.array(alphas))
