"""LIME: the columns of a prediction."""

import numpy as np
from lime.lime_tabular import LimeTabularExplainer


def test_columns_of_a_prediction(numbers, models, found):
    X, y = numbers[0].to_numpy(), numbers[1]
    shares = []
    for model in models:
        explainer = LimeTabularExplainer(X, mode="regression", random_state=0)
        predict = model.fit(X, y).predict
        parts = [dict(explainer.explain_instance(one, predict).local_exp[0]) for one in X[:5]]
        weights = np.mean([[abs(one.get(i, 0.0)) for i in range(X.shape[1])] for one in parts], 0)
        shares.append(weights[[2, 8]].sum() / weights.sum())
    found("bmi and s5 have {:.2f} of the weights, linear {:.2f}".format(*shares))
    assert shares[0] > 0.25
