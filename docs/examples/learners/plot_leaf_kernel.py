r"""
A kernel of trees
=================

To a forest, two samples are as similar as the share of its trees that send them to the same leaf,
:math:`k(x, z) = \frac{1}{T} \sum_t [\mathrm{leaf}_t(x) = \mathrm{leaf}_t(z)]`. A Gaussian kernel
has the same width everywhere. Leaves, in contrast, are small where the response changes, and ignore
uninformative features.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import EvidenceMaximization, ForestKernel, TwoStageRegressor

# %%
# The response depends on the first of five features: in eight steps on the left, and not at all on
# the right.
rng = np.random.default_rng(0)


def sample(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and responses, in the order of the first feature."""
    X = rng.uniform(size=(n, 5))
    X = X[X[:, 0].argsort()]
    step = np.floor(16.0 * X[:, 0]).astype(int)
    level = np.array([1.0, -1.0, 0.5, -0.5, 1.0, 0.0, 0.5, -1.0, *np.zeros(8)])[step]
    return X, level + 0.2 * rng.normal(size=n)


X, y = sample(600)
X_new, y_new = sample(2000)

# %%
# Ridge regression uses three learned kernels: a Gaussian with one width, one with a width for each
# feature, and boosted trees. Two-stage estimators grow the trees again in each fold that chooses
# the penalty, because leaves fit the labels that they were grown on.
models = {
    "Gaussian, one width": TwoStageRegressor(),
    "Gaussian, a width per feature": TwoStageRegressor(EvidenceMaximization()),
    "20 boosted trees": TwoStageRegressor(ForestKernel(n_trees=20)),
}
for model in models.values():
    model.fit(X, y)

# %%
# The relevance of a feature to the trees is the part of the variance of their predictions that
# changes if its values are exchanged between samples.
(kernel,) = models["20 boosted trees"].learner_.kernels_
print(kernel.relevance(5).round(2))

# %%
# Leaves are exact features of the kernel: an indicator for each leaf, one per tree in each row.
# Solvers for sparse tables then need no Gram matrix.
features = kernel.features(X_new)
print(features.shape, features.nnz)

# %%
# The pictures show the Gram matrices, with rows in the order of the first feature. If all five
# features share one width, the best is so wide that all samples are alike. With a width per
# feature, the kernel has the same band everywhere. The trees have a block for each step, and one
# large block where the response is constant.
figure, axes = plt.subplots(1, 3, figsize=(10, 4))
for (name, model), ax in zip(models.items(), axes, strict=True):
    image = ax.imshow(model.learner_.kernels_[0](X), vmin=0.0, vmax=1.0, extent=(0, 1, 1, 0))
    ax.set(
        title=f"{name}\n$R^2$ of new samples {model.score(X_new, y_new):.2f}",
        xlabel="Rank of the first feature",
    )
axes[0].set_ylabel("Rank of the first feature")
figure.colorbar(image, ax=axes, label="Kernel")
plt.show()
