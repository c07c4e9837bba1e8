"""What tests of the second stages share."""

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import KernelCenterer

from mercer import UniformCombination
from mercer._data.sample import content_ranks
from mercer._estimators.kernel_estimator import training_data
from mercer._estimators.two_stage.kernel_choice import isotropic_kernels
from mercer.kernels import Gaussian


def gaussian_stack(X, Z, widths=(1.0, 2.0, 4.0)):
    """Kernels last, as cross_val_score wants them."""
    return np.stack([Gaussian(bandwidth=w)(X, Z) for w in widths], axis=-1)


def centered(gram):
    return KernelCenterer().fit_transform(gram)


def shuffled(n_folds, X, y, kind=StratifiedKFold):
    """The folds that a number stands for: those of rows in the order of their contents."""
    order = np.argsort(content_ranks(X, y))
    splitter = kind(n_folds, shuffle=True, random_state=0)
    found = splitter.split(X, y[order])
    return [(np.sort(order[train]), np.sort(order[test])) for train, test in found]


def isotropic(X, y, task, sample_weight=None, **settings):
    """The kernels that are compared where no learner is given."""
    data = training_data(UniformCombination(), X, y, sample_weight)
    classes = task == "classification"
    return isotropic_kernels(data, classes=classes, machines=classes, **settings)
