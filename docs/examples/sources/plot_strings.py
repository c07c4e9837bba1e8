"""
A kernel on strings
===================

Strings, molecules and graphs are not rows of numbers. A kernel on them is a function, and the
table that the estimators see holds the objects' indices.
"""

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from mercer import AlignmentMaximization, TwoStageClassifier

# %%
# Sequences of the letters A, C, G and T are drawn. Those of the second class contain the motif
# TATAAG somewhere, with one letter in ten replaced at random.
random = np.random.default_rng(0)
letters = np.array(list("ACGT"))
sequences = random.choice(letters, size=(300, 40))
y = np.repeat([0, 1], 150)
for row in np.flatnonzero(y):
    start = random.integers(0, 34)
    motif = np.array(list("TATAAG"))
    wrong = random.random(6) < 0.1
    motif[wrong] = random.choice(letters, wrong.sum())
    sequences[row, start : start + 6] = motif
strings = ["".join(row) for row in sequences]

# %%
# The spectrum kernel of length k is the inner product of the counts of all substrings of k
# letters. The counts are made once, and a kernel looks rows up by their index.


def spectrum_kernel(length):
    """A kernel on indices of the strings: inner products of normalized counts of substrings."""
    counts = [Counter(s[i : i + length] for i in range(len(s) - length + 1)) for s in strings]
    words = sorted({word for count in counts for word in count})
    table = np.array([[count[word] for word in words] for count in counts], dtype=float)
    table /= np.linalg.norm(table, axis=1, keepdims=True)

    def kernel(X, Z):
        return table[X[:, 0].astype(int)] @ table[Z[:, 0].astype(int)].T

    return kernel


lengths = [1, 2, 3, 4, 5]
kernels = [spectrum_kernel(length) for length in lengths]
index = np.arange(len(strings))[:, None].astype(float)

# %%
train, test = train_test_split(index, stratify=y, random_state=0)
y_train, y_test = y[train[:, 0].astype(int)], y[test[:, 0].astype(int)]
model = TwoStageClassifier(AlignmentMaximization(kernels)).fit(train, y_train)
errors = {"learned weights": 1.0 - model.score(test, y_test)}
for length, kernel in zip(lengths, kernels, strict=True):
    alone = TwoStageClassifier(AlignmentMaximization([kernel])).fit(train, y_train)
    errors[f"length {length} alone"] = 1.0 - alone.score(test, y_test)

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2))
left.bar(lengths, model.learner_.shares_, color="C0")
left.set(
    title="What was learned",
    xlabel="Length of the substrings (letters)",
    ylabel="Share in the learned kernel",
)
right.barh(np.arange(len(errors))[::-1], [100 * e for e in errors.values()], color="C4")
right.set(title="Error on new strings", xlabel="Wrong strings (%)")
right.set_yticks(np.arange(len(errors))[::-1], list(errors))
plt.show()
