"""model-diagnostics: the bias of a model by the values of a column."""

import numpy as np
from model_diagnostics.calibration import compute_bias


def test_bias(numbers, models, found):
    X, y = numbers
    biases = []
    for model in models:
        predicted = model.fit(X[:250], y[:250]).predict(X[250:])
        bias = compute_bias(y[250:], predicted, feature=X["bmi"][250:].to_numpy(), n_bins=5)
        biases.append(np.abs(bias["bias_mean"].to_numpy()).max() / np.std(y))
    found("largest bias {:.2f} standard deviations, linear {:.2f}".format(*biases))
    assert biases[0] < biases[1] + 0.2
