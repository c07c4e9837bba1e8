"""Ridge regression from sums of folds, against ridge regression on the rows."""

from dataclasses import replace
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nystroem_reference import naive_losses, naive_split_losses
from sklearn import config_context
from sklearn.linear_model import Ridge

from mercer import EvidenceMaximization, TwoStageClassifier, TwoStageRegressor
from mercer._blocks.blocks import Block
from mercer._blocks.listed_folds import ListedFolds
from mercer._blocks.row_sample import row_folds
from mercer._data.encoded_targets import TargetEncoding
from mercer._data.types import Array
from mercer._data.weights import SampleWeights, UnitWeights, as_weights
from mercer._nystroem.feature_ridge import ridge_on_features
from mercer._nystroem.features import nystroem_features
from mercer._nystroem.moments import Moments, NormalEquations
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
        assert not FEATURES.whitens_rows
        for fold, part in enumerate(sums_of(Y)):
            rows = folds == fold
            expected = Moments.zero(10, 2)
            expected.gram, expected.cross = K[rows].T @ K[rows], K[rows].T @ Y[rows]
            expected.features, expected.values = K[rows].sum(axis=0), Y[rows].sum(axis=0)
            expected.squares, expected.count = (Y[rows] ** 2).sum(axis=0), float(rows.sum())
            assert_equal_sums([part], [expected])

    def test_tiles_of_few_rows_give_the_same(self) -> None:
        statistic = replace(STATISTIC, tile_rows=6)
        assert_equal_sums(statistic.add(statistic.start(), Block(X, Y)), sums_of(Y))

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

    @settings(max_examples=25)
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
    def test_losses_and_fits_are_those_of_ridge_regression(self, weights: Array | None) -> None:
        """On all rows, and on those of the other folds."""
        found = ridge_on_features(sums_of(Y, weights), FEATURES, ALPHAS)
        Z, folds = FEATURES.transform(X), row_folds(0, np.arange(80), 5)
        expected = naive_losses(Z, Y, folds, ALPHAS.tolist(), weights)
        np.testing.assert_allclose(found.losses, expected, rtol=1e-6)
        assert found.alpha == ALPHAS[expected.argmin()]
        fits = [(found.fit, folds >= 0, 1e-8)]
        fits += [(fit, folds != fold, 1e-8) for fold, fit in enumerate(found.fold_fits)]
        for fit, inside, tolerance in fits:
            own = inside * (1.0 if weights is None else weights)
            expected = Ridge(found.alpha).fit(Z, Y, sample_weight=own).predict(Z)
            np.testing.assert_allclose(fit.predict(FEATURES.columns(X)), expected, atol=tolerance)

    @settings(max_examples=20)
    @given(
        st.lists(st.lists(st.integers(0, 2), min_size=8, max_size=8), min_size=1, max_size=4),
        st.booleans(),
    )
    def test_listed_folds_are_those_of_ridge_regression(
        self, roles: list[list[int]], weighted: bool
    ) -> None:
        """On tenths of the rows that a fold trains on, holds out, or neither."""
        tenths, weights = np.arange(80) % 10, WEIGHTS if weighted else None
        splits = [
            (np.flatnonzero(own[tenths] == 1), np.flatnonzero(own[tenths] == 2))
            for own in (np.array([1, *given, 2]) for given in roles)
        ]
        listed = ListedFolds.of(splits, 80)
        statistic = NormalEquations(
            FEATURES, ENCODING, as_weights(weights, 80), listed=listed, tile_rows=16
        )
        state = statistic.start()
        for first, last in ((0, 37), (37, 80)):
            state = statistic.add(state, Block(X[first:last], Y[first:last], first))
        found = ridge_on_features(state, FEATURES, ALPHAS, listed=listed)
        Z = FEATURES.transform(X)
        expected = naive_split_losses(Z, Y, splits, ALPHAS.tolist(), weights)
        np.testing.assert_allclose(found.losses, expected, rtol=1e-6)
        everything = [(np.arange(80), np.arange(0))]
        fits = zip([found.fit, *found.fold_fits], everything + splits, strict=True)
        for fit, (train, _) in fits:
            own = None if weights is None else weights[train]
            model = Ridge(found.alpha).fit(Z[train], Y[train], sample_weight=own)
            assert fit is not None
            np.testing.assert_allclose(
                fit.predict(FEATURES.columns(X)), model.predict(Z), atol=1e-8 * np.abs(Y).max()
            )

    @pytest.mark.parametrize("n_outputs", [1, 2])
    def test_directions_that_only_a_fold_has(self, n_outputs: int) -> None:
        """Where all rows are centers, rows of other folds leave out as many as a fold has."""
        features, encoding = nystroem_features(Gaussian(1.0), X), ENCODING
        values = np.sin(X[:, :n_outputs])
        encoding = TargetEncoding(np.zeros(n_outputs), np.ones(n_outputs), None)
        statistic = NormalEquations(features, encoding)
        found = ridge_on_features(statistic.add(statistic.start(), Block(X, values)), features)
        Z, folds = features.transform(X), row_folds(0, np.arange(80), 5)
        expected = naive_losses(Z, values, folds, found.alphas.tolist(), None)
        np.testing.assert_allclose(found.losses, expected, rtol=1e-4)
        for fold, fit in enumerate(found.fold_fits):
            own = Ridge(found.alpha, solver="svd").fit(Z[folds != fold], values[folds != fold])
            assert fit is not None
            out = folds == fold
            predicted = own.predict(Z[out]).reshape(-1, n_outputs)
            np.testing.assert_allclose(fit.predict(features.columns(X[out])), predicted, atol=1e-6)

    def test_the_scale_of_weights_does_not_matter(self) -> None:
        mean = float(WEIGHTS.mean())
        once = ridge_on_features(sums_of(Y, WEIGHTS), FEATURES, mean_weight=mean)
        scaled = ridge_on_features(sums_of(Y, 3e-5 * WEIGHTS), FEATURES, mean_weight=3e-5 * mean)
        np.testing.assert_allclose(scaled.alpha, 3e-5 * once.alpha, rtol=1e-12)
        np.testing.assert_allclose(
            scaled.fit.predict(FEATURES.columns(X)), once.fit.predict(FEATURES.columns(X))
        )


def test_one_row_gives_its_target() -> None:
    found = ridge_on_features(sums_of(Y[:1]), FEATURES)
    assert found.fold_fits == [None] * 5
    predicted = found.fit.predict(FEATURES.columns(X[:3]))
    np.testing.assert_allclose(predicted, np.tile(Y[0], (3, 1)))


def test_no_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="no rows"):
        ridge_on_features(sums_of(Y[:0]), FEATURES)


def test_digits_survive_a_penalty_far_below_the_features() -> None:
    """A smooth kernel, whose products of values have lost half the digits of its spectrum."""
    features = nystroem_features(Gaussian(8.0), X[:40])
    assert features.whitens_rows
    statistic = NormalEquations(features, ENCODING)
    sums = statistic.add(statistic.start(), Block(X, Y))
    found = ridge_on_features(sums, features, np.array([1e-6]))
    Z = features.transform(X)
    expected = Ridge(1e-6, solver="svd").fit(Z, Y).predict(Z)
    np.testing.assert_allclose(found.fit.predict(features.columns(X)), expected, atol=1e-5)


def test_targets_and_features_without_variation() -> None:
    found = ridge_on_features(sums_of(np.full((80, 1), 2.0)), FEATURES, ALPHAS)
    np.testing.assert_allclose(found.fit.predict(FEATURES.columns(X)), 2.0)
    assert found.alpha == ALPHAS.max()  # Of equal losses, it is the largest penalty.
    found = ridge_on_features(sums_of(Y), replace(FEATURES, whitening=np.empty((10, 0))))
    np.testing.assert_allclose(found.fit.predict(FEATURES.columns(X[:1]))[0], Y.mean(axis=0))


@pytest.mark.parametrize("alphas", [[], [0.0, 1.0], [-1.0], [np.nan], [np.inf]])
def test_penalties_are_positive_and_finite(alphas: list[float]) -> None:
    with pytest.raises(ValueError, match="alphas must be positive and finite"):
        ridge_on_features(sums_of(Y), FEATURES, np.array(alphas))


@pytest.mark.parametrize("scale", [1e3, 1e8])
def test_rows_far_outside_leave_predictions_finite(scale: float) -> None:
    """Their features are so large that those of all others are rounding errors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(303, 5))
    X[300:] = scale * X[:3]
    y = np.sin(2.0 * X[:, 0].clip(-3.0, 3.0)) + 0.1 * rng.normal(size=303)
    settings: dict[str, Any] = {"approximation": "nystroem", "n_components": 30}
    found = TwoStageRegressor(EvidenceMaximization(), **settings).fit(X, y).predict(X)
    assert np.abs(found).max() < 5.0
    labels = (y > 0.0).astype(int)
    probabilities = TwoStageClassifier(**settings).fit(X, labels).predict_proba(X)
    assert np.isfinite(probabilities).all()


@pytest.mark.parametrize(("scale", "size"), [(1e200, "large"), (1e-200, "small")])
def test_values_whose_squares_overflow_are_refused(scale: float, size: str) -> None:
    X = scale * np.random.default_rng(0).normal(size=(50, 2))
    model = TwoStageRegressor(approximation="nystroem", n_components=10)
    with pytest.raises(ValueError, match=f"values too {size} to be squared"):
        model.fit(X, np.arange(50.0))
