"""
A grid search over learners
===========================

Learners are parameters like any other. A grid search fits each again in every fold and compares
them; their settings can be searched by name.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

from mercer import (
    AlignmentMaximization,
    ContinuousAlignment,
    EvidenceMaximization,
    KernelOptimization,
    TwoStageClassifier,
    UniformCombination,
)

# %%
# The label is the sign of a product of two of ten features, so learners that weight features
# separately should win.
random = np.random.default_rng(0)
X = random.normal(size=(150, 10))
y = (X[:, 0] * X[:, 1] > 0.0).astype(int)
learners = {
    "equal weights": UniformCombination(),
    "alignf": AlignmentMaximization(),
    "continuous alignment": ContinuousAlignment(),
    "one width by HSIC": KernelOptimization(),
    "a width for each feature": EvidenceMaximization(),
}
grid = {"learner": list(learners.values()), "C": [0.5, 2.0, 8.0, 32.0]}
search = GridSearchCV(TwoStageClassifier(), grid, cv=5).fit(X, y)
print(search.best_params_)

# %%
scores = np.empty((len(learners), len(grid["C"])))
for parameters, score in zip(
    search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
):
    row = grid["learner"].index(parameters["learner"])
    scores[row, grid["C"].index(parameters["C"])] = 100.0 * (1.0 - score)
figure, ax = plt.subplots(figsize=(5.2, 3.2))
image = ax.imshow(scores, cmap="viridis_r", aspect="auto")
for (row, column), value in np.ndenumerate(scores):
    ax.text(
        column,
        row,
        f"{value:.0f}",
        ha="center",
        va="center",
        color="white",
        bbox={"facecolor": "0.2", "edgecolor": "none", "pad": 1.5, "alpha": 0.6},
    )
ax.set(
    title="Wrong labels in cross-validation (%)",
    xlabel="Penalty C of the support vector machine",
    xticks=range(4),
    xticklabels=[f"{C:g}" for C in grid["C"]],
    yticks=range(len(learners)),
    yticklabels=list(learners),
)
figure.colorbar(image, ax=ax, label="Wrong labels (%)")
plt.show()
