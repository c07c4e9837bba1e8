"""
Reasons for a class, in a table with categories
===============================================

Which columns make this case more probable, and by how much? Reasons refer to the columns of the
table, however categories and dates are encoded.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from mercer import EvidenceMaximization, KernelStackingClassifier
from mercer.inspection import shapley_values
from mercer.kernels import Gaussian, Laplacian

# %%
# The table is generated. Trains are late in the snow, in the rush hour, and on the coast line if it
# rains. The weekday and the number of the platform have no influence.
random = np.random.default_rng(0)
n = 800
table = pd.DataFrame(
    {
        "line": random.choice(["valley", "coast", "city"], n),
        "weather": random.choice(["sun", "rain", "snow"], n, p=[0.6, 0.3, 0.1]),
        "hour": random.integers(5, 24, n),
        "day": pd.Timestamp("2025-01-06") + pd.to_timedelta(random.integers(0, 300, n), "D"),
        "platform": random.integers(1, 9, n),
    }
)
rush = np.exp(-0.5 * (table["hour"] - 8) ** 2) + np.exp(-0.5 * (table["hour"] - 17) ** 2)
score = -2.0 + 2.5 * (table["weather"] == "snow") + 2.5 * rush
score += 3.0 * ((table["weather"] == "rain") & (table["line"] == "coast"))
late = np.where(random.random(n) < 1.0 / (1.0 + np.exp(-score)), "late", "in time")

# %%
# The kernels of this stack are products over columns, so Shapley values are exact.
X_train, X_test, y_train, y_test = train_test_split(table, late, random_state=0)
kernels = [Gaussian("median"), Laplacian("median", norm=1.0), EvidenceMaximization()]
model = KernelStackingClassifier(kernels).fit(X_train, y_train)
print(f"{model.score(X_test, y_test):.0%} of the test cases are classified correctly")

# %%
# Four cases in words. A contribution adds to the logarithm of the odds, and its exponential
# multiplies the odds.
found = shapley_values(model, X_test[:200])
cases = X_test[:200].reset_index(drop=True)
coast = (cases["line"] == "coast") & (cases["weather"] == "rain")
shown = int(np.flatnonzero(coast)[0])
for row in (shown, 1, 2, 4):
    print(found.headline(row))
    print("  " + "\n  ".join(found.in_words(row, 2)))

# %%
# Left: a train on the coast in the rain. Right: mean sizes of all contributions. The package shap
# draws them in other ways, such as ``shap.plots.beeswarm(found.to_shap())``.
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 3.6))
one = found.of_row(shown, "late")
cells = [f"{name} {cell}" for name, cell in zip(one.feature_names, cases.loc[shown], strict=True)]
left.barh(cells, np.exp(one.values[shown]) - 1.0, left=1.0)
left.set(xscale="log", xlabel="Multiplies the odds of being late by")
right.barh(found.feature_names, np.exp(found.importances) - 1.0, left=1.0)
right.set(xscale="log", xlabel="Mean factor on the odds of being late")
figure.tight_layout()
plt.show()
