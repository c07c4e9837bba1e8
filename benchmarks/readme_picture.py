"""Draw the README's picture: the sine problem, and the frequencies that are learned from it.

    python benchmarks/readme_picture.py [FILE]

The problem is that of Afkanpour et al. (2013), section 3.1, with 500 training points.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from mercer import ContinuousAlignment, TwoStageClassifier, UniformCombination
from mercer.datasets import SINE_FREQUENCIES, make_sine
from mercer.inspection import AlignmentPathDisplay
from mercer.kernels import Dirichlet

FREQUENCIES = (0.0, 20.0)
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "sine.png"
BLUE, ORANGE, GREY = "#2f6f9f", "#d9792b", "#8a8a8a"


def draw_problem(ax: Axes, X: np.ndarray, y: np.ndarray) -> None:
    """Draw the function behind the labels, and the training points."""
    x = np.linspace(-10.0, 10.0, 2000)
    ax.plot(x, np.sin(np.outer(x, SINE_FREQUENCIES)).sum(axis=1), color=GREY, lw=0.8)
    for label, color in ((1, BLUE), (-1, ORANGE)):
        points = X[y == label, 0]
        ax.plot(points, np.full(points.size, 3.4 * label), "|", color=color, ms=7)
    ax.set(title="Labels: the sign of three sines", xlabel="x", ylabel="sum of sines")


def draw_frequencies(ax: Axes, model: TwoStageClassifier) -> None:
    """Draw the weights over the frequencies found, and the true frequencies."""
    found = [kernel.frequency for kernel in model.kernel_.kernels]
    for frequency, name in zip(SINE_FREQUENCIES, ("√2", "√12", "√60"), strict=True):
        ax.axvline(frequency, ymax=0.92, color=GREY, ls=":", lw=1.2)
        ax.text(frequency, 0.93, name, color=GREY, ha="center", transform=ax.get_xaxis_transform())
    ax.vlines(found, 0.0, model.weights_, color=BLUE, lw=3)
    ax.plot(found, model.weights_, "o", color=BLUE)
    ax.set(xlim=(0.0, 10.0), ylim=(0.0, 1.2 * model.weights_.max()))
    ax.set(title="Frequencies found, and the true ones", xlabel="frequency", ylabel="weight")


def main(path: Path = PICTURE) -> None:
    """Learn the kernel, print what was found, and write the picture."""
    X, y = make_sine(500, random_state=0)
    X_test, y_test = make_sine(1000, random_state=1)
    learner = ContinuousAlignment(Dirichlet(bounds=FREQUENCIES))
    model = TwoStageClassifier(learner).fit(X, y)
    for kernel, weight in zip(model.kernel_.kernels, model.weights_, strict=True):
        print(f"weight {weight:.3f}: {kernel.describe()}")
    print(f"test error {100 * (1 - model.score(X_test, y_test)):.1f} %")
    for frequency in SINE_FREQUENCIES:
        alone = TwoStageClassifier(UniformCombination([Dirichlet(frequency)]), C=1.0).fit(X, y)
        error = 100 * (1 - alone.score(X_test, y_test))
        print(f"frequency {frequency:.3f} alone: test error {error:.1f} %")

    figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
    draw_problem(axes[0], X, y)
    draw_frequencies(axes[1], model)
    AlignmentPathDisplay.from_estimator(model, ax=axes[2])
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    print(f"written: {path}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
