"""
One kernel for each view
========================

The same samples are described by several views, such as shape, texture and position. One kernel for
each view, with learned weights, shows which views carry the label, and ignores views of noise.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from mercer import AlignmentMaximization, TwoStageClassifier, UniformCombination
from mercer.kernels import Gaussian, OnColumns

# %%
# Five views of a handwritten digit are computed from its pixels: sums of rows and of columns, means
# of blocks, low frequencies, and differences between neighbors. A further view, for comparison, is
# noise.
images, y = load_digits(return_X_y=True)
images = images.reshape(-1, 8, 8)
random = np.random.default_rng(0)
parts = {
    "row sums": images.sum(axis=2),
    "column sums": images.sum(axis=1),
    "block means": images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16),
    "low frequencies": np.abs(np.fft.rfft2(images))[:, :4, :4].reshape(-1, 16),
    "differences": np.diff(images, axis=2).reshape(-1, 56),
    "noise": random.normal(size=(len(y), 20)),
}
X = np.hstack(list(parts.values()))
ends = np.cumsum([part.shape[1] for part in parts.values()])
views = [
    OnColumns(Gaussian("median"), slice(int(end - part.shape[1]), int(end)))
    for end, part in zip(ends, parts.values(), strict=True)
]

# %%
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=300, random_state=0)
errors, shares = {}, {}
for name, learner in (
    ("learned weights", AlignmentMaximization(views)),
    ("equal weights", UniformCombination(views)),
):
    model = TwoStageClassifier(learner).fit(X_train, y_train)
    errors[name] = 1.0 - model.score(X_test, y_test)
    shares[name] = model.learner_.shares_
for name, view in zip(parts, views, strict=True):
    alone = TwoStageClassifier(UniformCombination([view]), cv=3).fit(X_train, y_train)
    errors[name] = 1.0 - alone.score(X_test, y_test)

# %%
# Left: the part of each view in the variance of the learned kernel. Right: the error of each view
# alone, and of their sums.
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6))
position = np.arange(len(parts))
for offset, (name, found) in zip((0.2, -0.2), shares.items(), strict=True):
    left.barh(position + offset, found, height=0.38, label=name)
left.set(title="Share of each view", xlabel="Part of the kernel's variance", yticks=position)
left.set_yticklabels(list(parts))
left.invert_yaxis()
left.legend()
right.barh(np.arange(len(errors)), [100 * e for e in errors.values()], color="C4")
right.set(title="Error on new digits", xlabel="Wrong digits (%)", yticks=np.arange(len(errors)))
right.set_yticklabels(list(errors))
right.invert_yaxis()
plt.show()
