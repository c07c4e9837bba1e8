"""
Partial dependence of a learned model
=====================================

The relevance of a feature describes the kernel, not the predictions. To see how predictions change
with the feature, use scikit-learn's display. Its curves are computed from the kernel's formula.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_friedman1

from mercer import TwoStageRegressor
from mercer.inspection import partial_dependence_display

# %%
# The response is 10 sin(π x₀ x₁) + 20 (x₂ - 1/2)² + 10 x₃ + 5 x₄ plus noise; a sixth feature has no
# influence.
X, y = make_friedman1(300, n_features=6, noise=1.0, random_state=0)
model = TwoStageRegressor("auto").fit(X, y)
print(model.kernel_.describe())

# %%
# Thin lines are single samples, the thick line is their mean. The model finds the parabola in x₂
# and the straight lines in x₃ and x₄, and nothing happens along x₅.
figure, axes = plt.subplots(2, 3, figsize=(8, 5), layout="constrained")
partial_dependence_display(model, X, list(range(6)), kind="both", grid_resolution=25).plot(
    ice_lines_kw={"color": "C4", "alpha": 0.4},
    pd_line_kw={"color": "C0", "linewidth": 2.5, "label": None},
    ax=axes,
)
for ax in axes.flat:
    legend = ax.get_legend()
    if legend is not None:
        legend.remove()
for ax in axes[:, 0]:
    ax.set_ylabel("Predicted response")
plt.show()
