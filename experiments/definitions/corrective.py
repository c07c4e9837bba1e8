"""Fully corrective steps of CA-1D against the published, stagewise ones."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.c_search import C_GRID, error_of_kernel
from experiments.experiment import Experiment, Measures
from experiments.problems import CLASSIFICATION_SETS, Split, scaled, three_parts, whole
from mercer import ContinuousAlignment

MOST = 500
"""The largest number of training and of validation samples, and half that of test samples."""


def draw(repeat: int, *, name: str, most: int) -> Split:
    """Take half of a set to train and a quarter to validate; standardize by the training part."""
    X, y = whole(name)
    labels = np.unique(y, return_inverse=True)[1]
    sizes = (min(len(y) // 2, most), min(len(y) // 4, most), 2 * most)
    split = three_parts(X, labels, sizes, repeat)
    return scaled(split, make_pipeline(SimpleImputer(), StandardScaler()))


def grow(split: Split, *, step: Literal["corrective", "stagewise"]) -> Measures:
    """Return the alignment after each step, the number of kernels, and the kernel's test error."""
    learner = ContinuousAlignment(task="classification", step=step).fit(*split.train)
    found = dict(error_of_kernel(learner.kernel_, split))
    return {
        **found,
        "path": [taken.alignment for taken in learner.history_],
        "sizes": [taken.n_kernels for taken in learner.history_],
        "kernels": learner.weights_.size,
    }


def experiment(small: bool) -> Experiment:
    """Declare Algorithm 1, and the steps that the paper's preprint names as future work."""
    names = CLASSIFICATION_SETS[2:5] if small else CLASSIFICATION_SETS
    return Experiment(
        title="Corrective and stagewise steps",
        source="Afkanpour et al. 2013, Algorithm 1; corrective steps are not in the paper",
        problems={name: partial(draw, name=name, most=100 if small else MOST) for name in names},
        methods={
            "corrective": partial(grow, step="corrective"),
            "stagewise": partial(grow, step="stagewise"),
        },
        grids={"C": C_GRID},
    )
