"""
The certificate of continuous multiple kernel learning
======================================================

A weighted sum of Gaussian kernels is optimal if no further width would improve it. After the fit,
you can see that it is: a curve over all widths does not exceed one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import ContinuousMKLClassifier
from mercer.kernels import Gaussian

# %%
# Let c be the dual variables of the fitted machine, and K its kernel. For a kernel K(s) of width s,
# the ratio c'K(s)c / c'Kc measures how fast the objective would fall if this kernel were added. At
# the optimum, no ratio exceeds one, and every selected kernel has a ratio of one.
X, y = make_moons(200, noise=0.25, random_state=0)
family = Gaussian(bounds=(0.2, 20.0))
model = ContinuousMKLClassifier(family, C=1.0).fit(X, y)
for weight, kernel in zip(model.weights_, model.kernel_.kernels, strict=True):
    print(f"weight {weight:.3f}: {kernel.describe()}")
print(f"excess {model.excess_:.1e}, duality gap {model.dual_gap_:.1e}")


# %%
def ratios(fitted, widths):
    """The ratio of each width, for the dual variables of a fitted model."""
    support = X[fitted.support_] if len(fitted.dual_coef_) != len(X) else X
    c = fitted.dual_coef_.ravel()
    norm = c @ fitted.kernel_(support) @ c
    return [c @ Gaussian(width)(support) @ c / norm for width in widths]


widths = np.geomspace(0.2, 20.0, 200)
first = ContinuousMKLClassifier(family, C=1.0, max_kernels=1, tol=10.0).fit(X, y)

# %%
figure, ax = plt.subplots()
ax.plot(widths, ratios(first, widths), "--", color="C1", label="first kernel only")
ax.plot(widths, ratios(model, widths), color="C0", label="after the fit")
ax.axhline(1.0, color="0.5", linewidth=1.0)
for kernel in model.kernel_.kernels:
    ax.plot(kernel.bandwidth, 1.0, "o", color="C0")
ax.set(
    xscale="log",
    yscale="log",
    title="No ratio exceeds one: the learned kernel is optimal",
    xlabel="Width of a Gaussian kernel (unit of the features)",
    ylabel="Gain by adding the kernel, c'K(s)c / c'Kc",
)
ax.legend()
plt.show()
