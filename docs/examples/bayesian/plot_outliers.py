"""
Regression with outliers
========================

One response in ten is wrong. A model with Gaussian noise follows the wrong responses, or learns
that the noise is large. With Laplace noise, they have little influence.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import BayesianMKLRegressor
from mercer.kernels import Gaussian

# %%
random = np.random.default_rng(1)
X = np.sort(random.uniform(0.0, 10.0, 80))[:, None]
truth = np.sin(X[:, 0]) + 0.2 * X[:, 0]
y = truth + random.normal(0.0, 0.1, 80)
wrong = random.random(80) < 0.12
y[wrong] += random.normal(0.0, 3.0, wrong.sum())

# %%
# Both models learn the weights of kernels of several widths, and the noise, from the same
# responses.
kernels = [Gaussian(width) for width in (0.5, 1.0, 2.0, 4.0, 8.0)]
models = {
    "Gaussian noise": BayesianMKLRegressor(kernels),
    "Laplace noise": BayesianMKLRegressor(kernels, likelihood="laplace", objective="vb"),
}
x = np.linspace(0.0, 10.0, 300)[:, None]
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
for ax, (name, model), color in zip(axes, models.items(), ("C1", "C0"), strict=True):
    mean, std = model.fit(X, y).predict(x, return_std=True)
    error = np.sqrt(np.mean((mean - np.sin(x[:, 0]) - 0.2 * x[:, 0]) ** 2))
    ax.fill_between(x[:, 0], mean - 2 * std, mean + 2 * std, color=color, alpha=0.2)
    ax.plot(x, mean, color=color, label="learned, with two standard deviations")
    ax.plot(x, np.sin(x) + 0.2 * x, "--", color="0.3", label="truth")
    ax.plot(X[~wrong], y[~wrong], ".", color="0.5")
    ax.plot(X[wrong], y[wrong], "x", color="C3", label="wrong responses")
    ax.set(title=f"{name}: error {error:.2f}", xlabel="Input", ylim=(-5, 7))
    print(f"{name}: root mean squared error {error:.3f}")
axes[0].set_ylabel("Response")
axes[1].legend(loc="lower right", fontsize=8)
plt.show()
