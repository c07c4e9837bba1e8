"""
Selection of features by dependence
===================================

Two selectors choose features on which the target depends in any form. One avoids redundant
features, the other finds those that matter only together.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_selection import SelectKBest, f_regression

from mercer import BAHSIC, HSICLasso

# %%
# Among 24 features, 0 and 1 act alone, and 1 is not correlated with the target; 2 is feature 0 in
# another unit; 3 and 4 matter only by the sign of their product. The others are noise.
random = np.random.default_rng(0)
X = random.normal(size=(400, 24))
X[:, 2] = 2.54 * X[:, 0]
y = X[:, 0] + X[:, 1] ** 2 + 1.5 * np.sign(X[:, 3] * X[:, 4]) + 0.2 * random.normal(size=400)
selectors = {
    "correlation": SelectKBest(f_regression, k=5),
    "HSICLasso": HSICLasso(5),
    "BAHSIC": BAHSIC(5),
}
scores, support = {}, {}
for name, selector in selectors.items():
    selector.fit(X, y)
    support[name] = selector.get_support()
    found = selector.weights_ if name == "HSICLasso" else selector.scores_
    scores[name] = np.maximum(found, 0.0) / np.max(found)
    print(f"{name}: features {np.flatnonzero(support[name]).tolist()}")

# %%
# Colors are scores relative to the best feature; circles are the five features that are selected.
# Correlation misses the squared feature, and takes both the copy and its original. The Lasso leaves
# the copy out, but is blind to the product, and fills up with noise. Backward elimination finds the
# product, and keeps the copy.
figure, ax = plt.subplots(figsize=(9, 2.6))
image = ax.imshow(np.array(list(scores.values())), aspect="auto", cmap="Blues", vmin=0, vmax=1)
for row, chosen in enumerate(support.values()):
    ax.plot(np.flatnonzero(chosen), np.full(chosen.sum(), row), "o", color="C1", markersize=9)
ax.set(
    title="0: alone, 1: squared, 2: copy of 0, 3 and 4: only together, others: noise",
    xlabel="Feature",
    xticks=np.arange(0, 24),
    yticks=range(3),
    yticklabels=list(scores),
)
figure.colorbar(image, ax=ax, label="Score, relative")
plt.show()
