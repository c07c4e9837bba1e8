"""
Gaussian-process kernels of scikit-learn, on columns
====================================================

scikit-learn's Gaussian-process kernels act on all columns. Wrapped in ``OnColumns``, each part of a
sum acts on its own columns, and a learner weights the parts and finds their parameters.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process.kernels import RBF, ExpSineSquared

from mercer import BayesianMKLRegressor
from mercer.kernels import OnColumns, as_kernel

# %%
# Temperatures at stations depend on the season, which is periodic in time, and on the place.
random = np.random.default_rng(0)
n = 200
day = random.uniform(0.0, 730.0, n)
place = random.uniform(0.0, 1.0, (n, 2))
season = 8.0 * np.sin(2.0 * np.pi * (day - 100.0) / 365.0)
height = 5.0 * np.exp(-8.0 * ((place - 0.4) ** 2).sum(axis=1))
y = 10.0 + season - height + random.normal(0.0, 1.0, n)
X = np.column_stack([day, place])

# %%
# The period is given; the width in space is learned by marginal likelihood.
yearly = ExpSineSquared(1.5, 365.0, length_scale_bounds="fixed", periodicity_bounds="fixed")
kernels = [
    OnColumns(as_kernel(yearly), [0]),
    OnColumns(as_kernel(RBF(0.3, (0.05, 5.0))), [1, 2]),
]
model = BayesianMKLRegressor(kernels, learn_parameters=True).fit(X, y)
print("shares:", model.shares_.round(2), "noise variance:", round(float(model.noise_variance_), 2))

# %%
# Each picture shows one learned part, with the columns of the other part held constant.
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), width_ratios=[1.3, 1])
days = np.linspace(0.0, 730.0, 200)
mean, std = model.predict(np.column_stack([days, np.full((200, 2), 0.8)]), return_std=True)
left.plot(day, y, ".", color="0.6", label="all stations")
left.fill_between(days, mean - 2 * std, mean + 2 * std, alpha=0.25)
left.plot(days, mean, label="one place, with two deviations")
left.set(title="In time", xlabel="Day", ylabel="Temperature (°C)", ylim=(-4.0, 26.0))
left.legend(fontsize=8, loc="upper left")
axis = np.linspace(0.0, 1.0, 40)
grid = np.array(np.meshgrid(axis, axis)).reshape(2, -1).T
values = model.predict(np.column_stack([np.full(len(grid), 100.0), grid])).reshape(40, 40)
image = right.contourf(axis, axis, values, levels=12, cmap="cividis")
right.set(title="In space, on day 100", xlabel="East", ylabel="North", aspect="equal")
figure.colorbar(image, ax=right, label="Temperature (°C)")
plt.show()
