"""Weights may have any unit: penalties are searched, and reported, in it."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import (
    KernelLogisticRegression,
    KernelOrdinalClassifier,
    KernelPoissonRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.kernels import Gaussian

N = 120
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
SIGNAL = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=N)
WEIGHTS = RNG.uniform(0.5, 1.5, size=N)
WEIGHTS /= WEIGHTS.mean()
COUNTS = RNG.poisson(np.exp(SIGNAL.clip(-2.0, 2.0)))
GRADES = np.digitize(SIGNAL, [-0.7, 0.7])
LABELS = (SIGNAL > 0.0).astype(int)
GIVEN = UniformCombination([Gaussian(1.0), Gaussian(4.0)])


@pytest.mark.parametrize("unit", [1e-8, 1e-4, 1e6])
@pytest.mark.parametrize(
    ("model", "y", "method"),
    [
        (TwoStageRegressor(), SIGNAL, "predict"),
        (TwoStageRegressor(GIVEN, cv=5), SIGNAL, "predict"),
        (TwoStageClassifier(), LABELS, "decision_function"),
        (TwoStageClassifier(GIVEN), GRADES, "decision_function"),
        (KernelLogisticRegression(), LABELS, "predict_proba"),
        (KernelOrdinalClassifier(), GRADES, "predict_proba"),
        (KernelPoissonRegressor(), COUNTS, "predict"),
    ],
)
def test_penalties_are_chosen_in_the_unit_of_the_weights(
    model: Any, y: np.ndarray, method: str, unit: float
) -> None:
    def fitted(weights: np.ndarray) -> tuple[np.ndarray, float]:
        model.fit(X, y, sample_weight=weights)
        penalty = 1.0 / model.C_ if hasattr(model, "C_") else model.alpha_
        return getattr(model, method)(X[:20]), penalty

    expected, penalty = fitted(WEIGHTS)
    found, in_units = fitted(unit * WEIGHTS)
    assert_allclose(found, expected, atol=1e-5)
    assert_allclose(in_units, unit * penalty)


@pytest.mark.filterwarnings("ignore:The best .* lies on the edge")
@pytest.mark.parametrize("unit", [1e-8, 1e6])
@pytest.mark.parametrize(
    ("model", "name", "y"),
    [
        (TwoStageRegressor(GIVEN), "alpha", SIGNAL),
        (TwoStageClassifier(GIVEN), "C", LABELS),
        (KernelLogisticRegression([Gaussian(2.0)]), "alpha", LABELS),
    ],
)
def test_given_penalties_are_in_the_unit_of_the_weights(
    model: Any, name: str, y: np.ndarray, unit: float
) -> None:
    factor = 1.0 / unit if name == "C" else unit
    for values in (0.5, [0.1, 0.5, 2.5]):
        own = model.set_params(**{name: values}).fit(X, y, sample_weight=WEIGHTS)
        expected, penalty = own.predict(X), getattr(own, f"{name}_")
        own.set_params(**{name: np.multiply(factor, values)})
        own.fit(X, y, sample_weight=unit * WEIGHTS)
        assert_allclose(own.predict(X), expected, atol=1e-6)
        assert_allclose(getattr(own, f"{name}_"), factor * penalty)
        if hasattr(own, "cv_results_"):
            tried = np.sort(own.cv_results_[f"param_{name}"])
            assert_allclose(tried, np.multiply(factor, values))


def test_warnings_name_penalties_in_the_unit_of_the_weights() -> None:
    with pytest.warns(UserWarning, match=r"The best alpha, 1e-09, .* 1e-09 to 2.5e-08"):
        TwoStageRegressor(GIVEN, alpha=[1e-9, 5e-9, 2.5e-8]).fit(X, SIGNAL, 1e-8 * WEIGHTS)
