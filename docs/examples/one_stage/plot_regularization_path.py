"""
The regularization path of multiple kernel learning
===================================================

With the l1-norm, multiple kernel learning selects few kernels. The penalty of the support vector
machine decides which ones: the path shows the shares of all kernels for each penalty.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from mercer import MKLClassifier
from mercer.kernels import Gaussian

# %%
X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=250, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
widths = np.geomspace(1.0, 64.0, 7)
penalties = np.geomspace(0.01, 100.0, 9)
kernels = [Gaussian(width) for width in widths]

# %%
# Every fit has a certificate: the duality gap bounds how far its objective is above the optimum.
shares, errors, gaps = [], [], []
for C in penalties:
    model = MKLClassifier(kernels, norm=1, C=C).fit(X_train, y_train)
    shares.append(model.shares_)
    errors.append(100.0 * (1.0 - model.score(X_test, y_test)))
    gaps.append(model.dual_gap_)
print(f"the largest relative duality gap is {max(gaps):.1e}")

# %%
figure, (top, bottom) = plt.subplots(2, 1, figsize=(5.2, 5.4), sharex=True, height_ratios=[3, 2])
colors = plt.get_cmap("viridis")(np.linspace(0.0, 0.95, len(widths)))
labels = [f"{width:.3g}" for width in widths]
top.stackplot(penalties, np.array(shares).T, colors=colors, labels=labels)
top.set(title="Which widths are selected", ylabel="Share in the learned kernel", ylim=(0, 1))
top.legend(title="Width", bbox_to_anchor=(1.01, 1.0), loc="upper left")
bottom.plot(penalties, errors, "o-", color="C1")
bottom.set(
    xscale="log",
    xlabel="Penalty C of the support vector machine",
    ylabel="Wrong labels (%)",
    ylim=(0, None),
)
plt.show()
