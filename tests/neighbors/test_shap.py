"""shap: sampled Shapley values of `predict` are those that mercer computes exactly."""

import numpy as np
import shap

from mercer.inspection import shapley_values


def test_values_are_those_of_mercer(numbers, models, found):
    X, y = numbers
    model, linear = (one.fit(X, y) for one in models)
    background, rows = X[:50], X[:20]
    masker = shap.maskers.Independent(background, max_samples=50)
    exact = (
        shapley_values(model, rows, background=background).values,
        linear.coef_ * (rows - background.mean()).to_numpy(),
    )
    errors = [
        np.abs(shap.Explainer(one.predict, masker, seed=0)(rows).values - own).max() / own.std()
        for one, own in zip((model, linear), exact, strict=True)
    ]
    told = (
        "largest difference from mercer's values {:.2f} of their standard deviation, linear {:.2f}"
    )
    found(told.format(*errors))
    assert errors[0] < 0.3
