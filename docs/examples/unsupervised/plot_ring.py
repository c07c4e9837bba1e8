"""
Clusters on a ring
==================

Some clusters have neighbors, such as times of day or directions. A similarity between clusters then
gives their labels an order, which plain clustering does not have.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import HSICClustering

# %%
# Points on a noisy circle have no gaps, so any cut into clusters is arbitrary. The order of the
# clusters around the circle is not.
random = np.random.default_rng(0)
angle = random.uniform(0.0, 2.0 * np.pi, 400)
X = np.column_stack([np.cos(angle), np.sin(angle)]) * random.normal(1.0, 0.1, 400)[:, None]

# %%
# On a ring of eight clusters, the similarity of two clusters falls with their distance around the
# ring. It must be positive semi-definite, which exponentials of a cosine are.
n_clusters = 8
place = 2.0 * np.pi * np.arange(n_clusters) / n_clusters
similarity = np.exp(np.cos(place[:, None] - place[None, :]))
similarity /= similarity.max()
plain = HSICClustering(n_clusters, random_state=0).fit(X)
ring = HSICClustering(n_clusters, similarity=similarity, random_state=0).fit(X)

# %%
# Colors and numbers are the labels. With the similarity, they run around the circle.
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2))
for ax, model, title in zip(
    axes, (plain, ring), ("No similarity", "Similarity on a ring"), strict=True
):
    ax.scatter(*X.T, c=model.labels_, cmap="twilight_shifted", s=16)
    for label in range(n_clusters):
        center = X[model.labels_ == label].mean(axis=0)
        ax.text(
            *center,
            str(label),
            ha="center",
            va="center",
            weight="bold",
            fontsize=14,
            bbox={"boxstyle": "circle", "facecolor": "white", "edgecolor": "0.5"},
        )
    ax.set(title=title, xlabel="First feature", ylabel="Second feature", aspect="equal")
plt.show()
