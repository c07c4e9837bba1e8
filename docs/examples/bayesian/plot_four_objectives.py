"""
The four objectives of probabilistic kernel learning
====================================================

How much weight should each kernel have? Marginal likelihood, its variational bound, the joint
maximum a posteriori and multiple kernel learning answer with different objectives. Their level
lines over two weights show how they differ.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import Gaussian
from mercer.probabilistic import GaussianLikelihood, LaplaceLikelihood, posterior

# %%
# A smooth function with a small rough part is observed with noise. One kernel is wide, the other
# narrow.
random = np.random.default_rng(0)
X = np.sort(random.uniform(-3.0, 3.0, 50))[:, None]
y = np.sin(X[:, 0]) + 0.4 * np.sin(8.0 * X[:, 0]) + random.normal(0.0, 0.2, 50)
kernels = [Gaussian(2.5), Gaussian(0.3)]

# %%
# For Gaussian noise, the marginal likelihood has a closed form. For Laplace noise, which is robust
# to outliers, the variational bound replaces it.
gaussian, laplace = GaussianLikelihood(noise=0.04), LaplaceLikelihood(rate=7.0)
objectives = {
    "Marginal likelihood": (gaussian, {"objective": "marginal_likelihood"}),
    "Variational bound (Laplace noise)": (laplace, {"objective": "vb"}),
    "Joint maximum a posteriori": (gaussian, {"objective": "map", "jitter": 0.01}),
    "Multiple kernel learning": (gaussian, {"objective": "mkl", "weight_penalty": 5.0}),
}
weights = np.geomspace(1e-3, 10.0, 12)

# %%
# Each panel has its own color scale, and a star marks its minimum. The penalties of joint maximum a
# posteriori and of multiple kernel learning are set by hand.
figure, axes = plt.subplots(2, 2, figsize=(8, 6.4), sharex=True, sharey=True)
for ax, (name, (likelihood, settings)) in zip(axes.flat, objectives.items(), strict=True):
    values = np.array(
        [
            [
                posterior(
                    X, y, kernels, [wide, narrow], likelihood=likelihood, **settings
                ).objective
                for wide in weights
            ]
            for narrow in weights
        ]
    )
    row, column = np.unravel_index(values.argmin(), values.shape)
    above = np.log10(values - values.min() + 1.0)
    ax.contourf(weights, weights, above, levels=14, cmap="viridis_r")
    ax.plot(weights[column], weights[row], "*", color="white", markersize=13, markeredgecolor="0.2")
    ax.set(title=name, xscale="log", yscale="log")
for ax in axes[1]:
    ax.set_xlabel("Weight of the wide kernel")
for ax in axes[:, 0]:
    ax.set_ylabel("Weight of the narrow kernel")
plt.show()
