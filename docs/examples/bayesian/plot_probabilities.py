"""
Probabilities by a variational bound, and by Platt's method
===========================================================

A support vector machine has no probabilities; Platt's method fits them to held-out decision values.
The Gaussian process integrates over the latent function, and needs no held-out samples. Far from
the training samples, its probabilities return to one half; Platt's tend to another constant.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.metrics import log_loss
from sklearn.svm import SVC

from mercer import BayesianMKLClassifier
from mercer.kernels import Gaussian

# %%
# Labels are drawn from known probabilities, so calibration can be checked.
random = np.random.default_rng(0)


def draw(n):
    """Points of two noisy classes."""
    X = random.normal(0.0, 1.2, (n, 2))
    latent = 2.0 * np.sin(1.6 * X[:, 0]) + 1.5 * X[:, 1]
    return X, (random.random(n) < 1.0 / (1.0 + np.exp(-latent))).astype(int)


X, y = draw(200)
X_test, y_test = draw(3000)
models = {
    "variational bound": BayesianMKLClassifier([Gaussian(s) for s in (0.5, 1.0, 2.0, 4.0)]),
    "Platt": CalibratedClassifierCV(SVC(), ensemble=False),
}
for name, model in models.items():
    predicted = model.fit(X, y).predict_proba(X_test)
    print(f"{name}: log-loss {log_loss(y_test, predicted):.3f}")

# %%
# The maps show the probability of the second class. The training samples are inside the dashed
# circle; far outside, the Gaussian process returns to one half.
axis = np.linspace(-7.0, 7.0, 60)
grid = np.array(np.meshgrid(axis, axis)).reshape(2, -1).T
radius = np.linalg.norm(X, axis=1).max()
figure, axes = plt.subplots(1, 3, figsize=(11, 3.5), width_ratios=[1, 1, 1.1])
for ax, (name, model) in zip(axes, models.items(), strict=False):
    values = model.predict_proba(grid)[:, 1].reshape(60, 60)
    image = ax.contourf(axis, axis, values, levels=np.linspace(0, 1, 11), cmap="cividis")
    ax.add_patch(plt.Circle((0, 0), radius, fill=False, linestyle="--", color="white"))
    ax.set(title=name, xlabel="First feature", ylabel="Second feature", aspect="equal")
    CalibrationDisplay.from_estimator(
        model, X_test, y_test, n_bins=8, strategy="quantile", name=name, ax=axes[2]
    )
figure.colorbar(image, ax=axes[1], label="Probability of the second class")
axes[2].set(title="Calibration", xlabel="Predicted probability", ylabel="Share of the second class")
axes[2].legend(loc="upper left", fontsize=8)
plt.show()
