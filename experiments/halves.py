"""Stratified halves of ten sets, and C by cross-validation: Wang & Li (2018), section 4."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from experiments.c_search import MAX_ITER
from experiments.experiment import Draw
from experiments.problems import Array, Part, whole

# The paper's sets in its order, and their names in the data folder. Of waveform, the paper has
# the first 21 of 40 features.
SETS = {
    "zoo": "zoo",
    "sonar": "sonar",
    "ecoli": "ecoli",
    "ionosphere": "ionosphere",
    "dermatology": "dermatology",
    "australian": "australian",
    "vehicle": "vehicle",
    "yeast": "yeast",
    "segment": "segment",
    "waveform": "waveform40",
}

# The number of features of each set.
N_FEATURES = {
    "zoo": 16,
    "sonar": 60,
    "ecoli": 7,
    "ionosphere": 34,
    "dermatology": 34,
    "australian": 14,
    "vehicle": 18,
    "yeast": 8,
    "segment": 19,
    "waveform": 21,
}

# The sets of experiments that take seconds.
SMALL_SETS = ("zoo", "ecoli")

# The paper's values of C.
C_GRID: Array = 2.0 ** np.arange(-5, 16, 2)
# The paper's values of gamma.
GAMMAS: Array = 2.0 ** np.arange(-15, 4)


@dataclass(frozen=True)
class Halves:
    """A training and a test half, whose features are scaled to [0, 1] by the former."""

    train: Part
    test: Part


def halves(name: str) -> Draw:
    """Return a function that draws random stratified halves of a set; the repeat is the seed."""

    def draw(repeat: int) -> Halves:
        X, y = whole(SETS[name])
        X = X[:, : N_FEATURES[name]]
        splitter = StratifiedShuffleSplit(1, test_size=0.5, random_state=repeat)
        train, test = next(splitter.split(X, y))
        scale = make_pipeline(SimpleImputer(), MinMaxScaler()).fit(X[train])
        return Halves((scale.transform(X[train]), y[train]), (scale.transform(X[test]), y[test]))

    return draw


def problems(small: bool) -> dict[str, Draw]:
    """Return the draws of the ten sets, or of two small ones."""
    return {name: halves(name) for name in (SMALL_SETS if small else SETS)}


def quietly(function: Callable[[], GridSearchCV]) -> GridSearchCV:
    """Call a function, and ignore warnings of rare classes and of machines that were stopped."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        warnings.simplefilter("ignore", ConvergenceWarning)
        return function()


def machine_of_gram(gram: Array, y: Array, grid: Array = C_GRID) -> GridSearchCV:
    """Return the support vector machine on a Gram matrix whose C is best in five folds."""
    machine = SVC(kernel="precomputed", max_iter=MAX_ITER)
    return quietly(lambda: GridSearchCV(machine, {"C": grid}, cv=5).fit(gram, y))


def machine_of_grid(X: Array, y: Array, gammas: Array = GAMMAS) -> GridSearchCV:
    """Return the machine whose gamma and C are best in five folds, the paper's CV."""
    grid = {"gamma": gammas, "C": C_GRID}
    return quietly(lambda: GridSearchCV(SVC(max_iter=MAX_ITER), grid, cv=5).fit(X, y))
