"""Starting points of the search for widths: 1/d, for d features, or the data's scale."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from experiments.experiment import Experiment, Measures, Method
from experiments.halves import C_GRID, Halves, machine_of_gram, problems
from experiments.problems import Array
from mercer import KernelOptimization
from mercer._criteria import CRITERIA, contract
from mercer._gram.samples import Samples
from mercer._targets import as_target
from mercer.kernels import Gaussian

N_STARTS = 9
"""The number of widths, over the range of the data's distances, of which the best is taken."""

MOST_STEPS = 500
"""The search ends after this number of iterations at the latest."""


@dataclass(frozen=True)
class Objective:
    """A criterion as the paper defines it: tr(KHLH) for HSIC, else the alignment."""

    criterion: str
    X: Array
    y: Array
    ard: bool

    def __call__(self, log_widths: Array) -> tuple[float, Array]:
        """Return the criterion and its gradient."""
        samples, target, criterion = Samples(self.X), as_target(self.y), CRITERIA[self.criterion]
        widths = np.exp(log_widths)
        kernel = Gaussian(widths if self.ard else widths[0], ard=self.ard).bind(self.X)
        value, sensitivity = criterion.evaluate(samples, kernel, target)
        gradient = contract(samples, kernel, sensitivity)[1]
        return self.scale * value, self.scale * gradient

    @property
    def scale(self) -> float:
        """What the criterion of the package is multiplied by."""
        return float((len(self.X) - 1) ** 2) if self.criterion == "hsic" else 1.0

    def n_widths(self) -> int:
        """Return the number of widths."""
        return self.X.shape[1] if self.ard else 1


@dataclass(frozen=True)
class Found:
    """The end of a search, and its number of iterations."""

    kernel: Gaussian
    value: float
    n_iter: int

    @property
    def log_widths(self) -> Array:
        """The log-widths that were found."""
        return self.kernel.theta


def bfgs(objective: Objective, log_width: float) -> Found:
    """Run BFGS until an iteration gains less than 1e-5 of the criterion, as in the paper."""
    learner = KernelOptimization(
        Gaussian(ard=objective.ard),
        objective.criterion,  # type: ignore[arg-type]
        start=float(np.exp(log_width)),
        ard_penalty=0.0,
        max_iter=MOST_STEPS,
        task="classification",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        learner.fit(objective.X, objective.y)
    return Found(learner.kernels_[0], objective.scale * learner.objective_, learner.n_iter_)


def from_features(objective: Objective) -> Found:
    """Search from the paper's start, widths of one over the number of features."""
    return bfgs(objective, -np.log(objective.X.shape[1]))


def from_gamma(objective: Objective) -> Found:
    """Search from gamma = 1 / s^2 of one over the number of features, LIBSVM's default."""
    return bfgs(objective, 0.5 * np.log(objective.X.shape[1]))


def from_grid(objective: Objective) -> Found:
    """Search from the best of nine widths over the range of the data's distances."""
    low, high = Gaussian().log_bounds(objective.X)[0]
    starts = np.linspace(low, high, N_STARTS + 2)[1:-1, None]
    return bfgs(objective, float(max(starts, key=lambda start: objective(start)[0])[0]))


def from_isotropic(objective: Objective) -> Found:
    """Search for widths per feature from the best single width."""
    isotropic = from_grid(replace(objective, ard=False))
    found = bfgs(objective, float(isotropic.log_widths[0]))
    return replace(found, n_iter=isotropic.n_iter + found.n_iter)


STARTS = {
    False: {"1/d": from_features, "gamma 1/d": from_gamma, "grid": from_grid},
    True: {"1/d": from_features, "gamma 1/d": from_gamma, "isotropic": from_isotropic},
}
"""The searches by the names of their starts, without and with a width per feature."""
CRITERION_NAMES = ("KA", "CKA", "HSIC")


def search(criterion: str, start: str, *, ard: bool) -> Method:
    """Return a method that maximizes one criterion from one start."""

    def measure(data: Halves) -> Measures:
        X, y = data.train
        objective = Objective(criterion, X, y, ard)
        found = STARTS[ard][start](objective)
        kernel = found.kernel
        machine = machine_of_gram(kernel(X), y)
        value, gradient = objective(np.full(objective.n_widths(), -np.log(X.shape[1])))
        return {
            "error": 1.0 - machine.score(kernel(data.test[0], X), data.test[1]),
            "criterion": found.value,
            "iterations": found.n_iter,
            "slope": float(np.linalg.norm(gradient)) / abs(value) if value else 0.0,
            "width": float(np.exp(found.log_widths.mean())),
        }

    return measure


def experiment(small: bool) -> Experiment:
    """Declare BFGS from three starts, for three criteria and two forms of the kernel."""
    methods = {
        f"{name}{' ARD' if ard else ''}, {start}": search(name.lower(), start, ard=ard)
        for ard in (False, True)
        for name in CRITERION_NAMES
        for start in STARTS[ard]
    }
    return Experiment(
        title="Starts of the search for widths",
        source="Wang & Li (2018), section 4.2.1",
        problems=problems(small),
        methods=methods,
        limits={("yeast", name): 2 for name in methods}
        | {("waveform", name): 1 for name in methods},
        repeats=3,
        test_to_train=1.0,
        grids={"C": C_GRID},
    )
