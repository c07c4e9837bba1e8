"""
Frequencies of a sum of sines
=============================

The label is the sign of a sum of three sines. No coarse list of frequencies contains the right
ones, so kernels from a list fail. A search over all frequencies finds them.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import AlignmentMaximization, ContinuousAlignment, TwoStageClassifier
from mercer.datasets import SINE_FREQUENCIES, make_sine
from mercer.kernels import Dirichlet

# %%
# The kernel ``1 + 2 cos(s |x - x'|)`` of frequency s compares two points by their phase. One
# learner has the frequencies 1, 2, ..., 10, the other all frequencies up to 20.
X, y = make_sine(500, random_state=0)
X_test, y_test = make_sine(1000, random_state=1)
on_list = TwoStageClassifier(AlignmentMaximization([Dirichlet(float(s)) for s in range(1, 11)]))
searched = TwoStageClassifier(ContinuousAlignment(Dirichlet(bounds=(0.1, 20.0))))
errors = {}
for name, model in (("a list of frequencies", on_list), ("all frequencies", searched)):
    errors[name] = 1.0 - model.fit(X, y).score(X_test, y_test)
    print(f"{name}: {errors[name]:.1%} of the test labels are wrong")

# %%
# The frequencies that were found, and the three true ones, √2, √12 and √60.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), width_ratios=[3, 2])
for frequency in SINE_FREQUENCIES:
    left.axvline(frequency, color="0.6", linestyle=":")
found = [kernel.frequency for kernel in searched.kernel_.kernels]
left.vlines(found, 0.0, searched.weights_, color="C0")
left.plot(found, searched.weights_, "o", color="C0")
left.set(
    title="Frequencies found; dotted: the true ones",
    xlabel="Frequency (radians per unit)",
    ylabel="Weight of the kernel",
    xlim=(0.0, 10.0),
    ylim=(0.0, None),
)
right.bar(np.arange(2), [100 * error for error in errors.values()], color=["C1", "C0"], width=0.6)
right.set(title="Error on new points", ylabel="Wrong labels (%)", xticks=np.arange(2))
right.set_xticklabels(["frequencies\n1, 2, ..., 10", "all\nfrequencies"])
plt.show()
