"""The predictor on all rows, from a kernel, a source and a sample."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from mercer._blocks import GivenWeights, block_source
from mercer._nystroem.second_stage import NystroemModel, fit_nystroem
from mercer._nystroem.target_encoding import TargetEncoding
from mercer._typing import Array
from mercer.kernels import Gaussian

RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, size=(400, 2))
Y = 10.0 + 5.0 * np.sin(2.0 * X[:, 0]) * X[:, 1]
LABELS = np.array(["blue", "green", "red"])[np.digitize(Y, [8.0, 12.0])]


def fitted(y: Array, rows: int | None = None, table: Any = X, **settings: Any) -> NystroemModel:
    of = TargetEncoding.of_classes if y.dtype.kind == "U" else TargetEncoding.of_responses
    source = block_source(table, y, block_rows=rows)
    return fit_nystroem(Gaussian(1.5), source, of(y), table, n_components=80, **settings)


class TestRegression:
    def test_a_smooth_function_is_learned(self) -> None:
        new = np.random.default_rng(1).uniform(-2.0, 2.0, size=(200, 2))
        truth = 10.0 + 5.0 * np.sin(2.0 * new[:, 0]) * new[:, 1]
        error = fitted(Y).predict(new) - truth
        assert np.std(error) < 0.02 * np.std(truth)

    def test_several_responses(self) -> None:
        found = fitted(np.column_stack([Y, -3.0 * Y])).predict(X[:9])
        assert found.shape == (9, 2)
        np.testing.assert_allclose(found[:, 1], -3.0 * found[:, 0], rtol=1e-6)

    @pytest.mark.parametrize("rows", [13, 400])
    def test_blocks_do_not_matter(self, rows: int) -> None:
        np.testing.assert_allclose(fitted(Y, rows).predict(X), fitted(Y).predict(X), rtol=1e-6)

    def test_the_unit_of_responses_does_not_matter(self) -> None:
        np.testing.assert_allclose(
            fitted(1e6 * Y).predict(X[:9]), 1e6 * fitted(Y).predict(X[:9]), rtol=1e-6
        )


class TestClasses:
    def test_classes_are_learned(self) -> None:
        assert np.mean(fitted(LABELS).predict(X) == LABELS) > 0.9

    def test_predictions_are_the_most_probable_classes(self) -> None:
        model = fitted(LABELS)
        probabilities = model.predict_proba(X)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        classes = np.array(["blue", "green", "red"])
        np.testing.assert_array_equal(classes[probabilities.argmax(axis=1)], model.predict(X))

    def test_probabilities_of_noisy_labels_are_calibrated(self) -> None:
        """Labels that disagree with the sign of a feature in one row of five."""
        y = np.where((X[:, 0] > 0.0) ^ (RNG.random(400) < 0.2), "above", "below")
        probabilities = fitted(y).predict_proba(X[np.abs(X[:, 0]) > 1.0])
        assert 0.7 < probabilities.max(axis=1).mean() < 0.9

    @pytest.mark.parametrize("rows", [1, 90])
    def test_blocks_do_not_matter(self, rows: int) -> None:
        np.testing.assert_allclose(
            fitted(LABELS, rows).predict_proba(X), fitted(LABELS).predict_proba(X), atol=1e-6
        )

    def test_a_class_of_one_row(self) -> None:
        labels = LABELS.astype("U9")
        labels[7] = "alone"
        assert fitted(labels).predict_proba(X).shape == (400, 4)


class TestWeights:
    @pytest.mark.parametrize("y", [Y, LABELS], ids=["responses", "labels"])
    def test_equal_weights_are_none(self, y: Array) -> None:
        equal = fitted(y, weights=GivenWeights(np.full(400, 0.03)))
        expected = fitted(y)
        np.testing.assert_allclose(equal.choice.alpha, 0.03 * expected.choice.alpha)
        np.testing.assert_allclose(
            equal.decision_function(X), expected.decision_function(X), atol=1e-6
        )
        if y is LABELS:
            np.testing.assert_allclose(equal.predict_proba(X), expected.predict_proba(X), atol=1e-6)

    def test_a_class_is_as_probable_as_it_weighs(self) -> None:
        """Labels that no feature tells apart."""
        y = np.where(RNG.random(400) < 0.1, "rare", "usual")
        weights = np.where(y == "rare", 9.0, 1.0) * RNG.uniform(0.5, 1.5, 400)
        found = fitted(y, weights=GivenWeights(weights)).predict_proba(X)[:, 0]
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

    def test_no_rows_give_no_predictions(self) -> None:
        assert fitted(Y).predict(X[:0]).shape == (0,)

    def test_sparse_tables(self) -> None:
        alphas = np.array([1e-3])
        dense = fitted(Y, alphas=alphas)
        sparse = fitted(Y, table=sp.csr_array(X), alphas=alphas)
        np.testing.assert_allclose(sparse.predict(sp.csr_array(X)), dense.predict(X), rtol=1e-6)
