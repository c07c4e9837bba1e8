"""
Prediction intervals from a table
=================================

A prediction without an interval leaves open how wrong it can be. The stack of kernels computes
intervals from leave-one-out residuals (the jackknife+), and assumes no distribution of the noise.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from mercer import KernelStackingRegressor

# %%
# The table describes 442 patients by ten columns; the response is the progression of their disease
# after one year. There is nothing to set.
X, y = load_diabetes(return_X_y=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
model = KernelStackingRegressor().fit(X_train, y_train)
print(f"R² of the test set {model.score(X_test, y_test):.2f}, estimated {model.loo_score_:.2f}")

# %%
# Both scores are uncertain because the table is small. An interval of coverage 0.9 should hold nine
# in ten of the new responses.
predicted = model.predict(X_test)
low, high = model.predict_interval(X_test, coverage=0.9).T
inside = (low <= y_test) & (y_test <= high)
print(f"{inside.mean():.0%} of the test responses are in their intervals")

# %%
# Patients are in the order of their predictions; responses outside of their intervals are marked.
order = np.argsort(predicted)
rank = np.arange(order.size)
figure, ax = plt.subplots()
ax.fill_between(rank, low[order], high[order], color="C4", alpha=0.35, label="interval, 90 %")
ax.plot(rank, predicted[order], color="C0", label="prediction")
for hit, marker, label in ((True, ".", "response inside"), (False, "x", "response outside")):
    shown = inside[order] == hit
    color = "C6" if hit else "C1"
    ax.plot(rank[shown], y_test[order][shown], marker, color=color, label=label)
ax.set(
    title=f"{inside.mean():.0%} of the responses are in their intervals of 90 %",
    xlabel="Patients of the test set, by prediction",
    ylabel="Disease progression",
)
ax.legend(ncols=2, loc="upper left")
plt.show()
