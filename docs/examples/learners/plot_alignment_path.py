"""
How a sum of kernels grows, and where to stop
=============================================

``ContinuousAlignment`` adds one kernel at a time. Its alignment with the training labels never
falls; on new samples it levels off, which is what the stopping rule is for.
"""

import matplotlib.pyplot as plt

from mercer import ContinuousAlignment
from mercer.datasets import make_sine
from mercer.kernels import Dirichlet
from mercer.metrics import centered_alignment

# %%
# A run with a tiny tolerance goes on after the kernel is good. The corrective step solves for all
# weights anew; the stagewise one, as published, changes the newest weight only.
X, y = make_sine(300, random_state=0)
X_test, y_test = make_sine(600, random_state=1)
family = Dirichlet(bounds=(0.1, 20.0))
paths, tests = {}, {}
for step in ("corrective", "stagewise"):
    paths[step], tests[step] = [], []
    for n_kernels in range(1, 11):
        learner = ContinuousAlignment(family, step=step, tol=1e-9, max_kernels=n_kernels)
        learner.fit(X, y)
        paths[step].append(learner.alignment_)
        tests[step].append(centered_alignment(learner.kernel_(X_test), y_test))
default = ContinuousAlignment(family).fit(X, y)
print(f"by default, the learner stops after {default.n_iter_} steps")

# %%
figure, ax = plt.subplots()
for (step, path), color in zip(paths.items(), ("C0", "C1"), strict=True):
    ax.plot(range(1, 11), path, "o-", color=color, label=f"{step}, training samples")
    ax.plot(range(1, 11), tests[step], "o--", color=color, label=f"{step}, new samples")
ax.axvline(default.n_iter_, color="0.5", linestyle=":")
ax.text(default.n_iter_ + 0.1, 0.02, "default stop", color="0.4")
ax.set(
    title="Alignment after each step",
    xlabel="Number of steps",
    ylabel="Centered alignment with the labels",
    ylim=(0.0, None),
)
ax.legend(loc="lower right")
plt.show()
