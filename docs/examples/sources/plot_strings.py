"""
Kernels on strings: splice junctions of DNA
===========================================

Each length of substrings gives a kernel, and alignment weights these kernels. If the strings are
aligned, as around a junction of DNA, substrings can be compared place by place. Letters can also be
read as categories, one for each place.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from mercer import AlignmentMaximization, KernelOptimization, TwoStageClassifier
from mercer.kernels import Categorical, Spectrum
from mercer.preprocessing import LetterCodes

# %%
# The strings are windows of 60 letters, around junctions and elsewhere. If the environment variable
# ``MERCER_DATA`` names a folder with the set *splice* of the UCI repository, they come from there.
# If not, they are drawn at random. Near the middle of a junction, most letters are then from a
# consensus sequence, and somewhere before it is a stretch of C and T.
path = Path(os.environ.get("MERCER_DATA", "."), "splice.npz")
if path.exists():
    with np.load(path) as archive:
        letters, y = np.array(list("ACGT"))[archive["X"].astype(int) - 1], archive["y"]
else:
    random = np.random.default_rng(0)
    letters, y = random.choice(list("ACGT"), size=(900, 60)), np.repeat([0, 1], 450)
    for row in np.flatnonzero(y):
        consensus = random.random(9) < [0.5, 0.6, 0.8, 0.95, 0.95, 0.6, 0.7, 0.8, 0.5]
        letters[row, 27:36][consensus] = np.array(list("CAGGTAAGT"))[consensus]
        start = random.integers(5, 16)
        letters[row, start : start + 8] = random.choice(list("CT"), 8)
strings = ["".join(row) for row in letters]
print(strings[0], y[0])

# %%
# `LetterCodes` makes a table with one number for each letter; all these kernels work on it.
train, test, y_train, y_test = train_test_split(
    strings, y, train_size=500, test_size=min(1000, len(y) - 500), stratify=y, random_state=0
)
codes = LetterCodes().fit(train)
X_train, X_test = codes.transform(train), codes.transform(test)

lengths = [1, 2, 3, 4, 5]
learners = {
    "substrings anywhere": AlignmentMaximization([Spectrum(k) for k in lengths]),
    "with one mismatch": AlignmentMaximization([Spectrum(k, mismatches=1) for k in lengths[2:]]),
    "substrings in place": AlignmentMaximization([Spectrum(k, positions=True) for k in lengths]),
    "letters as categories": KernelOptimization(Categorical(), "cka"),
}
models = {
    name: TwoStageClassifier(learner).fit(X_train, y_train) for name, learner in learners.items()
}
errors = {name: 100 * (1.0 - model.score(X_test, y_test)) for name, model in models.items()}

# %%
# Left: what each length contributes. Right: the error on new strings.
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.4))
for offset, name in ((-0.2, "substrings anywhere"), (0.2, "substrings in place")):
    shares = models[name].learner_.shares_
    left.bar(np.array(lengths) + offset, shares, width=0.38, label=name)
left.set(
    title="What was learned",
    xlabel="Length of the substrings (letters)",
    ylabel="Share in the learned kernel",
)
left.legend()
position = np.arange(len(errors))[::-1]
right.barh(position, errors.values(), color="C4")
right.set(title="Error on new strings", xlabel="Wrong strings (%)")
right.set_yticks(position, list(errors))
plt.show()
