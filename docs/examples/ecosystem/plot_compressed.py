"""
A model in the fewest centers
=============================

A kernel machine predicts by its training rows. `compress` fits its function at few centers, which
are means of rows, and says beforehand by how much the error grows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.metrics import root_mean_squared_error

from mercer import TwoStageRegressor, compress

# %%
# The model is fitted to 800 rows. Others say where it will be used, and what is lost.
X, y = make_friedman1(3800, n_features=5, noise=1.0, random_state=0)
train, others, test = slice(0, 800), slice(800, 2800), slice(2800, None)
model = TwoStageRegressor().fit(X[train], y[train])
error = root_mean_squared_error(y[test], model.predict(X[test]))
print(f"{model.kernel_.describe()}; error {error:.3f}")

# %%
# The growth is stated by the responses of these rows, and measured once more on the test rows.
numbers = [10, 20, 40, 80, 160, 320]
models = [compress(model, X[others], y[others], n_components=number) for number in numbers]
stated = [small.loss_.measured_growth for small in models]
measured = [
    root_mean_squared_error(y[test], small.predict(X[test])) / error - 1.0 for small in models
]

# %%
# Without a number, centers are added until the growth with its standard error is at most 1 %.
small = compress(model, X[others], y[others])
print(f"{len(small.rows_per_center_)} centers: {small.loss_}")
figure, ax = plt.subplots()
ax.plot(numbers, 100.0 * np.array(stated), "o-", label="stated beforehand")
ax.plot(numbers, 100.0 * np.array(measured), "s--", label="measured on test rows")
ax.axhline(1.0, color="0.5", linewidth=1.0, label="1 %")
ax.set(
    xscale="log",
    yscale="symlog",
    title="Few centers predict what 800 rows do",
    xlabel="Number of centers",
    ylabel="Growth of the error (%)",
    xticks=numbers,
    xticklabels=numbers,
    ylim=(-0.5, 300.0),
    yticks=[0, 1, 10, 100],
    yticklabels=[0, 1, 10, 100],
)
ax.minorticks_off()
ax.legend()
plt.show()
