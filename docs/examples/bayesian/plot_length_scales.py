"""
Length scales of a Gaussian process in a fraction of the time
=============================================================

scikit-learn's Gaussian process holds the gradients of all length scales as one large array. mercer
sums them up block by block, so many features cost little.
"""

from time import perf_counter
from warnings import simplefilter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from mercer import EvidenceMaximization, TwoStageRegressor

# %%
# The response depends on five of fifteen features. Both methods maximize the marginal likelihood
# over one length scale for each feature, the amplitude and the noise. mercer also has a weak normal
# prior on the logarithms of the length scales; scikit-learn has none, and warns that some length
# scales reach their bound. With a given penalty, mercer learns the kernel once; a search for the
# penalty would learn it again in each fold.
simplefilter("ignore", ConvergenceWarning)
X, y = make_friedman1(200, n_features=15, noise=0.5, random_state=0)
X_test, y_test = make_friedman1(1000, n_features=15, random_state=1)

start = perf_counter()
kernel = ConstantKernel() * RBF(np.ones(15), (0.1, 1e3)) + WhiteKernel()
process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0).fit(X, y)
seconds = {"scikit-learn": perf_counter() - start}
scores = {"scikit-learn": process.score(X_test, y_test)}
lengths = {"scikit-learn": process.kernel_.k1.k2.length_scale}

start = perf_counter()
model = TwoStageRegressor(EvidenceMaximization(width_deviation=3.0), alpha=0.01).fit(X, y)
seconds["mercer"] = perf_counter() - start
scores["mercer"] = model.score(X_test, y_test)
lengths["mercer"] = 1.0 / np.sqrt(2.0 * model.learner_.kernels_[0].relevance(15))
for name, time in seconds.items():
    print(f"{name}: {time:.2f} s, R² {scores[name]:.3f}")

# %%
# A feature with a large length scale has no influence: the kernel does not change along it. The
# length scale of a Gaussian kernel is its width divided by √2. Times were measured on the machine
# that built this page.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), width_ratios=[3, 1])
for name, marker, color in (("scikit-learn", "o", "C1"), ("mercer", "D", "C0")):
    label = f"{name}, R² {scores[name]:.2f}"
    left.plot(np.arange(15), lengths[name], marker, color=color, label=label)
left.axvline(4.5, color="0.6", linestyle="--")
left.set(
    title="Only the features left of the dashed line matter",
    xlabel="Feature",
    ylabel="Length scale (unit of the feature)",
    yscale="log",
)
left.legend()
right.bar(list(seconds), list(seconds.values()), color=["C1", "C0"], width=0.6)
right.set(title="Time", ylabel="Seconds of the fit")
plt.show()
