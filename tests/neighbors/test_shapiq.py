"""shapiq: values of order one sum to the prediction."""

import numpy as np
import shapiq


def test_values_and_interactions_sum_to_the_prediction(numbers, models, found):
    X, y = numbers
    settings = {"index": "k-SII", "max_order": 2, "random_state": 0}
    gaps = []
    for model in models:
        predict = model.fit(X, y).predict
        explainer = shapiq.TabularExplainer(model=predict, data=X.to_numpy()[:50], **settings)
        values = explainer.explain(X.to_numpy()[100], budget=512)
        gaps.append(abs(values.values.sum() - predict(X[100:101])[0]))
    found("the sum differs from the prediction by {:.0e}, linear {:.0e}".format(*gaps))
    assert gaps[0] < 1e-6 * np.std(y)
