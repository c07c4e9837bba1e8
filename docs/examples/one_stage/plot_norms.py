"""
Sparse or dense weights: the norm
=================================

The norm of the weights decides how many kernels multiple kernel learning keeps. With a norm of one,
few kernels remain; the larger the norm, the more equal the weights.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from mercer import MKLRegressor
from mercer.kernels import Gaussian, OnColumns

# %%
# Each feature has its own Gaussian kernel, so the weights show which features matter: this is an
# additive model. The response depends on five of twelve features, on two of them by their product.
X, y = make_friedman1(250, n_features=12, noise=1.0, random_state=0)
X_test, y_test = make_friedman1(500, n_features=12, random_state=1)
kernels = [OnColumns(Gaussian("median"), [feature]) for feature in range(12)]
norms = [1.0, 1.25, 1.5, 2.0, 4.0]
shares, scores = [], []
for norm in norms:
    model = MKLRegressor(kernels, norm=norm, alpha=3.0).fit(X, y)
    shares.append(model.shares_)
    scores.append(model.score(X_test, y_test))
    print(f"norm {norm:4.2f}: R² {scores[-1]:.3f}, {np.sum(model.shares_ > 1e-6)} kernels")

# %%
figure, ax = plt.subplots(figsize=(8, 3.4))
image = ax.imshow(np.array(shares), aspect="auto", vmin=0.0)
ax.axvline(4.5, color="white", linestyle="--")
ax.set(
    title="Only the features left of the dashed line matter",
    xlabel="Feature that the kernel is on",
    ylabel="Norm of the weights",
    xticks=range(12),
    yticks=range(len(norms)),
    yticklabels=[f"{n:g}  (R² {score:.2f})" for n, score in zip(norms, scores, strict=True)],
)
figure.colorbar(image, ax=ax, label="Share in the kernel")
plt.show()
