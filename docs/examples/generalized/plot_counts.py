"""
Counts with an exposure
=======================

Events are counted over periods that differ from row to row. A Poisson regression on a kernel finds
their rate, however long each period was.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import PoissonRegressor

from mercer import KernelPoissonRegressor

# %%
# The rate of calls over a day has two peaks. Each row is a time of day, observed for a few minutes
# to three hours; many counts are zero because the time was short.
rng = np.random.default_rng(0)
n_rows = 200
day = rng.uniform(0.0, 24.0, n_rows)
hours = rng.uniform(0.1, 3.0, n_rows)


def rate(day):
    return (
        1.0 + 6.0 * np.exp(-(((day - 10.0) / 2.0) ** 2)) + 4.0 * np.exp(-(((day - 17) / 1.5) ** 2))
    )


calls = rng.poisson(hours * rate(day))
X = day[:, None]

# %%
# `exposure` is the length of time that each count covers, in `fit` and in `predict`. scikit-learn's
# `PoissonRegressor`, which is linear, takes the rates, weighted by the times.
model = KernelPoissonRegressor().fit(X, calls, exposure=hours)
linear = PoissonRegressor(alpha=0.0).fit(X, calls / hours, sample_weight=hours)
print(f"kernel {model.candidates_[0].description}, alpha {model.alpha_:.3g}")
print(
    f"left-out deviance {model.loo_deviance_:.2f}; D² {model.score(X, calls, exposure=hours):.2f}"
)
print(f"calls expected from 9 to 11: {model.predict([[10.0]], exposure=[2.0])[0]:.1f}")

# %%
# Without an exposure, `predict` returns rates.
times = np.linspace(0.0, 24.0, 300)
figure, ax = plt.subplots()
ax.scatter(day, calls / hours, s=40.0 * hours / 3.0, alpha=0.35, color="C6", label="calls / hours")
ax.plot(times, rate(times), color="C6", linestyle="--", label="true rate")
ax.plot(times, model.predict(times[:, None]), color="C0", label="KernelPoissonRegressor")
ax.plot(times, linear.predict(times[:, None]), color="C1", label="PoissonRegressor")
ax.set(
    title="A rate with two peaks, which no line fits",
    xlabel="Time of day (hours)",
    ylabel="Calls per hour",
    ylim=(0.0, 16.0),
)
ax.legend(loc="upper left")
plt.show()
