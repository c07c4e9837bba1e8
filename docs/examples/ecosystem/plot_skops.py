"""
A model on disk with skops
==========================

Pickles run code when they are loaded. Files of skops do not: you can list their types before
anything is loaded. Every fitted estimator of mercer survives the round trip unchanged.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import skops.io
from sklearn.datasets import load_diabetes

from mercer import BayesianMKLRegressor
from mercer.kernels import Gaussian, Linear

# %%
X, y = load_diabetes(return_X_y=True)
bmi = X[:, [2]]
model = BayesianMKLRegressor([Gaussian(0.05), Gaussian(0.2), Linear()]).fit(bmi[:300], y[:300])
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "model.skops"
    skops.io.dump(model, file)
    types = skops.io.get_untrusted_types(file=file)
    loaded = skops.io.load(file, trusted=types)
    print(f"{file.stat().st_size / 1e3:.0f} kB; types to confirm:", *types, sep="\n")

# %%
# The loaded model predicts the same means and standard deviations.
x = np.linspace(bmi.min(), bmi.max(), 200)[:, None]
mean, std = loaded.predict(x, return_std=True)
print(np.array_equal(mean, model.predict(x)))
figure, ax = plt.subplots()
ax.plot(bmi[300:], y[300:], ".", color="0.5", label="new patients")
ax.fill_between(x[:, 0], mean - 2 * std, mean + 2 * std, alpha=0.25, label="two deviations")
ax.plot(x, mean, label="mean of the loaded model")
ax.set(
    title="Predictions of a model that was saved and loaded",
    xlabel="Body mass index (standardized)",
    ylabel="Disease progression",
)
ax.legend(loc="upper left")
plt.show()
