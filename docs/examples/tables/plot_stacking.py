"""
What a stack of kernels consists of
===================================

The stacking classifier evaluates each candidate kernel by its leave-one-out error, and keeps those
that help. Its list of candidates shows which kinds of kernels suit a table.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from mercer import KernelStackingClassifier

# %%
X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = KernelStackingClassifier().fit(X_train, y_train)
print(f"accuracy {model.score(X_test, y_test):.3f}, estimated {model.loo_score_:.3f}")

# %%
# The `loo_error` of a kernel is its leave-one-out error relative to that of the class frequencies.
# The weight is how much the kernel moves the combination; candidates of weight zero are not used.
candidates = sorted(model.candidates_, key=lambda candidate: -candidate.loo_error)
position = np.arange(len(candidates))
labels = [candidate.description for candidate in candidates]
figure, axes = plt.subplots(1, 2, figsize=(9, 0.35 * len(candidates) + 1.2), sharey=True)
axes[0].barh(position, [candidate.loo_error for candidate in candidates], color="C4")
axes[0].set(
    title="Leave-one-out error", xlabel="Relative to the class frequencies", yticks=position
)
axes[0].set_yticklabels([text if len(text) < 48 else text[:46] + "…" for text in labels])
axes[1].barh(position, [candidate.weight for candidate in candidates], color="C0")
axes[1].set(title="Weight", xlabel="Weight in the stack")
plt.show()
