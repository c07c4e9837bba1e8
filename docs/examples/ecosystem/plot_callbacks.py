"""
Callbacks and progress
======================

A fit records every step in its history. While it runs, it calls scikit-learn's callbacks: a
progress bar, or your own function.
"""

from time import perf_counter

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from mercer import MKLClassifier


# %%
# A callback is an object with a few methods. This one notes the time at the end of each step. In a
# terminal, ``sklearn.callback.ProgressBar`` shows a bar, and ``verbose=True`` prints a line per
# step.
class Stopwatch:
    """The times at which steps end."""

    def setup(self, *args, **kwargs):
        """Nothing has to be prepared."""

    def teardown(self, *args, **kwargs):
        """Nothing has to be cleaned up."""

    def on_fit_task_begin(self, estimator, context, *args, **kwargs):
        """The fit and each of its steps are tasks; the first to begin is the fit."""
        if not hasattr(self, "start"):
            self.start, self.times = perf_counter(), []

    def on_fit_task_end(self, estimator, context, *args, **kwargs):
        """Note the time of a step."""
        if context.task_name == "step":
            self.times.append(perf_counter() - self.start)


X, y = load_breast_cancer(return_X_y=True)
X, y = scale(X)[:300], y[:300]
models, watches = {}, {}
for solver in ("alternating", "newton"):
    model = MKLClassifier(norm=2, tol=1e-6, solver=solver)
    watches[solver] = Stopwatch()
    models[solver] = model.set_callbacks(watches[solver]).fit(X, y)

# %%
# The history has the objective and its proven gap after each step. The Newton solver, which is the
# default here, uses second derivatives and takes fewer steps than the alternating solver.
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
for solver, marker in (("alternating", "s-"), ("newton", "o-")):
    gaps = [step.gap for step in models[solver].history_]
    label = f"{solver}, {len(gaps)} steps"
    axes[0].plot(range(1, len(gaps) + 1), gaps, marker, label=label)
    axes[1].plot(watches[solver].times[: len(gaps)], gaps, marker, label=label)
for ax, label in zip(axes, ("Step", "Seconds since the fit began"), strict=True):
    ax.axhline(1e-6, color="0.5", linestyle=":", label="tolerance")
    ax.set(xlabel=label, yscale="log")
axes[0].set(title="Convergence with a proof", ylabel="Relative duality gap")
axes[0].legend()
plt.show()
