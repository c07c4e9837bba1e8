"""
Ordered grades
==============

Grades have an order, but no distances. Ordered logistic regression learns one function and the
thresholds between the grades. It errs by fewer grades than a classifier that ignores the order.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelLogisticRegression, KernelOrdinalClassifier

# %%
# Five grades of a product depend on two measurements. The estimator cannot tell their order from
# the names, so `categories` lists them in order.
rng = np.random.default_rng(0)
names = np.array(["poor", "fair", "good", "very good", "excellent"])


def sample(n_rows):
    X = rng.uniform(-2.0, 2.0, (n_rows, 2))
    quality = 3.0 * np.sin(1.5 * X[:, 0]) - X[:, 1] ** 2 + rng.logistic(size=n_rows)
    return X, np.digitize(quality, [-3.5, -2.0, 0.0, 1.5])


(X, ranks), (X_new, ranks_new) = sample(150), sample(2000)
ordinal = KernelOrdinalClassifier(categories=names).fit(X, names[ranks])
plain = KernelLogisticRegression().fit(X, ranks)
print("thresholds:", ordinal.thresholds_.round(2))

# %%
# The median grade has the lowest expected absolute error.
medians = np.searchsorted(ordinal.thresholds_, ordinal.predict_latent(X_new))
assert np.array_equal(names[medians], ordinal.predict_median(X_new))
errors = {
    "ordered, median": np.abs(medians - ranks_new),
    "classes without order": np.abs(plain.predict(X_new) - ranks_new),
}
for name, error in errors.items():
    print(f"{name}: mean absolute error {error.mean():.2f} grades")

# %%
# Left: each grade is most probable on an interval of the latent values. Right: classes without an
# order err by two grades or more on more of the rows.
figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.8))
latent = np.linspace(ordinal.predict_latent(X_new).min(), ordinal.predict_latent(X_new).max(), 200)
below = 1.0 / (1.0 + np.exp(latent[:, None] - ordinal.thresholds_))
shares = np.diff(np.column_stack([np.zeros(200), below, np.ones(200)]), axis=1)
left.stackplot(latent, shares.T, labels=names, alpha=0.85)
left.set(
    title="Probabilities of the grades",
    xlabel="Latent value",
    ylabel="Probability",
    ylim=(0.0, 1.0),
)
left.legend(loc="upper left", facecolor="white", framealpha=0.8, frameon=True)
for shift, (name, error) in zip((-0.2, 0.2), errors.items(), strict=True):
    frequencies = np.bincount(error, minlength=5)[:5] / len(error)
    right.bar(np.arange(5) + shift, frequencies, 0.4, label=name)
right.set(title="Errors on new rows", xlabel="Error (grades)", ylabel="Fraction of the rows")
right.legend()
plt.show()
