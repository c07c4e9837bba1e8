"""shapiq: values of order one sum to the prediction."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from mercer import TwoStageRegressor

shapiq = pytest.importorskip("shapiq")
DISTRIBUTION = "shapiq"


def test_values_and_interactions_sum_to_the_prediction(numbers, found):
    X, y = numbers
    gaps = []
    for model in (TwoStageRegressor().fit(X, y), RidgeCV().fit(X, y)):
        explainer = shapiq.TabularExplainer(
            model=model.predict, data=X.to_numpy()[:50], index="k-SII", max_order=2, random_state=0
        )
        values = explainer.explain(X.to_numpy()[100], budget=512)
        gaps.append(abs(values.values.sum() - model.predict(X[100:101])[0]))
    found("the sum differs from the prediction by {:.0e}, linear {:.0e}".format(*gaps))
    assert gaps[0] < 1e-6 * np.std(y)
