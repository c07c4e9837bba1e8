"""Shapley values agree with their definition, add up to predictions, and refuse bad input."""

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from explanation_cases import EXPLAINED, naive_values, responses, ridge_on
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_cases import KERNELS
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    BayesianMKLClassifier,
    BayesianMKLRegressor,
    KernelStackingClassifier,
    KernelStackingRegressor,
    MKLClassifier,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.inspection import shapley_values
from mercer.inspection._explanations import product_values
from mercer.kernels import Gaussian, Laplacian, Linear, OnColumns

pytestmark = pytest.mark.usefixtures("few_folds_throughout")


def naive(model: Any, rows: np.ndarray, background: np.ndarray, players: Any) -> np.ndarray:
    return np.stack([naive_values(model.predict, row, background, players) for row in rows])


SINGLE = [[0], [1], [2]]


@pytest.mark.parametrize("name", EXPLAINED)
def test_values_are_those_of_the_definition(name: str) -> None:
    X, Y = responses()
    model = ridge_on(KERNELS[name], X, Y)
    rows, background = X[:3] + 0.1, X[10:17]
    found = shapley_values(model, rows, background, n_permutations="all")
    expected = naive(model, rows, background, SINGLE)
    np.testing.assert_allclose(found.values, expected, atol=1e-10 * np.abs(expected).max())
    np.testing.assert_allclose(found.base_value, model.predict(background).mean(axis=0))
    assert not found.standard_errors.any()


def factors_of(case: str, n_players: int) -> tuple[np.ndarray, np.ndarray]:
    """Factors in the row less those on the background, and the latter."""
    rng = np.random.default_rng(3)
    shape = (n_players, 6, 5)
    if case == "signs":
        here, there = rng.normal(size=shape), rng.normal(size=shape)
    else:
        spread = {"alike": 0.1, "absent": 0.1, "unlike": 3.0, "vanishing": 1.0}[case]
        here, there = (np.exp(-spread * rng.gamma(0.5, 1.0, size=shape)) for _ in range(2))
    if case == "vanishing":
        here[:40:2, 0], there[1:40:2, 0] = 0.0, 0.0
        here[5, 1] = there[5, 1] = 0.0
    if case == "absent":
        there[:, 0] = 0.0
    return here - there, there


@pytest.mark.parametrize("case", ["alike", "absent", "unlike", "vanishing", "signs"])
def test_few_nodes_integrate_products_of_many_players(case: str) -> None:
    D, B = factors_of(case, 60)
    nodes, weights = np.polynomial.legendre.leggauss(30)
    expected = np.zeros_like(D)
    for t, weight in zip(0.5 * nodes + 0.5, 0.5 * weights, strict=True):
        factors = B + t * D
        for j in range(len(D)):
            expected[j] += weight * D[j] * np.delete(factors, j, axis=0).prod(axis=0)
    found = product_values._first_differences(D, B)
    largest = np.maximum(np.abs(B), np.abs(B + D)).prod(axis=0).max()
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-14 * largest)
    n_nodes = len(product_values._nodes(D, B, 59)[0])
    assert n_nodes < 20 if case == "alike" else 20 < n_nodes <= 30


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Laplacian(3.0)], ids=repr)
def test_groups_of_columns_are_players(kernel: Any) -> None:
    X, Y = responses(25, 8)
    model = ridge_on(kernel, X, Y)
    groups = {"pair": [7, 2], "three": [0, 1, 6]}
    found = shapley_values(model, X[:2], X[5:9], groups, n_permutations="all")
    assert found.feature_names == ["pair", "three", "x3", "x4", "x5"]
    expected = naive(model, X[:2], X[5:9], [[7, 2], [0, 1, 6], [3], [4], [5]])
    np.testing.assert_allclose(found.values, expected, atol=1e-10 * np.abs(expected).max())


def test_kernels_of_any_form_are_exact_on_the_columns_of_one_player() -> None:
    X, Y = responses(25, 4)
    kernel = OnColumns(Laplacian(2.0), [0, 1]) + OnColumns(Laplacian(1.0), [2, 3])
    model = ridge_on(kernel, X, Y)
    found = shapley_values(model, X[:2], X[5:9], [[0, 1], [2, 3]])
    assert found.feature_names == ["x0 + x1", "x2 + x3"]
    np.testing.assert_allclose(
        found.values, naive(model, X[:2], X[5:9], [[0, 1], [2, 3]]), atol=1e-11
    )
    assert not found.standard_errors.any()


class TestPermutations:
    X, Y = responses(40, 6)

    def test_errors_are_those_of_draws(self) -> None:
        model = ridge_on(Laplacian(2.0), self.X, self.Y)
        rows, background = self.X[:2], self.X[10:20]
        exact = shapley_values(model, rows, background, n_permutations="all")
        found = [
            shapley_values(model, rows, background, random_state=seed).of_output(output)
            for seed in range(60)
            for output in (0, 1)
        ]
        np.testing.assert_allclose(found[0].predictions, model.predict(rows)[:, 0], atol=1e-10)
        for output in (0, 1):
            drawn = found[output::2]
            errors = np.stack([one.values for one in drawn]) - exact.of_output(output).values
            stated = np.stack([one.standard_errors for one in drawn])
            assert 0.85 < np.sqrt(np.mean(errors**2) / np.mean(stated**2)) < 1.18
            ratios = np.sqrt(np.mean(errors**2, axis=0) / np.mean(stated**2, axis=0))
            assert 0.7 < ratios.min() < ratios.max() < 1.35

    def test_errors_of_sums_of_outputs(self) -> None:
        """Those of opposite outputs do not cancel, and those of equal ones do."""
        Y = np.column_stack([self.Y[:, :1], self.Y[:, :1]])
        found = shapley_values(ridge_on(Laplacian(2.0), self.X, Y), self.X[:2], self.X[10:20])
        logits = replace(found, scale="logit", output_names=["a", "b"])
        assert found.standard_errors.all()
        np.testing.assert_allclose(logits.of_output("a").standard_errors, 0.0, atol=1e-8)

    def test_subsets_of_few_columns_are_enumerated(self) -> None:
        model = ridge_on(OnColumns(Laplacian(2.0), [0, 3, 4, 5]), self.X, self.Y)
        found = shapley_values(model, self.X[:3], self.X[5:])
        exact = shapley_values(model, self.X[:3], self.X[5:], n_permutations="all")
        np.testing.assert_array_equal(found.values, exact.values)
        assert not found.standard_errors.any()

    def test_they_repeat_for_a_random_state(self) -> None:
        model = ridge_on(Laplacian(2.0), self.X, self.Y)
        first, again, other = (
            shapley_values(model, self.X[:2], random_state=seed).values for seed in (0, 0, 1)
        )
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.floats(0.2, 30.0))
def test_values_add_up_and_are_symmetric(seed: int, d: int, width: float) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, d)), rng.normal(size=20)
    X = np.column_stack([X, X[:, 0], rng.normal(size=20)])
    kernel = OnColumns(Gaussian(width), list(range(d + 1)))
    model = ridge_on(kernel, X, y)
    found = shapley_values(model, X[:4], X[4:12])
    size = np.abs(model.predict(X)).max()
    np.testing.assert_allclose(found.predictions, model.predict(X[:4]), atol=1e-9 * size)
    np.testing.assert_allclose(found.values[:, 0], found.values[:, d], atol=1e-9 * size)
    assert not found.values[:, d + 1].any()


def test_factors_that_underflow_divide_nothing() -> None:
    """Of two centers, one is so far in the first column that its factor is 1e-200."""
    X = np.array([[0.0, 0.0, 0.0], [np.sqrt(200.0 * np.log(10.0)), 0.3, 0.1], [0.1, 0.2, 0.2]])
    model = ridge_on(Gaussian(1.0), X, np.array([1.0, -1.0, 0.5]))
    rows, background = X[:1] + 1e-3, X[1:]
    found = shapley_values(model, rows, background)
    expected = naive(model, rows, background, SINGLE)[..., 0]
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    # All factors of a row far from all centers underflow.
    far = shapley_values(model, np.full((1, 3), 1e3), background)
    assert np.isfinite(far.values).all()
    np.testing.assert_allclose(far.predictions, model.predict(np.full((1, 3), 1e3)), atol=1e-12)


X_CANCER, Y_CANCER = load_breast_cancer(return_X_y=True)
X_CANCER = StandardScaler().fit_transform(X_CANCER)[:120, :5]
X_IRIS, Y_IRIS = load_iris(return_X_y=True)


def odds(model: Any, X: np.ndarray) -> np.ndarray:
    """Log-odds of the second of two classes, or logarithms of probabilities less their mean."""
    logs = np.log(model.predict_proba(X))
    return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs - logs.mean(axis=1)[:, None]


X_RESPONSE, Y_RESPONSE = responses(60, 4)
ESTIMATORS: dict[str, tuple[Any, ...]] = {
    "log-odds": (MKLClassifier(), X_CANCER, Y_CANCER[:120]),
    "two-stage": (TwoStageClassifier(UniformCombination([Gaussian(3.0)])), X_IRIS, Y_IRIS),
    "features": (TwoStageClassifier(approximation="nystroem", n_components=30), X_IRIS, Y_IRIS),
    "stack": (KernelStackingClassifier([Gaussian(3.0)]), X_IRIS, Y_IRIS),
    "one-stage": (MKLClassifier(loss="logistic"), X_IRIS, Y_IRIS),
    "latent mean": (BayesianMKLClassifier(), X_CANCER, Y_CANCER[:120]),
    "responses on features": (
        TwoStageRegressor(approximation="nystroem", n_components=20),
        X_RESPONSE,
        Y_RESPONSE,
    ),
    "stack of responses": (
        KernelStackingRegressor([Gaussian(2.0)], approximation="nystroem", n_components=20),
        X_RESPONSE,
        Y_RESPONSE,
    ),
    "Bayesian": (BayesianMKLRegressor([Gaussian(2.0), Linear()]), X_RESPONSE, Y_RESPONSE),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_contributions_add_up_on_the_scale_of_the_predictions(name: str) -> None:
    estimator, X, y = ESTIMATORS[name]
    model = estimator.fit(X, y)
    rows = X[::40] if X is X_IRIS else np.vstack([X[:4], 9.0 * X[:2]])
    found = shapley_values(model, rows, X[::15])
    scores = found.predictions
    if name == "latent mean":
        scale, names, expected = name, ["1"], model.predict_latent(rows)[0]
    elif hasattr(model, "predict_proba"):
        scale = "log-odds" if name == "log-odds" else "logit"
        names, expected = [str(label) for label in model.classes_], odds(model, rows)
        names = names[1:] if len(names) == 2 else names
        scores = scores if scores.ndim == 1 else scores - scores.mean(axis=1)[:, None]
    else:
        scale, names, expected = "response", [], model.predict(rows)
    assert (found.scale, found.output_names) == (scale, names)
    # Nearly equal kernels of large coefficients leave fewer digits on Nystroem features.
    np.testing.assert_allclose(scores, expected, atol=1e-8 if scale == "response" else 1e-9)


class TestBadInput:
    model = ridge_on(Gaussian(2.0), X_RESPONSE, Y_RESPONSE)

    def test_models(self) -> None:
        with pytest.raises(NotFittedError):
            shapley_values(TwoStageRegressor(), X_RESPONSE)
        for other, message in (
            (Ridge(), "Ridge cannot be explained: this takes a fitted"),
            (UniformCombination(), "UniformCombination predicts nothing"),
            (
                make_pipeline(PCA(2), TwoStageRegressor(UniformCombination())),
                "PCA is not known to handle each column by itself",
            ),
        ):
            with pytest.raises(TypeError, match=message):
                shapley_values(other.fit(X_RESPONSE, Y_RESPONSE), X_RESPONSE)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((X_RESPONSE[:, :3],), "X has 3 features, but"),
            ((X_RESPONSE, np.zeros((3, 5))), "X has 5 features, but"),
            ((np.full((1, 4), np.nan),), "contains NaN"),
            ((X_RESPONSE, np.full((2, 4), np.nan)), "contains NaN"),
            ((X_RESPONSE, X_RESPONSE[:1]), "background has 1 row; at least 2"),
            ((X_RESPONSE, 1), "background has 1 row; at least 2"),
            ((X_RESPONSE, 9, [[0, 1], [1, 2]]), "'x1' is in more than one place of groups"),
            ((X_RESPONSE, 9, [[0], [1], [2], [3], [0]]), "can be in one group only"),
            ((X_RESPONSE, 9, {"a": ["age"]}), "Column 'age' is absent"),
            ((X_RESPONSE, 9, [[7]]), "Column 7 is absent"),
            ((X_RESPONSE, 9, [[0], []]), "No column is chosen"),
        ],
    )
    def test_tables_and_groups(self, arguments: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            shapley_values(self.model, *arguments)

    @pytest.mark.parametrize(
        ("n_permutations", "message"),
        [
            (1, "n_permutations"),
            ("some", 'n_permutations must be a number, "auto" or "all"'),
            ("all", "subsets of at most 16 columns, and 17 are"),
        ],
    )
    def test_settings(self, n_permutations: Any, message: str) -> None:
        X, Y = responses(30, 17)
        model = ridge_on(Laplacian(2.0), X, Y)
        with pytest.raises(ValueError, match=message):
            shapley_values(model, X, n_permutations=n_permutations)


def test_shap_is_asked_for_by_name_where_it_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match="pip install shap"):
        shapley_values(TestBadInput.model, X_RESPONSE[:2]).to_shap()
