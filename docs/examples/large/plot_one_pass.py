"""
Many rows in one pass
=====================

An exact kernel method compares all pairs of rows. On Nyström features, an approximation, the fit is
one pass over the rows: its time grows in proportion to them, and its memory does not grow.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from mercer import TwoStageRegressor

# %%
X_test, y_test = make_friedman1(1000, n_features=10, random_state=1)
settings = {
    "exact": {"approximation": "exact"},
    "Nyström, 500 centers": {"approximation": "nystroem", "n_components": 500},
}
sizes = {"exact": [250, 500, 1000, 2000], "Nyström, 500 centers": [1000, 4000, 16000]}
seconds = {name: [] for name in settings}
errors = {name: [] for name in settings}
for name, chosen in settings.items():
    for n in sizes[name]:
        X, y = make_friedman1(n, n_features=10, noise=1.0, random_state=0)
        start = perf_counter()
        model = TwoStageRegressor(**chosen).fit(X, y)
        seconds[name].append(perf_counter() - start)
        errors[name].append(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)))
        print(f"{name}, {n} rows: {seconds[name][-1]:.1f} s, error {errors[name][-1]:.2f}")

# %%
# The error is relative to the noiseless response of new rows. Times were measured on the machine
# that built this page; for few rows, learning the kernel takes most of the time.
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True)
for name, color in zip(settings, ("C1", "C0"), strict=True):
    axes[0].plot(sizes[name], errors[name], "o-", color=color, label=name)
    axes[1].plot(sizes[name], seconds[name], "o-", color=color, label=name)
axes[0].set(title="Error", ylabel="Root mean squared error", ylim=(0, None))
axes[1].set(title="Time of the fit", ylabel="Seconds", yscale="log")
for ax in axes:
    ax.set(xscale="log", xlabel="Rows of the table")
axes[0].legend()
plt.show()
