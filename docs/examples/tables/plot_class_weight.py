"""
Rare classes that matter
========================

A classifier that is right as often as possible neglects a rare class. With balanced class weights,
both classes count equally, whatever their sizes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import recall_score
from sklearn.model_selection import train_test_split

from mercer import TwoStageClassifier

# %%
# One sample in ten belongs to the rare class, and some labels are wrong.
X, y = make_classification(
    800, 6, n_informative=4, weights=[0.9], flip_y=0.08, class_sep=0.8, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
models = {
    "rows count alike": TwoStageClassifier().fit(X_train, y_train),
    "classes count alike": TwoStageClassifier(class_weight="balanced").fit(X_train, y_train),
}

# %%
# Recall is the part of a class that is found. Balanced weights find more of the rare class, and
# less of the frequent one.
figure, ax = plt.subplots()
width = 0.38
for shift, (name, model) in zip((-0.5, 0.5), models.items(), strict=True):
    recalls = recall_score(y_test, model.predict(X_test), average=None)
    bars = ax.bar(np.arange(2) + shift * width, recalls, width, label=name)
    ax.bar_label(bars, fmt="%.2f")
    print(f"{name}: accuracy {model.score(X_test, y_test):.2f}, recalls {recalls.round(2)}")
ax.set(
    title="Balanced weights find more of the rare class",
    xlabel="Class",
    ylabel="Part of the class that is found",
    ylim=(0, 1.1),
)
ax.set_xticks([0, 1], ["frequent", "rare"])
ax.legend(loc="upper right")
plt.show()
