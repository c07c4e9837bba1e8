"""
A test of independence
======================

Two variables can be uncorrelated even if one determines the other. The Hilbert-Schmidt independence
criterion (HSIC) detects every kind of dependence; permutations make it a test.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import Gaussian
from mercer.metrics import hsic

# %%
random = np.random.default_rng(0)
n = 150
angle = random.uniform(0.0, 2.0 * np.pi, n)
x = random.normal(size=n)
problems = {
    "independent": (x, random.normal(size=n)),
    "ring": (np.cos(angle) + 0.1 * random.normal(size=n), np.sin(angle) + 0.1 * x),
    "parabola": (x, x**2 + 0.5 * random.normal(size=n)),
    "noise that grows": (x, np.abs(x) * random.normal(size=n)),
}


# %%
# To break any dependence, the Gram matrix of one variable is permuted. The p-value is the share of
# permutations whose HSIC is at least that of the original samples.
def independence_test(first, second, n_permutations=300):
    """HSIC of two variables, and of permutations of the second one."""
    K, L = (
        Gaussian("median").bind(variable[:, None])(variable[:, None])
        for variable in (first, second)
    )
    observed = hsic(K, L)
    permuted = np.empty(n_permutations)
    for i in range(n_permutations):
        order = random.permutation(len(first))
        permuted[i] = hsic(K, L[np.ix_(order, order)])
    return observed, permuted


figure, axes = plt.subplots(2, 4, figsize=(11, 4.8))
for column, (name, (first, second)) in enumerate(problems.items()):
    observed, permuted = independence_test(first, second)
    p_value = (1 + np.sum(permuted >= observed)) / (1 + permuted.size)
    correlation = np.corrcoef(first, second)[0, 1]
    print(f"{name}: correlation {correlation:.2f}, p-value {p_value:.3f}")
    axes[0, column].plot(first, second, ".", color="C0")
    axes[0, column].set(title=f"{name}\ncorrelation {correlation:.2f}", xticks=[], yticks=[])
    axes[0, column].set(xlabel="First variable", ylabel="Second variable")
    axes[1, column].hist(permuted, bins=25, color="C4")
    axes[1, column].axvline(observed, color="C1")
    axes[1, column].set(title=f"p-value {p_value:.3f}", xlabel="HSIC", yticks=[])
    axes[1, column].locator_params(axis="x", nbins=3)
    axes[1, column].set_ylabel("Permutations" if column == 0 else "")
plt.show()
