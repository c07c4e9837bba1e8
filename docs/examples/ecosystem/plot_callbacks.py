"""
Callbacks and progress
======================

Every step of a fit is a record of its history, and scikit-learn's callbacks are told of it while
the fit runs: a progress bar, or a function of one's own.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from mercer import MKLClassifier

# %%
# ``verbose=True`` prints a line after each step. In a terminal,
# ``model.set_callbacks(sklearn.callback.ProgressBar())`` shows a bar instead.
X, y = load_breast_cancer(return_X_y=True)
X = scale(X)[:300]
y = y[:300]
newton = MKLClassifier(norm=2, C=1.0, tol=1e-6, verbose=True).fit(X, y)
alternating = MKLClassifier(norm=2, C=1.0, tol=1e-6, solver="alternating").fit(X, y)

# %%
# The history has the objective and its proven gap after each step, from which convergence can be
# drawn. The default solver uses second derivatives.
figure, ax = plt.subplots()
for model, marker, label in ((alternating, "s-", "alternating"), (newton, "o-", "default")):
    gaps = [step.gap for step in model.history_]
    ax.plot(range(1, len(gaps) + 1), gaps, marker, label=f"{label}, {len(gaps)} steps")
ax.axhline(1e-6, color="0.5", linestyle=":", label="tolerance")
ax.set(
    title="Convergence with a proof: the relative duality gap",
    xlabel="Step",
    ylabel="Relative duality gap",
    yscale="log",
    xscale="log",
)
ax.legend()
plt.show()
