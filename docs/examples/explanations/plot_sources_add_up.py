"""
Two sources whose contributions add up
======================================

A model on a sum of kernels, one for each source of data, is a sum of functions of the sources. The
contribution of a source to a prediction is exact, and contributions add up, whatever the kernels
are.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import AlignmentMaximization, TwoStageRegressor
from mercer.inspection import shapley_interactions, shapley_values
from mercer.kernels import Gaussian, Laplacian, OnColumns

# %%
# The yield of a field depends on its soil (six measurements) and on spectra of its plants (thirty
# bands; neighboring bands are alike). The data are generated.
random = np.random.default_rng(0)
n = 400
soil = random.normal(size=(n, 6))
plants = random.normal(size=(n, 3)) @ random.normal(size=(3, 30)) / 2.0
plants += 0.2 * random.normal(size=(n, 30))
part_of_soil = 2.0 * np.tanh(soil[:, 0]) + soil[:, 1] ** 2
part_of_plants = 0.4 * plants[:, :10].sum(axis=1)
yields = 50.0 + part_of_soil + part_of_plants + random.normal(0.0, 0.5, n)
X = np.hstack([soil, plants])

# %%
# Each source has one kernel, and one contribution.
sources = {"soil": list(range(6)), "plants": list(range(6, 36))}
kernels = [
    OnColumns(Gaussian("median"), sources["soil"]),
    OnColumns(Laplacian("median"), sources["plants"]),
]
model = TwoStageRegressor(AlignmentMaximization(kernels)).fit(X[:300], yields[:300])
found = shapley_values(model, X[300:], X[:300], groups=sources)
print(f"R² {model.score(X[300:], yields[300:]):.2f}")
print("largest standard error", found.standard_errors.max())
pairs = shapley_interactions(model, X[300:], X[:300], groups=sources)
print("largest interaction of both sources", np.abs(pairs.values).max())
print(found.in_words(0, unit="t"))

# %%
# Contributions are relative to the average field, and so are the true parts of the generated
# yields.
truth = np.column_stack([part - part[:300].mean() for part in (part_of_soil, part_of_plants)])[300:]
for name, one, other in zip(sources, found.values.T, truth.T, strict=True):
    print(f"{name}: correlation with the true part {np.corrcoef(one, other)[0, 1]:.2f}")

# %%
# For each of twelve fields, the bars of both sources sum to the dot: the prediction minus that of
# the average field.
shown = np.argsort(found.predictions)[::9]
figure, ax = plt.subplots(figsize=(8.0, 3.8))
position, raised, lowered = np.arange(len(shown)), np.zeros(len(shown)), np.zeros(len(shown))
for source, (name, values) in enumerate(zip(sources, found.values[shown].T, strict=True)):
    start = np.where(values > 0.0, raised, lowered)
    ax.bar(position, values, bottom=start, width=0.7, color=f"C{source}", label=name)
    raised, lowered = raised + values.clip(0.0), lowered + values.clip(None, 0.0)
ax.plot(position, found.predictions[shown] - found.base_value, "o", color="0.25", label="sum")
ax.axhline(0.0, color="0.6", linewidth=1.0)
ax.set(
    xticks=position,
    xticklabels=shown + 300,
    xlabel="Field",
    ylabel="Yield minus the average field, t",
    title="What each source contributes to a prediction",
)
ax.legend()
plt.show()
