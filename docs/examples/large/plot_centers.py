"""
Centers against error
=====================

Nyström features replace the kernel between all rows by the kernel with a few rows, the centers.
More centers take more time. The picture shows how the error falls with the number of centers, until
further centers do not help.
"""

import matplotlib.pyplot as plt

from mercer import TwoStageClassifier
from mercer.datasets import make_ringnorm

# %%
# There are two Gaussian classes in twenty features; one class surrounds the other.
X, y = make_ringnorm(4000, random_state=0)
X_test, y_test = make_ringnorm(2000, random_state=1)
centers = [10, 30, 100, 300]
errors = []
for m in centers:
    model = TwoStageClassifier(approximation="nystroem", n_components=m)
    errors.append(100.0 * (1.0 - model.fit(X, y).score(X_test, y_test)))
    print(f"{m} centers: {errors[-1]:.2f} % wrong")
exact = TwoStageClassifier(approximation="exact", C=1.0).fit(X[:1000], y[:1000])
reference = 100.0 * (1.0 - exact.score(X_test, y_test))

# %%
figure, ax = plt.subplots()
ax.plot(centers, errors, "o-", label="Nyström features, 4,000 rows")
ax.axhline(reference, color="C1", linestyle="--", label="all pairs, 1,000 rows")
ax.set(
    title="Errors by the number of centers",
    xscale="log",
    xlabel="Number of centers",
    ylabel="Wrong labels on new rows (%)",
    ylim=(0, None),
)
ax.set_xticks(centers, [str(m) for m in centers])
ax.minorticks_off()
ax.legend()
plt.show()
