"""shap: sampled Shapley values of `predict` are those that mercer computes exactly."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from mercer import TwoStageRegressor
from mercer.inspection import shapley_values

shap = pytest.importorskip("shap", "0.46")
DISTRIBUTION = "shap"


def test_values_are_those_of_mercer(numbers, found):
    X, y = numbers
    model, background = TwoStageRegressor().fit(X, y), X[:50]
    own = shapley_values(model, X[:20], background=background)
    masker = shap.maskers.Independent(background, max_samples=50)
    sampled = shap.Explainer(model.predict, masker, seed=0)(X[:20])
    error = np.abs(own.values - sampled.values).max() / own.values.std()
    linear = RidgeCV().fit(X, y)
    control = shap.Explainer(linear.predict, masker, seed=0)(X[:20]).values
    exact = linear.coef_ * (X[:20] - background.mean(axis=0)).to_numpy()
    found(
        f"largest difference from mercer's values {error:.2f} of their standard deviation, "
        f"linear {np.abs(control - exact).max() / exact.std():.2f}"
    )
    assert error < 0.3
