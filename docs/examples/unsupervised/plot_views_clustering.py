"""
Clusters of several views
=========================

Without labels, the views of a data set can vote on clusters. Views that agree receive weight, and
views of noise lose it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from mercer import MultipleKernelClustering
from mercer.kernels import Gaussian, OnColumns

# %%
# Two views show three groups, and each view confuses a different pair. Two further views are noise,
# on a larger scale.
random = np.random.default_rng(0)
truth = np.repeat([0, 1, 2], 60)
first = np.array([[0.0, 0.0], [0.0, 0.6], [3.0, 0.0]])[truth] + random.normal(0, 0.5, (180, 2))
second = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 0.6]])[truth] + random.normal(0, 0.5, (180, 2))
noise = random.normal(0.0, 3.0, (180, 8))
X = np.hstack([first, second, noise])
columns = {
    "first view": [0, 1],
    "second view": [2, 3],
    "noise": [4, 5, 6, 7],
    "more noise": [8, 9, 10, 11],
}
views = [OnColumns(Gaussian("median"), positions) for positions in columns.values()]

# %%
model = MultipleKernelClustering(views, n_clusters=3, random_state=0).fit(X)
scores = {"all columns\n(k-means)": KMeans(3, n_init=10, random_state=0).fit_predict(X)}
for name in ("first view", "second view"):
    alone = KMeans(3, n_init=10, random_state=0).fit_predict(X[:, columns[name]])
    scores[f"{name}\n(k-means)"] = alone
scores["learned\nweights"] = model.labels_
scores = {name: adjusted_rand_score(truth, labels) for name, labels in scores.items()}

# %%
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), width_ratios=[1, 1.2, 1.3])
axes[0].scatter(X[:, 0], X[:, 2], c=np.array(["C0", "C1", "C2"])[model.labels_], s=12)
axes[0].set(
    title="The clusters found",
    xlabel="First column of the first view",
    ylabel="First column of the second view",
)
axes[1].bar(list(columns), model.shares_, color="C0")
axes[1].set(title="Share of each view", ylabel="Share in the learned kernel")
axes[1].tick_params(axis="x", labelrotation=20)
axes[2].bar(list(scores), list(scores.values()), color=["C4", "C4", "C4", "C0"])
axes[2].set(title="Agreement with the true groups", ylabel="Adjusted Rand index", ylim=(0, 1))
axes[2].tick_params(axis="x", labelsize=8)
plt.show()
