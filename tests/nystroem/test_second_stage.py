"""The predictor on all rows, from a kernel, a source and a sample; the factor of all widths."""

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from campaign import rotating
from sklearn.model_selection import KFold, PredefinedSplit, RepeatedKFold, TimeSeriesSplit

from mercer._blocks.listed_folds import ListedFolds
from mercer._blocks.row_sample import row_folds
from mercer._blocks.tables import DrawnSample, block_source
from mercer._data.encoded_targets import encode_target
from mercer._data.types import Array
from mercer._data.weights import UnitWeights, as_weights
from mercer._nystroem.second_stage import NystroemModel, fit_nystroem
from mercer.kernels import (
    CallableKernel,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    WeightedSum,
)

RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, size=(400, 2))
Y = 10.0 + 5.0 * np.sin(2.0 * X[:, 0]) * X[:, 1]
LABELS = np.array(["blue", "green", "red"])[np.digitize(Y, [8.0, 12.0])]


def fitted(
    y: Array,
    rows: int | None = None,
    table: Any = X,
    *,
    weights: Array | None = None,
    kernel: Kernel = Gaussian(1.5),  # noqa: B008
    n_components: int = 80,
    listed: ListedFolds | None = None,
    **settings: Any,
) -> NystroemModel:
    encoding = encode_target(y, classification=y.dtype.kind == "U").encoding
    source, everywhere = block_source(table, y), np.arange(len(y))
    given = as_weights(weights, len(y))
    data = DrawnSample(
        table, y, given, source=source, positions=everywhere, all_weights=given, listed=listed
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mercer._blocks.blocks._BLOCK_ROWS", rows or 8192)
        return fit_nystroem(kernel, data, encoding, n_components=n_components, **settings)


def some(rows: Array, listed: ListedFolds | None = None) -> DrawnSample:
    """Rows of the table, as they were drawn from it."""
    source, weights = block_source(X, Y), UnitWeights(len(rows))
    return DrawnSample(X[rows], Y[rows], weights, source=source, positions=rows, listed=listed)


def test_several_responses() -> None:
    found = fitted(np.column_stack([Y, -3.0 * Y])).predict(X[:9])
    assert found.shape == (9, 2)
    np.testing.assert_allclose(found[:, 1], -3.0 * found[:, 0], rtol=1e-6)


def test_blocks_and_sparse_tables_do_not_matter() -> None:
    alphas, sparse = np.array([1e-3]), sp.csr_array(X)
    expected = fitted(Y, alphas=alphas).predict(X)
    for found in (
        fitted(Y, 13, alphas=alphas).predict(X),
        fitted(Y, table=sparse, alphas=alphas).predict(sparse),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def exact(model: NystroemModel, alpha: float, weights: Array, y: Array, Z: Array) -> Array:
    """Predictions at Z by c + f, f = sum_j b_j k(., c_j), where sum_j b_j = 0, of least squared
    error on X plus alpha |f|^2 at unit scale."""
    kernel, centers = model.columns.kernel, model.columns.centers
    m = len(centers)
    H = np.eye(m) - 1.0 / m
    K, G = kernel(X, centers) @ H, H @ kernel(centers) @ H
    means, mean = np.average(K, axis=0, weights=weights), np.average(y, axis=0, weights=weights)
    K -= means
    values, vectors = np.linalg.eigh(K.T @ (weights[:, None] * K) + alpha * np.trace(G) / m * G)
    kept = values > 1e-13 * values[-1]
    projected = (vectors[:, kept].T @ (K.T @ (weights * (y - mean).T).T)).T / values[kept]
    return np.asarray(mean + (kernel(Z, centers) @ H - means) @ vectors[:, kept] @ projected.T)


class TestProblem:
    WEIGHTS = np.exp(2.0 * X[:, 0]) / 50.0

    @pytest.mark.parametrize(
        ("alpha", "kernel", "weights"),
        rotating(
            [1e-3, 0.03, 30.0],
            [Gaussian(0.7), Laplacian(2.0, norm=1.0), Linear()],
            [WEIGHTS, np.ones(400)],
        ),
    )
    def test_predictions_are_those_of_the_dense_problem(
        self, kernel: Kernel, alpha: float, weights: Array
    ) -> None:
        new = RNG.uniform(-2.5, 2.5, size=(200, 2))
        model = fitted(Y, weights=weights, kernel=kernel, n_components=60, alphas=np.array([alpha]))
        expected = exact(model, alpha, weights, Y, new)
        np.testing.assert_allclose(model.predict(new), expected, atol=1e-6 * Y.std())

    def test_a_constant_added_to_the_kernel_changes_nothing(self) -> None:
        constant = CallableKernel(lambda A, B: np.full((len(A), len(B)), 3.0))
        shifted = WeightedSum([Gaussian(0.7), constant], [1.0, 1.0])
        models = [fitted(Y, kernel=k, alphas=np.array([0.03])) for k in (Gaussian(0.7), shifted)]
        np.testing.assert_allclose(*(model.predict(X) for model in models), atol=1e-6 * Y.std())

    def test_rows_out_of_fold_are_predicted_without_their_fold(self) -> None:
        alphas = np.array([0.03])
        model = fitted(Y, kernel=Gaussian(0.7), n_components=60, alphas=alphas)
        folds = row_folds(0, np.arange(400), 5)
        found = model.decode(model.out_of_fold(X[150:], some(np.arange(150, 400))))
        for fold in range(5):
            inside = (folds != fold).astype(float)
            expected = exact(model, 0.03, inside, Y, X[150:])[folds[150:] == fold]
            np.testing.assert_allclose(found[folds[150:] == fold], expected, atol=1e-5 * Y.std())

    @pytest.mark.parametrize(
        "cv",
        [
            KFold(3),
            TimeSeriesSplit(3, gap=5),
            RepeatedKFold(n_splits=2, n_repeats=2, random_state=0),
            PredefinedSplit(np.where(np.arange(400) < 100, -1, np.arange(400) % 3)),
        ],
    )
    def test_rows_that_a_splitter_holds_out_are_predicted_from_its_training_rows(
        self, cv: Any
    ) -> None:
        """Rows of several folds by the mean; rows of none have no prediction."""
        splits = list(cv.split(X))
        listed = ListedFolds.of(splits, 400)
        model = fitted(
            Y, 90, kernel=Gaussian(0.7), n_components=60, alphas=np.array([0.03]), listed=listed
        )
        rows = np.arange(50, 400, 3)
        found = model.decode(model.out_of_fold(X[rows], some(rows, listed)))
        predictions = np.full((len(splits), 400), np.nan)
        for own, (train, test) in zip(predictions, splits, strict=True):
            inside = np.isin(np.arange(400), train).astype(float)
            own[test] = exact(model, 0.03, inside, Y, X)[test]
        counts = np.isfinite(predictions).sum(axis=0)
        expected = np.nansum(predictions, axis=0) / np.where(counts > 0, counts, np.nan)
        covered = np.unique(np.concatenate([test for _, test in splits]))
        assert np.isfinite(expected).sum() == len(covered)
        np.testing.assert_allclose(found.ravel(), expected[rows], atol=1e-5 * Y.std())


class TestClasses:
    def test_predictions_are_the_most_probable_classes(self) -> None:
        model = fitted(LABELS)
        probabilities = model.predict_proba(X)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        most = np.unique(LABELS)[probabilities.argmax(axis=1)]
        np.testing.assert_array_equal(most, model.predict(X))

    def test_probabilities_of_noisy_labels_are_calibrated(self) -> None:
        """Labels that disagree with the sign of a feature in one row of five."""
        y = np.where((X[:, 0] > 0.0) ^ (RNG.random(400) < 0.2), "above", "below")
        probabilities = fitted(y).predict_proba(X[np.abs(X[:, 0]) > 1.0])
        assert 0.7 < probabilities.max(axis=1).mean() < 0.9

    def test_frequencies_without_a_fold_are_no_part_of_what_is_calibrated(self) -> None:
        """With an infinite penalty, predictions out of fold are these frequencies."""
        y = np.where(np.random.default_rng(0).permutation(400) < 200, "one", "other")
        model = fitted(y, alphas=np.array([1e9]))
        rows = DrawnSample(
            X, y, UnitWeights(400), source=block_source(X, y), positions=np.arange(400)
        )
        folds = row_folds(0, np.arange(400), 5)
        means = np.array([np.mean(y[folds != fold] == "one") for fold in range(5)])
        assert np.ptp(means) > 0.01
        np.testing.assert_allclose(model.out_of_fold(X, rows)[:, 0], means[folds], atol=1e-6)
        np.testing.assert_allclose(model.indicators_out_of_fold(X, rows), 0.5, atol=1e-6)
        # One slope is learned from what is left, up to its standard error of 2 / sqrt(400).
        np.testing.assert_allclose(model.predict_proba(X).mean(axis=0), 0.5, atol=0.02)

    def test_a_class_of_one_row(self) -> None:
        labels = LABELS.astype("U9")
        labels[7] = "alone"
        assert fitted(labels).predict_proba(X).shape == (400, 4)


class TestWeights:
    @pytest.mark.parametrize("y", [Y, LABELS], ids=["responses", "labels"])
    def test_equal_weights_are_none(self, y: Array) -> None:
        equal, expected = fitted(y, weights=np.full(400, 0.03)), fitted(y)
        np.testing.assert_allclose(equal.choice.alpha, 0.03 * expected.choice.alpha)
        method = "values" if y is Y else "predict_proba"
        found, without = (getattr(model, method)(X) for model in (equal, expected))
        np.testing.assert_allclose(found, without, atol=1e-6)

    def test_a_class_is_as_probable_as_it_weighs(self) -> None:
        """Labels that no feature tells apart."""
        y = np.where(RNG.random(400) < 0.1, "rare", "usual")
        weights = np.where(y == "rare", 9.0, 1.0) * RNG.uniform(0.5, 1.5, 400)
        found = fitted(y, weights=weights).predict_proba(X)[:, 0]
        share = np.average(y == "rare", weights=weights)
        np.testing.assert_allclose(np.average(found, weights=weights), share, atol=0.02)


class TestModel:
    @pytest.mark.parametrize("y", [Y, LABELS], ids=["responses", "labels"])
    def test_it_can_be_pickled_and_holds_centers_only(self, y: Array) -> None:
        model = fitted(y)
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
        assert model.columns.centers.shape == (80, 2)
        assert len(pickle.dumps(model)) < 40_000
