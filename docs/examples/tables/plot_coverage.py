"""
Coverage by width of the intervals
==================================

Intervals that hold nine in ten of all responses may be too narrow where the noise is large, and too
wide where it is small. The coverage by decile of the width shows it.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelStackingRegressor
from mercer.inspection import CoverageDisplay, report

# %%
# The standard deviation of the noise grows from 0.1 to 1.1 along one of two features.
rng = np.random.default_rng(0)
X = rng.uniform(0.0, 1.0, (1100, 2))
y = np.sin(6.0 * X[:, 1]) + (0.1 + X[:, 0]) * rng.normal(size=1100)
train, test = slice(0, 300), slice(300, None)
model = KernelStackingRegressor().fit(X[train], y[train])

# %%
# Without a scale, all intervals have nearly the same width, so its deciles are not informative. The
# right picture therefore uses the deciles of the widths with a learned scale.
low, high = model.predict_interval(X[test], scale=None).T
learned = np.ptp(model.predict_interval(X[test]), axis=1)
print(f"widths from {np.min(high - low):.2f} to {np.max(high - low):.2f} without a scale")
print(f"widths from {np.min(learned):.2f} to {np.max(learned):.2f} with a learned scale")

# %%
# A report on the model has the overall coverage, and the coverage by decile as a table.
found = report(model, X[test], y[test])
print(f"share of the responses inside: {found.coverage.share.value:.1%}")
print(found.to_frame("coverage").round(3))

# %%
# The learned scale evens out the coverage.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
CoverageDisplay.from_estimator(model, X[test], y[test], ax=left)
left.set(title='scale="auto"')
order = np.argsort(learned)
inside = ((low <= y[test]) & (y[test] <= high))[order].reshape(10, -1).mean(axis=1)
right.plot(learned[order].reshape(10, -1).mean(axis=1), inside, "o")
right.axhline(0.9, linestyle=":", color="0.4")
right.set(title="scale=None", xlabel="Mean width with a learned scale")
plt.show()
