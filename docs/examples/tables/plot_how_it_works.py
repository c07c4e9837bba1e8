"""
How it works, in six pictures
=============================

From a table to a prediction with an interval, step by step: views of the columns, candidate
kernels, left-out errors, weights, intervals, and sums over blocks of rows for large tables. Each
step is a few lines with public names, which you can run on your own table.
"""

from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelStackingRegressor
from mercer.kernels import Gaussian
from mercer.preprocessing import SoftClippingScaler

# %%
# The table has a column with a heavy tail, a uniform column, and one that does not matter.
rng = np.random.default_rng(0)
names = ["income", "age", "noise"]
X = np.column_stack([rng.lognormal(0.0, 1.2, 400), rng.uniform(20, 70, 400), rng.normal(size=400)])
y = np.log(X[:, 0]) + np.sin(X[:, 1] / 3.0) + (0.1 + 0.5 * (X[:, 1] > 45)) * rng.normal(size=400)
train, test = slice(0, 300), slice(300, None)

# %%
# **1. Views.** Distances need comparable columns. One view scales each column and clips heavy tails
# softly; another takes the normal quantiles of its ranks. Kernels of a single width are tried on
# both.
scaled = SoftClippingScaler().fit_transform(X)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.2))
axes[0].hist(X[:, 0], bins=40, color="C0")
axes[0].set(title="A column as it is", xlabel="income", ylabel="Rows")
axes[1].hist(scaled[:, 0], bins=40, color="C1")
axes[1].set(title="Its scaled view", xlabel="Deviations, clipped softly", ylabel="Rows")

# %%
# **2. Candidates.** A kernel measures how alike two rows are. To a wide kernel all rows are one
# cluster; to a narrow one only twins are alike. Learned relevance ignores columns that do not
# matter.
order = np.argsort(y[train])
figure, axes = plt.subplots(1, 3, figsize=(9, 3.7), sharey=True)
for ax, width in zip(axes, (0.5, 2.0, 8.0), strict=True):
    ax.imshow(Gaussian(width)(scaled[train][order]), cmap="viridis", vmin=0, vmax=1)
    ax.set(title=f"Bandwidth {width:g}", xlabel="Rows in order of y")
axes[0].set(ylabel="Rows in order of y")

# %%
# **3. Left-out errors.** How well would each row be predicted by a fit without it? For ridge
# regression on a kernel, this has a closed form, so all widths and penalties are compared without a
# single refit.
widths = np.geomspace(0.3, 30.0, 13)
compared = KernelStackingRegressor([Gaussian(width) for width in widths])
compared.fit(scaled[train], y[train])
errors = {candidate.description: candidate.loo_error for candidate in compared.candidates_}
figure, ax = plt.subplots(figsize=(5.2, 3.0))
ax.plot(widths, [errors[Gaussian(width).describe()] for width in widths], "o-")
ax.set(
    title="The width of least left-out error",
    xlabel="Bandwidth of a Gaussian kernel",
    ylabel="Error relative to the mean",
    xscale="log",
)

# %%
# **4. Weights.** The stack combines left-out predictions of the candidates, with non-negative
# weights. Here, most candidates get a weight of zero.
model = KernelStackingRegressor().fit(X[train], y[train])
used = [candidate for candidate in model.candidates_ if candidate.weight > 0.0]
used.sort(key=lambda candidate: candidate.weight)
print(f"{len(used)} of {len(model.candidates_)} candidates are used")
figure, ax = plt.subplots(figsize=(9, 0.5 * len(used) + 1.2))
ax.barh([fill(c.description, 36) for c in used], [c.weight for c in used], color="C2")
ax.set(title="Candidates that are used", xlabel="Weight")

# %%
# **5. Intervals.** Left-out residuals show how far predictions are off, and where: beyond an age of
# 45 the noise is six times as large.
lower, upper = model.predict_interval(X[test], coverage=0.9).T
inside = (lower <= y[test]) & (y[test] <= upper)
print(f"{inside.mean():.0%} of the new responses are in their intervals")
figure, ax = plt.subplots(figsize=(5.2, 3.2))
center, half = (lower + upper) / 2, (upper - lower) / 2
ax.errorbar(X[test, 1], center, half, fmt="none", ecolor="C4", label="90 % interval")
ax.plot(X[test, 1], y[test], "o", color="C0", label="New rows")
ax.set(title="Intervals on new rows", xlabel="age", ylabel="y")
ax.legend(loc="upper left")

# %%
# **6. One pass over blocks.** If the kernel between all rows does not fit into memory, ridge
# regression on m features of each row needs only sums of their products. Sums of blocks add up, so
# blocks may come from memory, a file or a cluster, in any order.
centers = scaled[train][:40]
features = Gaussian(2.0)(scaled[train], centers)
blocks = [block.T @ block for block in np.array_split(features, 3)]
assert np.allclose(sum(blocks), features.T @ features)
figure, axes = plt.subplots(1, 4, figsize=(9, 3.1), sharey=True)
titles = ["Rows 1 to 100", "101 to 200", "201 to 300", "All rows: the sum"]
for ax, block, title in zip(axes, [*blocks, sum(blocks)], titles, strict=True):
    ax.imshow(np.log1p(block), cmap="viridis")
    ax.set(title=title, xlabel="Features")
axes[0].set(ylabel="Features")
plt.show()
