"""
Relevance among noise
=====================

The response depends on five of twenty features. Four learners learn one width for each feature; the
picture compares the relevance that they assign to the features.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from mercer import EvidenceMaximization, GradientOuterProduct, KernelOptimization
from mercer.kernels import Gaussian

# %%
# The response depends on the first five features; the fifth one enters linearly and weakly.
X, y = make_friedman1(200, n_features=20, noise=1.0, random_state=0)
learners = {
    "marginal likelihood": EvidenceMaximization(),
    "gradient outer product": GradientOuterProduct(),
    "HSIC, penalty on differences": KernelOptimization(Gaussian(ard=True)),
    "HSIC, no penalty": KernelOptimization(Gaussian(ard=True), width_penalty=0.0),
}
relevance = {}
for name, learner in learners.items():
    found = learner.fit(X, y).kernel_.relevance(X.shape[1])
    relevance[name] = found / found.max()

# %%
# Each row is one learner. A relevance of zero means that the kernel ignores the feature. Marginal
# likelihood and the gradient outer product give the five features the highest relevance. HSIC
# without a penalty keeps a single feature. With its penalty, which held-out samples choose, it
# finds no clear evidence for unequal widths, and gives all features the same width.
figure, ax = plt.subplots(figsize=(8, 2.8))
image = ax.imshow(np.array(list(relevance.values())), aspect="auto", vmin=0.0, vmax=1.0)
ax.axvline(4.5, color="white", linestyle="--")
ax.set(
    title="Only the features left of the dashed line matter",
    xlabel="Feature",
    xticks=np.arange(0, 20, 2),
    yticks=np.arange(len(relevance)),
    yticklabels=list(relevance),
)
figure.colorbar(image, ax=ax, label="Relevance, relative to\nthe most relevant feature")
plt.show()
