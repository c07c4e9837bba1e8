"""
A stack of Gram matrices in cross-validation
============================================

Similarities are often computed elsewhere. A stack of Gram matrices, with the kernels on the last
axis, goes through scikit-learn's cross-validation as if it were a table.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.preprocessing import scale

from mercer import AlignmentMaximization, TwoStageClassifier, UniformCombination

# %%
# Four kernels of scikit-learn stand for matrices from elsewhere. A fifth is noise.
X, y = load_wine(return_X_y=True)
X = scale(X)
noise = np.random.default_rng(0).normal(size=(len(y), 30))
grams = {
    "linear": linear_kernel(X) / X.shape[1],
    "polynomial": polynomial_kernel(X, degree=2) / 4.0,
    "Gaussian": rbf_kernel(X, gamma=0.05),
    "Laplacian": laplacian_kernel(X, gamma=0.1),
    "noise": linear_kernel(noise) / 30.0,
}
stack = np.stack(list(grams.values()), axis=-1)
print(stack.shape)

# %%
# Each fold learns weights on its training samples and predicts the others. The splits select rows
# and columns of the stack, because the estimators are tagged as having pairwise input.
folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=4, random_state=0)
scores = {}
for name, learner in (
    ("equal weights", UniformCombination("precomputed")),
    ("learned weights", AlignmentMaximization("precomputed")),
):
    scores[name] = cross_val_score(TwoStageClassifier(learner, C=1.0), stack, y, cv=folds)
for index, name in enumerate(grams):
    single = TwoStageClassifier(UniformCombination("precomputed"), C=1.0)
    scores[name] = cross_val_score(single, stack[:, :, [index]], y, cv=folds)

# %%
figure, ax = plt.subplots(figsize=(5.2, 3.2))
names = list(scores)[::-1]
errors = [100 * (1.0 - scores[name]) for name in names]
ax.boxplot(errors, orientation="horizontal", widths=0.6, medianprops={"color": "C1"})
ax.set_yticks(range(1, len(names) + 1), names)
ax.set(title="Each kernel alone, and all together", xlabel="Wrong samples in a fold (%)")
plt.show()
