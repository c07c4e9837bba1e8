"""
Your own kernel in twenty lines
===============================

Every learner can search a subclass of ``Kernel`` that has one parameter and its derivative. This
one is a periodic kernel, which scikit-learn calls ``ExpSineSquared``.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import ContinuousAlignment, TwoStageRegressor
from mercer.kernels import Gaussian, Kernel


# %%
# The kernel is ``exp(-sin²(π |x - x'| / p))`` on a single feature; the period p is learned.
# ``theta`` is the logarithm of the period, ``log_bounds`` the interval in which it is searched, and
# ``contract`` returns the sum of all entries of ``P * K`` and its derivative with respect to
# ``theta``.
class Periodic(Kernel):
    def __init__(self, period=1.0, bounds=(0.1, 10.0)):
        self.period, self.bounds = period, bounds

    @property
    def theta(self):
        return np.log([self.period])

    def with_theta(self, theta):
        return type(self)(float(np.exp(theta[0])), self.bounds)

    def log_bounds(self, X):
        return np.log([self.bounds])

    def _phase(self, X, Z):
        return np.pi * (X[:, :1] - Z[:, :1].T) / self.period

    def values(self, X, Z):
        return np.exp(-(np.sin(self._phase(X, Z)) ** 2))

    def diagonal(self, X):
        return np.ones(X.shape[0])

    def contract(self, X, P, Z):
        phase, PK = self._phase(X, Z), P * self.values(X, Z)
        return float(PK.sum()), np.array([np.sum(PK * phase * np.sin(2.0 * phase))])


# %%
# Difference quotients confirm the derivative.
random = np.random.default_rng(0)
X = random.uniform(0.0, 10.0, 120)[:, None]
P = random.normal(size=(120, 120))
kernel, step = Periodic(2.3), 1e-6
low, high = (kernel.with_theta(kernel.theta + sign * step).vjp(X, P)[0] for sign in (-1, 1))
print(f"{(high - low) / (2 * step):.6f} {kernel.vjp(X, P)[1][0]:.6f}")


# %%
# The data also have a trend. The learner fits the trend by Gaussian kernels, and still finds the
# period.
def truth(x):
    """A trend and a wave that is not a sine."""
    return np.exp(np.sin(2.0 * np.pi * x / 1.7)) + 0.15 * x


y = truth(X[:, 0]) + random.normal(0.0, 0.3, 120)
families = [Periodic(bounds=(1.0, 4.0)), Gaussian(bounds=(5.0, 50.0))]
model = TwoStageRegressor(ContinuousAlignment(families, tol=1e-2)).fit(X, y)
for share, kernel in zip(model.learner_.shares_, model.learner_.kernels_, strict=True):
    period = f", period {kernel.period:.3f}" if isinstance(kernel, Periodic) else ""
    print(f"share {share:.2f}: {kernel.describe()}{period}")

# %%
x = np.linspace(0.0, 14.0, 700)
figure, ax = plt.subplots(figsize=(8, 3.4))
ax.plot(X, y, ".", color="0.5", label="observations")
ax.plot(x, truth(x), "--", color="C1", label="truth")
ax.plot(x, model.predict(x[:, None]), color="C0", label="prediction")
ax.axvline(10.0, color="0.6", linestyle=":")
ax.set(
    title="The learned period goes on beyond the data (dotted line)",
    xlabel="Time",
    ylabel="Signal",
    ylim=(-0.5, 6.5),
)
ax.legend(ncols=3, loc="upper left")
plt.show()
