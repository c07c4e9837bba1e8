"""Models of Gram matrices are explained by their sources, whose contributions add up."""

from typing import Any

import numpy as np
import pytest
from explanation_cases import naive_values
from numpy.testing import assert_allclose

from mercer import (
    BayesianMKLRegressor,
    MKLRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.inspection import (
    partial_dependence,
    shapley_interactions,
    shapley_values,
    sobol_indices,
    training_contributions,
)
from mercer.kernels import Gaussian, Linear

RNG = np.random.default_rng(0)
X, X_NEW = RNG.normal(size=(50, 4)), RNG.normal(size=(6, 4))
Y = np.sin(X[:, 0]) + X[:, 2]
LABELS = np.digitize(Y, [-0.5, 0.5])


def stack(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Two sources of two columns each, and one that knows nothing."""
    parts = [Gaussian(1.5)(A[:, :2], B[:, :2]), Linear()(A[:, 2:], B[:, 2:])]
    return np.stack([*parts, np.zeros_like(parts[0])], axis=2)


GRAMS, NEW = stack(X, X), stack(X_NEW, X)


def naive(function: Any, row: np.ndarray, background: np.ndarray) -> np.ndarray:
    """Values by the definition, with matrices of several sources exchanged."""
    n, n_sources = row.shape

    def of_flat(flat: np.ndarray) -> np.ndarray:
        return np.asarray(function(flat.reshape(-1, n, n_sources)))

    players = [[i * n_sources + source for i in range(n)] for source in range(n_sources)]
    return naive_values(of_flat, row.ravel(), background.reshape(len(background), -1), players)


@pytest.mark.parametrize(
    "estimator",
    [
        TwoStageRegressor(UniformCombination("precomputed"), alpha=1.0),
        MKLRegressor("precomputed"),
        BayesianMKLRegressor("precomputed"),
    ],
    ids=lambda e: type(e).__name__,
)
def test_responses(estimator: Any) -> None:
    model = estimator.fit(GRAMS, Y)
    found = shapley_values(model, NEW, GRAMS[:9])
    assert found.feature_names == ["kernel 0", "kernel 1", "kernel 2"]
    assert_allclose(found.predictions, model.predict(NEW), atol=1e-9)
    assert_allclose(found.values[0], naive(model.predict, NEW[0], GRAMS[:9])[:, 0], atol=1e-9)
    assert not found.values[:, 2].any()
    assert not found.standard_errors.any()


def test_votes_of_machines_are_those_of_the_definition() -> None:
    model = TwoStageClassifier(UniformCombination("precomputed")).fit(GRAMS, LABELS)
    found = shapley_values(model, NEW[:1], GRAMS[:9], n_permutations="all")
    expected = naive(model.kernel_expansion(), NEW[0], GRAMS[:9])
    assert_allclose(found.values[0], expected, atol=1e-9)


def test_sums_of_sources_have_no_interactions() -> None:
    model = MKLRegressor("precomputed").fit(GRAMS, Y)
    assert not shapley_interactions(model, NEW, GRAMS[:9]).values.any()
    shares = sobol_indices(model, GRAMS)
    assert_allclose(shares.first_order.sum(), 1.0)
    assert shares.first_order[2] == 0.0


def test_groups_of_sources_in_words() -> None:
    model = MKLRegressor("precomputed").fit(GRAMS, Y)
    found = shapley_values(model, NEW, GRAMS[:9], {"images": ["kernel 0", "kernel 2"]})
    assert found.feature_names == ["images", "kernel 1"]
    assert all(phrase.split(":")[0] in found.feature_names for phrase in found.in_words(0))


def test_bad_input() -> None:
    model = MKLRegressor("precomputed").fit(GRAMS, Y)
    for rows, background, message in (
        (NEW, None, "was fitted to Gram matrices and does not store them"),
        (NEW, 20, "was fitted to Gram matrices and does not store them"),
        (NEW, GRAMS[:1], "background has 1 row"),
        (NEW[:, :20], GRAMS, "shape"),
        (np.full_like(NEW, np.nan), GRAMS, "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            shapley_values(model, rows, background)
    with pytest.raises(TypeError, match="Curves need a model of a table"):
        partial_dependence(model, GRAMS, 0)
    with pytest.raises(TypeError, match="training rows need a model of a table"):
        training_contributions(model, NEW, GRAMS)
