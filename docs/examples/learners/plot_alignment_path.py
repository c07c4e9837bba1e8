"""
How a sum of kernels grows, and where it stops
==============================================

``ContinuousAlignment`` adds one kernel at a time. The alignment with the training labels, a measure
of how well the kernel matches them, never falls. The fit stops when the next kernel adds too
little.
"""

from warnings import simplefilter

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from mercer import ContinuousAlignment

# %%
# The corrective step solves for all weights again, and moves all widths together; the stagewise
# step, as published, chooses the newest weight only. Even with a tiny tolerance, the corrective fit
# stops after two kernels. The stagewise fit has not converged after twelve, and warns.
simplefilter("ignore", ConvergenceWarning)
X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
learners = {
    "corrective": ContinuousAlignment(tol=1e-8, max_kernels=12).fit(X, y),
    "stagewise": ContinuousAlignment(step="stagewise", tol=1e-8, max_kernels=12).fit(X, y),
}
default = ContinuousAlignment().fit(X, y)
print(f"by default: {default.n_iter_} steps, alignment {default.alignment_:.4f}")
for weight, kernel in zip(default.weights_, default.kernels_, strict=True):
    print(f"weight {weight:.3f}: {kernel.describe()}")

# %%
# The vertical axis does not start at zero, to show the last steps.
figure, ax = plt.subplots()
for (name, learner), marker in zip(learners.items(), "os", strict=True):
    path = [step.alignment for step in learner.history_]
    ax.plot(range(1, len(path) + 1), path, f"{marker}-", label=f"{name} step")
ax.plot(default.n_iter_, default.alignment_, "*", color="C6", markersize=14, label="default stop")
ax.set(
    title="Alignment after each step (magnified)",
    xlabel="Number of steps",
    ylabel="Centered alignment with the labels",
)
ax.legend(loc="lower right")
plt.show()
