"""
Two columns that act together, compared with the truth
======================================================

Shapley values measure what each column contributes to a prediction, and interactions what two
columns do together. On a known function, both can be compared with the truth.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import TwoStageRegressor
from mercer.inspection import (
    partial_dependence_display,
    shapley_interactions,
    shapley_values,
    sobol_indices,
)

# %%
# The response is 3 x₀ + 4 x₁ x₂ plus noise; a fourth column has no influence. All columns are
# uniform on an interval of length two, have a mean of zero, and are independent of each other.
random = np.random.default_rng(0)
X = random.uniform(-1.0, 1.0, size=(500, 4))
X -= X.mean(axis=0)
y = 3.0 * X[:, 0] + 4.0 * X[:, 1] * X[:, 2] + random.normal(0.0, 0.5, 500)
model = TwoStageRegressor().fit(X, y)

# %%
# The true contributions to a row are 3 x₀, 2 x₁ x₂ and 2 x₁ x₂, because a product is divided
# between both of its columns. The columns x₁ and x₂ interact by 4 x₁ x₂.
rows = random.uniform(-0.9, 0.9, size=(200, 4))
product = rows[:, 1] * rows[:, 2]
truth = np.column_stack([3.0 * rows[:, 0], 2.0 * product, 2.0 * product, np.zeros(200)])
found = shapley_values(model, rows, X)
pairs = shapley_interactions(model, rows, X, independent=True)
print("root mean squared error of contributions", (found.values - truth).std(axis=0).round(2))
print("strongest pairs", pairs.strongest(2))

# %%
# The variance of the function is 9/3 + 16/9. x₀ alone explains 0.63 of it. x₁ and x₂ together
# explain the other 0.37, and neither of them explains anything alone.
shares = sobol_indices(model, X)
print("alone", shares.first_order.round(2), "x₁ and x₂", round(shares.second_order[1, 2], 2))

# %%
# Left and middle: what is found, against the truth. Right: the mean prediction by x₁ and x₂; a
# curve over x₁ alone would be flat.
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.4), width_ratios=[1.0, 1.0, 1.2])
for name, column in (("x₀", 0), ("x₁", 1), ("x₃, no influence", 3)):
    axes[0].plot(truth[:, column], found.values[:, column], ".", label=name)
axes[0].set(xlabel="True contribution", ylabel="Contribution found", title="Shapley values")
axes[1].plot(4.0 * product, pairs.values[:, 1, 2], ".", label="x₁ and x₂")
axes[1].plot(np.zeros(200), pairs.values[:, 0, 1], ".", label="x₀ and x₁")
axes[1].set(xlabel="True interaction", ylabel="Interaction found", title="Pairs")
for ax, end in zip(axes, (3.0, 4.0), strict=False):
    ax.axline((0.0, 0.0), slope=1.0, color="0.7", linewidth=1.0, zorder=0.5)
    ax.set(xlim=(-end, end), ylim=(-end, end))
    ax.legend()
partial_dependence_display(model, X, (1, 2)).plot(ax=axes[2:])
axes[2].set_title("Mean prediction")
plt.show()
