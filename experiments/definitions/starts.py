"""Starting points of the search for widths: 1/d, for d features, or the data's scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from experiments.experiment import Experiment, Measures, Method
from experiments.halves import Halves, machine_of_gram, problems
from experiments.problems import Array
from mercer._criteria import CRITERIA, contract
from mercer._gram.tiles import Samples
from mercer._targets import Target, as_target
from mercer.kernels import Gaussian

TOL = 1e-5
"""The search ends when an iteration raises the criterion by less than this, relatively."""

N_STARTS = 9
"""The number of widths, over the range of the data's distances, of which the best is taken."""

MOST = 150.0
"""Log-widths are clipped to this magnitude, so that exp does not overflow; a feature of a larger
width has no influence."""


@dataclass(frozen=True)
class Objective:
    """A criterion as the paper defines it: tr(KHLH) for HSIC, else the alignment."""

    criterion: str
    samples: Samples
    target: Target
    ard: bool

    def kernel(self, log_widths: Array) -> Gaussian:
        """Return the kernel of these log-widths."""
        widths = np.exp(np.clip(log_widths, -MOST, MOST))
        return Gaussian(widths if self.ard else widths[0], ard=self.ard)

    def __call__(self, log_widths: Array) -> tuple[float, Array]:
        """Return the criterion and its gradient."""
        criterion, kernel = CRITERIA[self.criterion], self.kernel(log_widths)
        kernel = kernel.bind(self.samples.X)
        value, sensitivity = criterion.evaluate(self.samples, kernel, self.target)
        gradient = contract(self.samples, kernel, sensitivity)[1]
        scale = (self.samples.n_samples - 1) ** 2 if self.criterion == "hsic" else 1
        return scale * value, scale * gradient


@dataclass(frozen=True)
class Found:
    """The end of a search, and its number of iterations."""

    log_widths: Array
    value: float
    n_iter: int


def bfgs(objective: Objective, start: Array) -> Found:
    """Run BFGS until an iteration gains less than 1e-5 of the criterion, as in the paper."""
    values = [objective(start)[0]]
    latest = [start]

    def stop(intermediate_result: object) -> None:
        latest.append(np.array(intermediate_result.x))  # type: ignore[attr-defined]
        values.append(-intermediate_result.fun)  # type: ignore[attr-defined]
        if values[-1] - values[-2] <= TOL * abs(values[-2]):
            raise StopIteration

    def negative(log_widths: Array) -> tuple[float, Array]:
        value, gradient = objective(log_widths)
        return -value, -gradient

    minimize(
        negative, start, jac=True, method="BFGS", callback=stop, options={"gtol": 0, "maxiter": 500}
    )
    return Found(latest[-1], values[-1], len(values) - 1)


def from_features(objective: Objective) -> Found:
    """Search from the paper's start, widths of one over the number of features."""
    d = objective.samples.X.shape[1]
    return bfgs(objective, np.full(d if objective.ard else 1, -np.log(d)))


def from_gamma(objective: Objective) -> Found:
    """Search from gamma = 1 / s^2 of one over the number of features, LIBSVM's default."""
    d = objective.samples.X.shape[1]
    return bfgs(objective, np.full(d if objective.ard else 1, 0.5 * np.log(d)))


def from_grid(objective: Objective) -> Found:
    """Search from the best of nine widths over the range of the data's distances."""
    low, high = Gaussian().log_bounds(objective.samples.X)[0]
    starts = np.linspace(low, high, N_STARTS + 2)[1:-1, None]
    return bfgs(objective, max(starts, key=lambda start: objective(start)[0]))


def from_isotropic(objective: Objective) -> Found:
    """Search for widths per feature from the best single width."""
    isotropic = from_grid(
        Objective(objective.criterion, objective.samples, objective.target, False)
    )
    found = bfgs(objective, np.full(objective.samples.X.shape[1], isotropic.log_widths[0]))
    return Found(found.log_widths, found.value, isotropic.n_iter + found.n_iter)


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
        samples, target = Samples(X), as_target(y)
        objective = Objective(criterion, samples, target, ard)
        found = STARTS[ard][start](objective)
        kernel = objective.kernel(found.log_widths)
        machine = machine_of_gram(kernel(X), y)
        d = X.shape[1]
        value, gradient = objective(np.full(len(found.log_widths), -np.log(d)))
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
    )
