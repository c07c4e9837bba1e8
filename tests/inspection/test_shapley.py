"""Shapley values agree with their definition, add up to predictions, and refuse bad input."""

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from campaign import in_campaign
from explanation_cases import coalition_value, naive_values, responses, ridge_on
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
    ContinuousMKLClassifier,
    KernelStackingClassifier,
    KernelStackingRegressor,
    MKLClassifier,
    MKLRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.inspection import shapley_values
from mercer.kernels import Gaussian, Laplacian, Linear, OnColumns, Polynomial

pytestmark = pytest.mark.usefixtures("few_folds_throughout")


def naive(model: Any, rows: np.ndarray, background: np.ndarray, players: Any) -> np.ndarray:
    return np.stack([naive_values(model.predict, row, background, players) for row in rows])


SINGLE = [[0], [1], [2]]


@pytest.mark.parametrize("name", KERNELS)
def test_values_are_those_of_the_definition(name: str) -> None:
    X, Y = responses()
    model = ridge_on(KERNELS[name], X, Y)
    rows, background = X[:3] + 0.1, X[10:17]
    found = shapley_values(model, rows, background, n_permutations="all")
    expected = naive(model, rows, background, SINGLE)
    np.testing.assert_allclose(found.values, expected, atol=1e-10 * np.abs(expected).max())
    np.testing.assert_allclose(found.base_value, model.predict(background).mean(axis=0))
    assert not found.standard_errors.any()


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(2.0), Laplacian(3.0), *in_campaign(Polynomial(3), Laplacian(3.0, norm=1.0))],
    ids=repr,
)
def test_ten_columns_and_groups_of_them(kernel: Any) -> None:
    X, Y = responses(25, 10)
    model = ridge_on(kernel, X, Y)
    groups = {"pair": [7, 2], "three": [0, 1, 9]}
    players = [[7, 2], [0, 1, 9], [3], [4], [5], [6], [8]]
    found = shapley_values(model, X[:2], X[5:9], groups, n_permutations="all")
    assert found.feature_names == ["pair", "three", "x3", "x4", "x5", "x6", "x8"]
    expected = naive(model, X[:2], X[5:9], players)
    np.testing.assert_allclose(found.values, expected, atol=1e-10 * np.abs(expected).max())
    alone = shapley_values(model, X[:1], X[5:8], n_permutations="all")
    expected = naive(model, X[:1], X[5:8], [[z] for z in range(10)])
    np.testing.assert_allclose(alone.values, expected, atol=1e-10 * np.abs(expected).max())


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

    def test_more_permutations_err_less(self) -> None:
        X, Y = responses(40, 12)
        model = ridge_on(Laplacian(3.0), X, Y)
        few, many = (
            shapley_values(model, X[:1], X[10:20], n_permutations=n).standard_errors.mean()
            for n in (2, 50)
        )
        assert 4.0 < few / many < 6.0

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

    def test_columns_that_the_kernel_ignores_have_nothing(self) -> None:
        model = ridge_on(OnColumns(Laplacian(2.0), [0, 1, 2, 3, 4]), self.X, self.Y)
        found = shapley_values(model, self.X[:3], self.X[5:])
        assert not found.values[:, 5].any()
        assert not found.standard_errors[:, 5].any()
        assert found.standard_errors[:, :5].all()


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


def test_a_thousand_rows_add_up() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 8)), rng.normal(size=60)
    model = ridge_on(Gaussian(3.0), X, y)
    rows = rng.normal(size=(1000, 8))
    found = shapley_values(model, rows, 10)
    np.testing.assert_allclose(found.predictions, model.predict(rows), atol=1e-9)


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


def test_null_columns_of_a_learned_model_have_little() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    model = ridge_on(Gaussian(2.0), X, 3.0 * X[:, 0])
    found = np.abs(shapley_values(model, X[:50]).values).mean(axis=0)
    assert found[0] > 20.0 * found[1:].max()


X_CANCER, Y_CANCER = load_breast_cancer(return_X_y=True)
X_CANCER = StandardScaler().fit_transform(X_CANCER)[:120, :5]
X_IRIS, Y_IRIS = load_iris(return_X_y=True)


def odds(model: Any, X: np.ndarray) -> np.ndarray:
    """Log-odds of the second of two classes, or logarithms of probabilities less their mean."""
    logs = np.log(model.predict_proba(X))
    return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs - logs.mean(axis=1)[:, None]


TWO_CLASSES = [
    TwoStageClassifier(UniformCombination([Gaussian(3.0)])),
    TwoStageClassifier(approximation="nystroem", n_components=30),
    KernelStackingClassifier(),
    KernelStackingClassifier(approximation="nystroem", n_components=30),
    MKLClassifier(),
    MKLClassifier(loss="logistic"),
    ContinuousMKLClassifier(),
]


@pytest.mark.parametrize("estimator", TWO_CLASSES, ids=lambda e: type(e).__name__)
def test_log_odds_of_two_classes(estimator: Any) -> None:
    model = estimator.fit(X_CANCER, Y_CANCER[:120])
    rows = np.vstack([X_CANCER[:4], 9.0 * X_CANCER[:2]])
    found = shapley_values(model, rows, X_CANCER[:10])
    assert (found.scale, found.output_names, found.values.ndim) == ("log-odds", ["1"], 2)
    np.testing.assert_allclose(found.predictions, odds(model, rows), atol=1e-9)


@pytest.mark.parametrize("estimator", TWO_CLASSES, ids=lambda e: type(e).__name__)
def test_scores_of_three_classes(estimator: Any) -> None:
    model = estimator.fit(X_IRIS, Y_IRIS)
    found = shapley_values(model, X_IRIS[::40], X_IRIS[::15])
    assert (found.scale, found.output_names) == ("logit", ["0", "1", "2"])
    scores = found.predictions
    expected = odds(model, X_IRIS[::40])
    np.testing.assert_allclose(scores - scores.mean(axis=1)[:, None], expected, atol=1e-9)


X_RESPONSE, Y_RESPONSE = responses(60, 4)
REGRESSORS = [
    TwoStageRegressor(),
    TwoStageRegressor(approximation="nystroem", n_components=20),
    KernelStackingRegressor(),
    KernelStackingRegressor(approximation="nystroem", n_components=20),
    MKLRegressor(),
    BayesianMKLRegressor(),
]


@pytest.mark.parametrize("estimator", REGRESSORS, ids=lambda e: type(e).__name__)
def test_responses(estimator: Any) -> None:
    model = estimator.fit(X_RESPONSE, Y_RESPONSE)
    rows = np.vstack([X_RESPONSE[:4], 9.0 * X_RESPONSE[:2]])
    found = shapley_values(model, rows, X_RESPONSE[:10])
    assert (found.scale, found.output_names) == ("response", [])
    # Nearly equal kernels of large coefficients leave fewer digits on Nystroem features.
    np.testing.assert_allclose(found.predictions, model.predict(rows), atol=1e-8)


def test_stacks_say_what_they_add_far_from_the_training_rows() -> None:
    model = KernelStackingRegressor().fit(X_RESPONSE, Y_RESPONSE)
    near, far = shapley_values(model, X_RESPONSE[:4]), shapley_values(model, 9.0 * X_RESPONSE[:4])
    assert not near.shrinkage.any()
    assert far.shrinkage.any()


def test_the_latent_mean_of_bayesian_classifiers() -> None:
    model = BayesianMKLClassifier().fit(X_CANCER, Y_CANCER[:120])
    found = shapley_values(model, X_CANCER[:5], 20)
    assert found.scale == "latent mean"
    expected = model.predict_latent(X_CANCER[:5])[0]
    np.testing.assert_allclose(found.predictions, expected, atol=1e-9)


def test_predictors_of_other_packages_are_functions() -> None:
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.svm import SVC, NuSVC

    learner = UniformCombination([Gaussian(2.0)])
    ridge = TwoStageRegressor(learner, predictor=KernelRidge(kernel="precomputed"))
    found = shapley_values(ridge.fit(X_RESPONSE, Y_RESPONSE), X_RESPONSE[:3])
    np.testing.assert_allclose(found.predictions, ridge.predict(X_RESPONSE[:3]), atol=1e-10)
    for predictor in (SVC(kernel="precomputed"), NuSVC(nu=0.2, kernel="precomputed")):
        model = TwoStageClassifier(learner, predictor=predictor)
        for X, y in ((X_CANCER, Y_CANCER[:120]), (X_IRIS, Y_IRIS)):
            scores = shapley_values(model.fit(X, y), X[:3])
            assert scores.scale == "decision value"
            expected = model.decision_function(X[:3])
            np.testing.assert_allclose(scores.predictions, expected, atol=1e-10)


def ridge_on_default() -> Any:
    return TwoStageRegressor(UniformCombination([Gaussian(2.0), Linear()]), alpha=0.1)


def test_single_precision_is_read() -> None:
    X = X_RESPONSE.astype(np.float32)
    model = ridge_on(Gaussian(2.0), X, Y_RESPONSE)
    found = shapley_values(model, X[:3], X[5:10])
    expected = np.stack([coalition_value(model.predict, row, X[5:10], range(4)) for row in X[:3]])
    np.testing.assert_allclose(found.predictions, expected, atol=1e-4)


class TestBadInput:
    model = ridge_on(Gaussian(2.0), X_RESPONSE, Y_RESPONSE)

    def test_models(self) -> None:
        with pytest.raises(NotFittedError):
            shapley_values(TwoStageRegressor(), X_RESPONSE)
        with pytest.raises(TypeError, match="Ridge cannot be explained: this takes a fitted"):
            shapley_values(Ridge().fit(X_RESPONSE, Y_RESPONSE), X_RESPONSE)
        learner = UniformCombination().fit(X_RESPONSE, Y_RESPONSE)
        with pytest.raises(TypeError, match="UniformCombination predicts nothing"):
            shapley_values(learner, X_RESPONSE)
        mixing = make_pipeline(PCA(2), ridge_on_default()).fit(X_RESPONSE, Y_RESPONSE)
        with pytest.raises(TypeError, match="PCA is not known to handle each column by itself"):
            shapley_values(mixing, X_RESPONSE)

    def test_tables(self) -> None:
        with pytest.raises(ValueError, match="X has 3 features, but"):
            shapley_values(self.model, X_RESPONSE[:, :3])
        with pytest.raises(ValueError, match="X has 5 features, but"):
            shapley_values(self.model, X_RESPONSE, np.zeros((3, 5)))
        missing = X_RESPONSE.copy()
        missing[3, 1] = np.nan
        with pytest.raises(ValueError, match="contains NaN"):
            shapley_values(self.model, missing)
        with pytest.raises(ValueError, match="contains NaN"):
            shapley_values(self.model, X_RESPONSE, missing)
        for background in (X_RESPONSE[:1], 1):
            with pytest.raises(ValueError, match="background has 1 row; at least 2"):
                shapley_values(self.model, X_RESPONSE, background)

    def test_columns_of_another_name(self) -> None:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(X_RESPONSE, columns=list("abcd"))
        model = ridge_on(Gaussian(2.0), frame, Y_RESPONSE)
        with pytest.raises(ValueError, match="feature names"):
            shapley_values(model, frame.rename(columns={"a": "z"}))

    def test_groups(self) -> None:
        with pytest.raises(ValueError, match="'x1' is in more than one place of groups"):
            shapley_values(self.model, X_RESPONSE, groups=[[0, 1], [1, 2]])
        with pytest.raises(ValueError, match="a table of 4 columns has at most as many"):
            shapley_values(self.model, X_RESPONSE, groups=[[0], [1], [2], [3], [0]])
        with pytest.raises(ValueError, match="Column 'age' is absent"):
            shapley_values(self.model, X_RESPONSE, groups={"a": ["age"]})
        with pytest.raises(ValueError, match="Column 7 is absent"):
            shapley_values(self.model, X_RESPONSE, groups=[[7]])
        with pytest.raises(ValueError, match="No column is chosen"):
            shapley_values(self.model, X_RESPONSE, groups=[[0], []])

    def test_settings(self) -> None:
        with pytest.raises(ValueError, match="n_permutations"):
            shapley_values(self.model, X_RESPONSE, n_permutations=1)
        with pytest.raises(ValueError, match='n_permutations must be a number or "all"'):
            shapley_values(self.model, X_RESPONSE, n_permutations="some")  # type: ignore[arg-type]
        X, Y = responses(30, 17)
        model = ridge_on(Laplacian(2.0), X, Y)
        with pytest.raises(ValueError, match="subsets of at most 16 columns, and 17 are"):
            shapley_values(model, X, n_permutations="all")


def test_shap_is_asked_for_by_name_where_it_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match="pip install shap"):
        shapley_values(TestBadInput.model, X_RESPONSE[:2]).to_shap()
