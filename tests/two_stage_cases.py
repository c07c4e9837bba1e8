"""What tests of the second stages share."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import KernelCenterer

from mercer import UniformCombination
from mercer._kernel_estimator import training_data
from mercer._two_stage.learner_choice import isotropic_learners
from mercer.kernels import Gaussian


def gaussian_stack(X, Z, widths=(1.0, 2.0, 4.0)):
    """Kernels last, as cross_val_score wants them."""
    return np.stack([Gaussian(bandwidth=w)(X, Z) for w in widths], axis=-1)


def centered(gram):
    return KernelCenterer().fit_transform(gram)


def brute_force_leave_one_out(gram, targets, alpha):
    """Solve for coefficients and intercept, without centering anything, n times."""
    n = len(gram)
    residuals = np.empty_like(targets)
    for i in range(n):
        rest = np.arange(n) != i
        m = n - 1
        system = np.block(
            [[gram[np.ix_(rest, rest)] + alpha * np.eye(m), np.ones((m, 1))],
             [np.ones((1, m)), np.zeros((1, 1))]]
        )  # fmt: skip
        solution = np.linalg.solve(system, np.vstack([targets[rest], np.zeros_like(targets[:1])]))
        residuals[i] = targets[i] - gram[i, rest] @ solution[:-1] - solution[-1]
    return residuals


def shuffled(n_folds):
    """The folds that a number stands for."""
    return StratifiedKFold(n_folds, shuffle=True, random_state=0)


def isotropic(X, y, task, sample_weight=None, **settings):
    """The kernels that are compared where no learner is given."""
    data = training_data(UniformCombination(), X, y, sample_weight)
    return isotropic_learners(data, task, **settings)
