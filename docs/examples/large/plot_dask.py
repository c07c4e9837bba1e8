"""
A Dask array
============

The workers read a Dask array block by block, and send only small sums. The model equals one that is
fitted from memory.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from mercer import TwoStageRegressor

# %%
# Here, the workers are threads of this process. With a ``distributed.Client``, the same code runs
# on a cluster.
X, y = make_friedman1(6000, n_features=10, noise=1.0, random_state=0)
X_test, y_test = make_friedman1(1000, n_features=10, random_state=1)
lazy_X, lazy_y = da.from_array(X, chunks=(1000, 10)), da.from_array(y, chunks=1000)
settings = {"approximation": "nystroem", "n_components": 200}
from_dask = TwoStageRegressor(**settings).fit(lazy_X, lazy_y)
from_memory = TwoStageRegressor(**settings).fit(X, y)

# %%
# Predictions for a Dask array are a Dask array: nothing is computed until you ask for it.
lazy = from_dask.predict(da.from_array(X_test, chunks=(250, 10)))
print(lazy)
predicted, expected = np.asarray(lazy.compute()), from_memory.predict(X_test)
difference = np.abs(predicted - expected).max()
print(f"the largest difference from the model from memory is {difference:.1e}")

# %%
figure, axes = plt.subplots(1, 2, figsize=(9, 4.0))
for ax, other, color, title, label in (
    (axes[0], expected, "C0", "The same predictions", "Prediction of the model from memory"),
    (axes[1], y_test, "C2", "Close to the truth", "Response without noise"),
):
    ax.plot(other, predicted, ".", color=color, markersize=4)
    ax.axline((10, 10), slope=1, color="0.4", linewidth=1.0)
    ax.set(title=title, xlabel=label, ylabel="Prediction of the model from Dask", aspect="equal")
plt.show()
