"""Stacks that are fitted to logarithms of responses, where a scorer prefers them."""

import re

import numpy as np
import pytest
from onnx_cases import compared
from sklearn.datasets import make_friedman1
from sklearn.metrics import mean_absolute_error

import mercer
from mercer import KernelStackingRegressor
from mercer._data.encoded_targets import encode_target
from mercer.inspection import shapley_values

MAE = "neg_mean_absolute_error"


def skewed(n: int, seed: int = 0, noise: float = 0.8) -> tuple[np.ndarray, np.ndarray]:
    X, f = make_friedman1(n, n_features=5, random_state=seed)
    return X, np.exp(0.2 * f + noise * np.random.default_rng(seed).normal(size=n))


@pytest.fixture(scope="module")
def logged() -> KernelStackingRegressor:
    X, y = skewed(200)
    return KernelStackingRegressor(scoring=MAE).fit(X, y)


def test_encodings_of_logarithms_are_inverted() -> None:
    y = np.array([[1.0, 5.0], [2.0, 7.0], [8.0, 1e-8]])
    target = encode_target(y, classification=False, logarithms=True)
    np.testing.assert_allclose(target.values.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(target.values.std(axis=0), 1.0)
    np.testing.assert_allclose(target.restored(target.values), y, rtol=1e-12)
    np.testing.assert_allclose(target.encoding.encode(y), target.values, atol=1e-12)


def test_a_scorer_of_absolute_errors_prefers_logarithms_of_skewed_responses(
    logged: KernelStackingRegressor,
) -> None:
    X, y = skewed(200)
    new, known = skewed(2000, 1)
    plain = KernelStackingRegressor().fit(X, y)
    errors = [mean_absolute_error(known, model.predict(new)) for model in (plain, logged)]
    assert errors[1] < 0.95 * errors[0]
    assert logged.log_response_
    assert not plain.log_response_
    ends = logged.predict_interval(new)
    assert (ends > 0.0).all()
    inside = np.mean((ends[:, 0] <= known) & (known <= ends[:, 1]))
    assert inside == pytest.approx(0.9, abs=0.05)


def test_left_out_predictions_have_the_score(logged: KernelStackingRegressor) -> None:
    _, y = skewed(200)
    found = -mean_absolute_error(y, logged.loo_predictions_)
    assert logged.loo_score_ == pytest.approx(found, rel=1e-12)


def test_squared_errors_are_of_predictions_with_the_mean_of_the_responses() -> None:
    X, y = skewed(200)
    model = KernelStackingRegressor(scoring="r2").fit(X, y)
    assert model.log_response_
    assert model._target.smearing > 1.0
    assert model.loo_predictions_.mean() == pytest.approx(y.mean(), rel=1e-9)


@pytest.mark.parametrize("scoring", [MAE, "r2"])
def test_additive_errors_and_nonpositive_responses_are_not_logged(scoring: str) -> None:
    X, f = make_friedman1(200, n_features=5, noise=1.0, random_state=0)
    assert f.min() > 0.0
    assert not KernelStackingRegressor(scoring=scoring).fit(X, f).log_response_
    y = skewed(200)[1]
    y[3] = 0.0
    assert not KernelStackingRegressor(scoring=scoring).fit(X, y).log_response_


def test_predictions_scale_with_the_responses(logged: KernelStackingRegressor) -> None:
    X, y = skewed(200)
    large = KernelStackingRegressor(scoring=MAE).fit(X, 1e8 * y)
    np.testing.assert_allclose(large.predict(X), 1e8 * logged.predict(X), rtol=1e-6)


def test_weights_groups_and_several_responses() -> None:
    X, y = skewed(120)
    Y = np.column_stack([y, 3.0 * y[::-1]])
    weights = np.r_[np.zeros(10), np.ones(110)]
    settings = {"scoring": "r2", "approximation": "exact"}
    model = KernelStackingRegressor(**settings)
    model.fit(X, Y, weights, groups=np.arange(120) // 2)
    assert model.predict(X).shape == model.loo_predictions_.shape == (120, 2)
    assert model.predict_interval(X).shape == (120, 2, 2)
    if model.log_response_:
        np.testing.assert_allclose(
            model.loo_predictions_[10:].mean(axis=0), Y[10:].mean(axis=0), rtol=1e-9
        )


def test_nystroem_features_of_logarithms() -> None:
    X, y = skewed(400)
    new, known = skewed(2000, 1)
    settings = {"approximation": "nystroem", "n_components": 60}
    plain, logged = (
        KernelStackingRegressor(scoring=scoring, **settings).fit(X, y) for scoring in (None, MAE)
    )
    assert logged.log_response_
    errors = [mean_absolute_error(known, model.predict(new)) for model in (plain, logged)]
    assert errors[1] < errors[0]


def test_explanations_are_of_the_logarithm(logged: KernelStackingRegressor) -> None:
    X, _ = skewed(200)
    expansion = logged.kernel_expansion()
    assert expansion.scale == "log response"
    found = shapley_values(logged, X[:4], background=X[:20])
    np.testing.assert_allclose(
        np.exp(found.values.sum(axis=1) + found.base_value), logged.predict(X[:4]), rtol=1e-6
    )
    assert "multiplies the prediction by" in found.in_words(0)[0]
    told = re.fullmatch(
        r"Prediction ([\d.,]+) EUR, average row ([\d.,]+) EUR", found.headline(0, unit="EUR")
    )
    assert told is not None
    numbers = [float(number.replace(",", "")) for number in told.groups()]
    expected = [logged.predict(X[:1])[0], np.exp(found.base_value)]
    np.testing.assert_allclose(numbers, expected, rtol=5e-3)


def test_far_rows_get_the_geometric_mean(logged: KernelStackingRegressor) -> None:
    _, y = skewed(200)
    far = np.full((1, 5), 1e6)
    assert logged.predict(far)[0] == pytest.approx(np.exp(np.log(y).mean()), rel=1e-9)


def test_files_onnx_and_compression_predict_responses(
    logged: KernelStackingRegressor, tmp_path
) -> None:
    X, _ = skewed(200)
    new = skewed(50, 2)[0]
    mercer.save(logged, tmp_path / "model.skops")
    loaded = mercer.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict(new), logged.predict(new))
    np.testing.assert_array_equal(loaded.predict_interval(new), logged.predict_interval(new))
    compared(logged, mercer.to_onnx(logged, X, dtype="float64"), new, 1e-9)
    small = mercer.compress(logged, X)
    differences = np.log(small.predict(new) / logged.predict(new))
    assert np.sqrt(np.mean(differences**2)) < 0.2
