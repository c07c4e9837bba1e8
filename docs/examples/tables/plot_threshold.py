"""
Thresholds from left-out probabilities
======================================

A rare class is found more often if less than half of the probability is enough for it. Which
threshold is best is read off `loo_predictions_`, in which the rows' own labels had no part, so that
no rows are held back and nothing is fitted again.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score, roc_curve
from sklearn.model_selection import FixedThresholdClassifier

from mercer import KernelStackingClassifier

# %%
# One sample in seven is of the rare class, and some labels are wrong.
X, y = make_classification(
    4000, 6, n_informative=4, weights=[0.88], flip_y=0.08, class_sep=0.8, random_state=0
)
X_train, X_test, y_train, y_test = X[:300], X[300:], y[:300], y[300:]
model = KernelStackingClassifier(scoring="roc_auc").fit(X_train, y_train)

# %%
# The balanced accuracy is the mean of the parts of both classes that are found. Three lines choose
# the threshold at which it is highest, and scikit-learn's classifier applies it to the fitted
# stack.
false, true, thresholds = roc_curve(y_train, model.loo_predictions_[:, 1])
threshold = thresholds[np.argmax(true - false)]
tuned = FixedThresholdClassifier(model, threshold=threshold)

for name, fitted in {"at one half": model, f"at {threshold:.2f}": tuned}.items():
    found = balanced_accuracy_score(y_test, fitted.predict(X_test))
    print(f"balanced accuracy of new rows {name}: {found:.2f}")

# %%
# ``TunedThresholdClassifierCV(model, cv="prefit")`` on the training rows would use probabilities
# that have seen the labels, and promise more than new rows keep. With ``cv=5`` it fits five more
# stacks, and also takes classifiers without `loo_predictions_`.
figure, ax = plt.subplots()
curves = {
    "left out": (y_train, model.loo_predictions_[:, 1]),
    "new rows": (y_test, model.predict_proba(X_test)[:, 1]),
    "training rows, with their labels": (y_train, model.predict_proba(X_train)[:, 1]),
}
for (name, (labels, probabilities)), style in zip(curves.items(), ("-", "-", ":"), strict=True):
    false, true, at = roc_curve(labels, probabilities, drop_intermediate=False)
    ax.plot(at[1:], 0.5 * (1.0 + true - false)[1:], style, label=name)
ax.axvline(threshold, color="0.6", linewidth=1.0)
ax.set(
    title="Left-out probabilities choose the threshold of new rows",
    xlabel="Threshold of the probability of the rare class",
    ylabel="Balanced accuracy",
    xlim=(0, 1),
)
ax.legend(loc="upper right")
plt.show()
