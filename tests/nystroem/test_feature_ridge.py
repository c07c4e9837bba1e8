"""Ridge regression from sums of folds, against ridge regression on the rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from nystroem_reference import naive_losses
from sklearn.linear_model import Ridge

from mercer._blocks import Block, row_folds
from mercer._nystroem.feature_ridge import ridge_on_features
from mercer._nystroem.normal_equations import FoldSums, NormalEquations
from mercer._nystroem.nystroem_features import nystroem_features
from mercer._nystroem.target_encoding import TargetEncoding
from mercer._typing import Array
from mercer.kernels import Gaussian

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = np.column_stack([np.sin(2.0 * X[:, 0]) + 0.1 * RNG.normal(size=80), X[:, 1] + 4.0])
FEATURES = nystroem_features(Gaussian(2.0), X[:10])
ALPHAS = np.array([1e-4, 1e-2, 1.0, 100.0])


WEIGHTS = RNG.uniform(0.2, 3.0, 80)


def sums_of(values: Array, weights: Array | None = None) -> FoldSums:
    k = values.shape[1]
    statistic = NormalEquations(FEATURES, TargetEncoding(np.zeros(k), np.ones(k)))
    return statistic.add(statistic.start(), Block(X[: len(values)], values, weights=weights))


WEIGHTED = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["ones", "weights"])


class TestRidge:
    @WEIGHTED
    def test_losses_are_those_of_cross_validation(self, weights: Array | None) -> None:
        found = ridge_on_features(sums_of(Y, weights), FEATURES, ALPHAS)
        Z, folds = FEATURES.transform(X), row_folds(0, 0, 80, 5)
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
        Z, folds = FEATURES.transform(X), row_folds(0, 0, 80, 5)
        for fold, fit in enumerate(found.fold_fits):
            inside = (folds != fold) * (1.0 if weights is None else weights)
            expected = Ridge(found.alpha).fit(Z, Y, sample_weight=inside).predict(Z)
            np.testing.assert_allclose(fit.predict(FEATURES.columns(X)), expected, atol=1e-5)

    def test_eigendecompositions_of_folds_give_the_same(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        iterated = ridge_on_features(sums_of(Y), FEATURES, ALPHAS)
        monkeypatch.setattr("mercer._nystroem.feature_ridge._MOST_COLUMNS", 0)
        direct = ridge_on_features(sums_of(Y), FEATURES, ALPHAS)
        np.testing.assert_allclose(iterated.losses, direct.losses, rtol=1e-7)
        for one, other in zip(iterated.fold_fits, direct.fold_fits, strict=True):
            assert one is not None
            assert other is not None
            np.testing.assert_allclose(one.coefficients, other.coefficients, atol=1e-3)

    def test_folds_whose_iterations_do_not_end_are_decomposed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expected = ridge_on_features(sums_of(Y), FEATURES, ALPHAS)
        monkeypatch.setattr("mercer._nystroem.feature_ridge._MOST_STEPS", 1)
        found = ridge_on_features(sums_of(Y), FEATURES, ALPHAS)
        np.testing.assert_allclose(found.losses, expected.losses, rtol=1e-7)

    def test_the_default_penalties_are_as_good(self) -> None:
        given = ridge_on_features(sums_of(Y), FEATURES, ALPHAS)
        default = ridge_on_features(sums_of(Y), FEATURES)
        assert default.losses.min() <= given.losses.min()

    def test_the_scale_of_weights_does_not_matter(self) -> None:
        mean = float(WEIGHTS.mean())
        once = ridge_on_features(sums_of(Y, WEIGHTS), FEATURES, mean_weight=mean)
        scaled = ridge_on_features(sums_of(Y, 1e-5 * WEIGHTS), FEATURES, mean_weight=1e-5 * mean)
        np.testing.assert_allclose(scaled.alpha, 1e-5 * once.alpha, rtol=1e-12)
        np.testing.assert_allclose(
            scaled.fit.predict(FEATURES.columns(X)), once.fit.predict(FEATURES.columns(X))
        )

    def test_noise_is_shrunk_to_the_mean(self) -> None:
        noise = np.random.default_rng(1).normal(size=(80, 1))
        assert ridge_on_features(sums_of(noise), FEATURES).alpha > 10.0


class TestFewRows:
    def test_one_row_gives_its_target(self) -> None:
        found = ridge_on_features(sums_of(Y[:1]), FEATURES)
        assert found.fold_fits == [None] * 5
        predicted = found.fit.predict(FEATURES.columns(X[:3]))
        np.testing.assert_allclose(predicted, np.tile(Y[0], (3, 1)))

    def test_two_rows(self) -> None:
        found = ridge_on_features(sums_of(Y[:2]), FEATURES)
        assert np.isfinite(found.fit.coefficients).all()

    def test_no_rows_are_refused(self) -> None:
        with pytest.raises(ValueError, match="no rows"):
            ridge_on_features(sums_of(Y[:0]), FEATURES)


def test_digits_survive_a_penalty_far_below_the_features() -> None:
    """A smooth kernel, whose products of values have lost half the digits of its spectrum."""
    features = nystroem_features(Gaussian(8.0), X[:40])
    statistic = NormalEquations(features, TargetEncoding(np.zeros(2), np.ones(2)))
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
