"""
Thresholds from left-out probabilities
======================================

Missing a rare case may cost more than a false alarm, or less. To find the best threshold, use the
left-out probabilities of `held_out_classifier`: the probability of each training row is computed
without its label. No rows are held back, and nothing is fitted again.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import confusion_matrix, make_scorer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

from mercer import KernelStackingClassifier

# %%
# One sample in seven belongs to the rare class, and some labels are wrong.
X, y = make_classification(
    4000, 6, n_informative=4, weights=[0.88], flip_y=0.08, class_sep=0.8, random_state=0
)
X_train, X_test, y_train, y_test = X[:300], X[300:], y[:300], y[300:]
model = KernelStackingClassifier(scoring="roc_auc").fit(X_train, y_train)
held_out = model.held_out_classifier()


def mean_cost(labels, predicted, alarm, miss):
    """Mean cost of a sample, given the costs of a false alarm and of a missed rare sample."""
    _, alarms, misses, _ = confusion_matrix(labels, predicted, labels=[0, 1]).ravel()
    return (alarm * alarms + miss * misses) / len(labels)


# %%
# scikit-learn's search for a threshold takes the held-out probabilities as a fitted classifier,
# whose samples are row numbers. The same search on the stack and the training rows uses
# probabilities that were fitted to the labels. It promises far lower costs than new rows have, and
# its threshold is nearly the same for both pairs of costs.
chosen = {}
for alarm, miss in ((1, 10), (4, 1)):
    costs = {"alarm": alarm, "miss": miss}
    scorer = make_scorer(mean_cost, greater_is_better=False, **costs)
    settings = {"scoring": scorer, "cv": "prefit", "refit": False}
    tuned = {
        "left-out rows": TunedThresholdClassifierCV(held_out, **settings).fit(
            held_out.samples_, held_out.labels_
        ),
        "training rows": TunedThresholdClassifierCV(model, **settings).fit(X_train, y_train),
    }
    chosen[alarm, miss] = tuned["left-out rows"].best_threshold_
    print(f"A false alarm costs {alarm}, and a miss {miss}:")
    for name, found in tuned.items():
        classifier = FixedThresholdClassifier(model, threshold=found.best_threshold_)
        cost = mean_cost(y_test, classifier.predict(X_test), **costs)
        promised = f"{abs(found.best_score_):.2f} promised, {cost:.2f} on new rows"
        print(f"  by {name}, a threshold of {found.best_threshold_:.2f}: {promised}")

# %%
# The curves of left-out rows are closer to those of new rows than the curves of training rows are.
# With ``cv=5`` in place of ``"prefit"``, `TunedThresholdClassifierCV(model)` fits five more stacks.
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
curves = {
    "left-out rows": (y_train, held_out.predict_proba(held_out.samples_)[:, 1]),
    "new rows": (y_test, model.predict_proba(X_test)[:, 1]),
    "training rows, with their labels": (y_train, model.predict_proba(X_train)[:, 1]),
}
thresholds = np.linspace(0.02, 0.98, 97)
for ax, (costs, threshold) in zip(axes, chosen.items(), strict=True):
    for (name, (labels, found)), style in zip(curves.items(), ("-", "-", ":"), strict=True):
        ax.plot(
            thresholds,
            [mean_cost(labels, found >= t, *costs) for t in thresholds],
            style,
            label=name,
        )
    ax.axvline(threshold, color="0.6", linewidth=1.0)
    ax.set(
        title=f"A false alarm costs {costs[0]}, a miss {costs[1]}",
        xlabel="Threshold of the probability",
        ylabel="Cost of a sample",
        ylim=(0, 1.0),
    )
axes[1].legend(loc="upper right")
plt.show()
