"""Speed of probabilistic kernel learning, on two threads; ratios of times within one run.

    MERCER_DATA=/path/to/sets python benchmarks/probabilistic.py [NAME ...] [--repeats R] [--seed S]

newton
    Time to an objective within 1e-5, relative, of the lowest that any method finds: 700 samples,
    ten Gaussian widths from 1 to 30 on a geometric grid, features standardised, equal weights of
    sum one to start from. MKL (penalty 1) and the variational bound for the logistic likelihood on
    german; the bound for the Laplace likelihood of rate 4 on kin8nm, responses standardised.
    "newton" is the package's search, `learn_theta`. "plain" is the same without what lengthens its
    steps: the tangent of the log-determinant is renewed after each step, and its curvature is
    neglected. "profile" is SciPy's L-BFGS-B on the minimum over the latent values, with its exact
    gradient, in the logarithms of the weights or in the weights themselves, which are at least
    zero; the faster of the two is the unit. That minimum is found by the package's Newton method
    for fixed weights, on the weighted sum of the Gram matrices alone, from where the evaluation
    before left latent values and bounds, to 1e-5; inner steps are counted.
    A time is that of the first step, or evaluation, at which the objective is that low; Gram
    matrices are computed before. The bound has several local optima, and from one start methods
    find different ones: there, each is timed to what it finds itself, and "above" is how far that
    is above the lowest, relative. Newton is to take half the time of the profile at most for MKL,
    and a quarter for the bound.
length_scales
    Eight length scales, a variance and noise by marginal likelihood: 1,000 samples of kin8nm,
    features standardised. `BayesianMKLRegressor([Gaussian(ard=True)], learn_parameters=True)`, at
    its own tolerance and at a hundredth of it, against scikit-learn's `GaussianProcessRegressor`,
    from the same start, within the same bounds, without restarts. Root mean squared error and mean
    log predictive density on the other samples.

Of repeated timings, the median is printed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from common import (
    THREADS,
    Array,
    Part,
    alternate,
    command_line,
    print_table,
    standardised_sample,
)
from scipy.optimize import minimize as descend
from sklearn.base import RegressorMixin
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from mercer import BayesianMKLRegressor
from mercer.datasets import load
from mercer.gram.combination import BaseGrams, DenseGram, base_grams
from mercer.gram.tiles import Samples, serial_algebra
from mercer.kernels import Gaussian
from mercer.probabilistic import LaplaceLikelihood, LogisticLikelihood
from mercer.probabilistic.descent import Minimum, minimize
from mercer.probabilistic.learning import learn_theta
from mercer.probabilistic.losses import Loss
from mercer.probabilistic.objectives import (
    Majorizer,
    Objective,
    PenalizedRisk,
    Point,
    VariationalBound,
)
from mercer.probabilistic.problem import Problem

N_SAMPLES = 700
WIDTHS = np.geomspace(1.0, 30.0, 10)
PRECISION = 1e-5
TIGHT = 1e-7
"""Relative tolerance of the searches, so that what they find is known better than timed."""
INNER = 1e-5
"""Relative tolerance of the baseline's latent values."""
MAX_STEPS = 300
LARGEST_LOGARITHM = 15.0

SHORTEST, LONGEST = 0.05, 100.0
"""Bounds of length scales, in the convention of scikit-learn."""
FIRST_NOISE = 0.1
LARGEST_RATIO = 0.2
CLOSEST = 1e-4


@dataclass(frozen=True)
class Case:
    """A problem, and the part of the baseline's time that Newton may take."""

    name: str
    problem: Problem
    largest_ratio: float

    @property
    def convex(self) -> bool:
        """Whether there is one optimum."""
        return self.problem.objective.convex


@dataclass
class Trace:
    """Objective values of a search, with the seconds after which they were known."""

    seconds: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    inner_steps: int = 0

    def first(self, target: float) -> int | None:
        """Position of the first value that is at most the target."""
        below = np.flatnonzero(np.array(self.values) <= target)
        return int(below[0]) if below.size else None

    def until(self, target: float) -> float:
        """Seconds to the first such value; infinite where there is none."""
        position = self.first(target)
        return np.inf if position is None else self.seconds[position]


@dataclass(frozen=True)
class Unbent(Objective):
    """An objective whose log-determinants seem to have no curvature, so that no step is longer."""

    of: Objective

    @property
    def loss(self) -> Loss:  # type: ignore[override]
        """That of the objective."""
        return self.of.loss

    @property
    def direct(self) -> bool:
        """Whether latent values are found at once."""
        return self.of.direct

    def majorizer(
        self,
        grams: BaseGrams,
        Y: Array,
        point: Point,
        *,
        previous: Majorizer | None,
        most: float = np.inf,
    ) -> Majorizer | None:
        """That of the objective, less the factors of its log-determinants."""
        found = self.of.majorizer(grams, Y, point, previous=previous, most=most)
        return None if found is None else replace(found, factors=())


class KeptGram(DenseGram):
    """A Gram matrix that remembers what it was last contracted with."""

    def __init__(self, K: Array) -> None:
        super().__init__(K)
        self.P: Array | None = None

    def contracted(self, P: Array) -> Array:
        """Inner product with a matrix, which is kept."""
        self.P = P
        return super().contracted(P)


def newton_cases(seed: int) -> list[Case]:
    """MKL and the bound for two classes, the bound for responses."""
    X, y = standardised_sample("german", N_SAMPLES, seed)
    classes = kept_grams(X), 2.0 * y[:, None] - 1.0
    X, y = responses(seed)
    logistic, laplace = LogisticLikelihood(), LaplaceLikelihood(4.0)
    scaled = kept_grams(scale(X[:N_SAMPLES])), scale(y[:N_SAMPLES])[:, None]
    return [
        Case("MKL logistic, german", Problem(PenalizedRisk(logistic), *classes), 0.5),
        Case("VB logistic, german", Problem(VariationalBound(logistic), *classes), 0.25),
        Case("VB Laplace, kin8nm", Problem(VariationalBound(laplace), *scaled), 0.25),
    ]


def responses(seed: int) -> Part:
    """kin8nm, in random order."""
    bunch = load("kin8nm")
    order = np.random.default_rng(seed).permutation(len(bunch.target))
    return bunch.data[order].astype(np.float64), bunch.target[order].astype(np.float64)


def kept_grams(X: Array) -> BaseGrams:
    """Gram matrices of the dictionary, in memory."""
    kernels = [Gaussian(width) for width in WIDTHS]
    grams = base_grams(Samples(X, len(kernels)), kernels, centred=False)
    grams.traces()
    return grams


def newton_trace(problem: Problem, *, plain: bool = False) -> Trace:
    """The package's own search."""
    if plain:
        problem = replace(problem, objective=Unbent(problem.objective))
    trace, start = Trace(), time.perf_counter()
    p = problem.grams.n_kernels
    found = learn_theta(
        problem,
        [np.full(p, 1.0 / p)],
        tol=TIGHT,
        max_iter=MAX_STEPS,
        on_step=lambda: trace.seconds.append(time.perf_counter() - start),
    )
    trace.values += [step.objective for step in found.history[: len(trace.seconds)]]
    return trace


@serial_algebra()
def profile_trace(problem: Problem, *, logarithms: bool) -> Trace:
    """L-BFGS-B over the minimum in the latent values."""
    trace, start = Trace(), time.perf_counter()
    grams, convex = problem.grams, problem.objective.convex
    last: list[Minimum] = []

    def profile(x: Array) -> tuple[float, Array]:
        theta = np.exp(x) if logarithms else x
        gram = KeptGram(grams.combined(theta))
        inner = replace(problem, grams=gram)
        point, majorizer = inner.start(np.ones(1)), None
        if last:
            alpha, majorizer = last[0].point.alpha, last[0].majorizer
            point = replace(point, alpha=alpha, images=gram.images(alpha).all())
        found = minimize(inner, point, free=False, previous=majorizer, tol=INNER, max_iter=100)
        last[:] = [found]
        # A sum of weights is all that MKL adds, and the Gram matrix has a weight of one itself.
        value = found.majorizer.value + (float(theta.sum()) - 1.0 if convex else 0.0)
        slopes = np.ones_like(theta) if gram.P is None else grams.contracted(gram.P)
        slopes = slopes - grams.images(found.point.alpha).quadratics[:, 0]
        trace.inner_steps += len(found.history)
        trace.seconds.append(time.perf_counter() - start)
        trace.values.append(value)
        return value, theta * slopes if logarithms else slopes

    first = np.full(grams.n_kernels, 1.0 / grams.n_kernels)
    descend(
        profile,
        np.log(first) if logarithms else first,
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, LARGEST_LOGARITHM) if logarithms else (0.0, None)] * len(first),
        options={"ftol": 1e-10, "gtol": 0.0, "maxiter": MAX_STEPS, "maxfun": MAX_STEPS},
    )
    return trace


def searches(case: Case) -> dict[str, Callable[[], Trace]]:
    """Newton's method, without longer steps where that differs, and the profile twice."""
    result: dict[str, Callable[[], Trace]] = {"newton": partial(newton_trace, case.problem)}
    if not case.convex:
        result["plain"] = partial(newton_trace, case.problem, plain=True)
    result["profile, logarithms"] = partial(profile_trace, case.problem, logarithms=True)
    result["profile, weights"] = partial(profile_trace, case.problem, logarithms=False)
    return result


def newton(repeats: int, seed: int) -> None:
    """Time to a fixed precision, against a quasi-Newton method on the profile."""
    rows, failed = [], []
    for case in newton_cases(seed):
        runs = searches(case)
        rounds = [{name: search() for name, search in runs.items()} for _ in range(repeats)]
        found = {name: min(trace.values) for name, trace in rounds[0].items()}
        least = min(found.values())
        aims = dict.fromkeys(runs, least) if case.convex else found
        targets = {name: aim + PRECISION * abs(aim) for name, aim in aims.items()}
        times = {
            name: float(np.median([traces[name].until(target) for traces in rounds]))
            for name, target in targets.items()
        }
        unit = min(time for name, time in times.items() if name.startswith("profile"))
        for name in runs:
            trace = rounds[0][name]
            position = trace.first(targets[name])
            rows.append(
                [
                    f"{case.name}: {name}",
                    "never" if position is None else f"{position + 1}",
                    f"{times[name]:.2f}",
                    f"{times[name] / unit:.2f}",
                    f"{len(trace.values)}",
                    f"{trace.inner_steps or len(trace.values)}",
                    f"{trace.seconds[-1]:.2f}",
                    f"{found[name]:.5f}",
                    f"{(found[name] - least) / abs(least):.0e}",
                ]
            )
        ratio = times["newton"] / unit
        if not ratio <= case.largest_ratio:
            failed.append(f"{case.name} {ratio:.2f} > {case.largest_ratio}")
    header = ["problem", "steps", "s", "ratio", "in all", "inner steps", "s in all"]
    header += ["objective", "above"]
    print_table(f"newton: time to {PRECISION:g}, n = {N_SAMPLES}", header, rows)
    print(f"  bounds on ratios: {'DO NOT HOLD, ' + '; '.join(failed) if failed else 'hold'}")


def mean_log_density(model: RegressorMixin, X: Array, y: Array) -> float:
    """Mean of ln N(y | mean, variance) of new responses."""
    if isinstance(model, BayesianMKLRegressor):
        mean, std = model.predict(X, return_std=True, include_noise=True)
    else:
        mean, std = model.predict(X, return_std=True)
    return float(np.mean(-0.5 * ((y - mean) / std) ** 2 - np.log(std) - 0.5 * np.log(2.0 * np.pi)))


def length_scales(repeats: int, seed: int, n_samples: int = 1000) -> None:
    """One length scale per feature, by marginal likelihood."""
    X, y = responses(seed)
    X, d = scale(X), X.shape[1]
    widths = np.sqrt(2.0) * np.array([SHORTEST, 1.0, LONGEST])
    kernel = Gaussian(np.full(d, widths[1]), ard=True, bounds=(widths[0], widths[2]))
    models: dict[str, RegressorMixin] = {
        f"mercer, tol {tol:g}": BayesianMKLRegressor(
            [kernel], learn_parameters=True, n_starts=1, normalize_y=True, tol=tol
        )
        for tol in (1e-4, 1e-6)
    }
    wide = (np.exp(-20.0), np.exp(20.0))
    models["scikit-learn"] = GaussianProcessRegressor(
        ConstantKernel(1.0, wide) * RBF(np.ones(d), (SHORTEST, LONGEST))
        + WhiteKernel(FIRST_NOISE, (FIRST_NOISE * wide[0], FIRST_NOISE * wide[1])),
        normalize_y=True,
    )
    train, test = slice(n_samples), slice(n_samples, None)
    fits = {name: partial(model.fit, X[train], y[train]) for name, model in models.items()}
    times = {name: float(np.median(t)) for name, t in alternate(fits, repeats).items()}
    reference = models["scikit-learn"]
    best = float(reference.log_marginal_likelihood_value_)
    rows = []
    for name, model in models.items():
        own = isinstance(model, BayesianMKLRegressor)
        evidence = model.log_marginal_likelihood_ if own else best
        error = np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2))
        rows.append(
            [
                name,
                f"{times[name]:.2f}",
                f"{times[name] / times['scikit-learn']:.3f}",
                f"{evidence:.5f}",
                f"{evidence - best:.1e}",
                f"{(evidence - best) / abs(best):.1e}",
                f"{error:.5f}",
                f"{mean_log_density(model, X[test], y[test]):.5f}",
                f"{model.n_iter_}" if own else "",
            ]
        )
    header = ["model", "s", "ratio", "log likelihood", "difference", "relative", "test RMSE"]
    header += ["test density", "steps"]
    print_table(f"length_scales: kin8nm, n = {n_samples}, d = {d}", header, rows)
    ratio = times["mercer, tol 0.0001"] / times["scikit-learn"]
    holds = "holds" if ratio <= LARGEST_RATIO else "DOES NOT HOLD"
    print(f"  at most {LARGEST_RATIO:g} of scikit-learn's time: {ratio:.3f}, {holds}")


BENCHMARKS: dict[str, Callable[[int, int], None]] = {
    "newton": newton,
    "length_scales": length_scales,
}


def main() -> None:
    """Run the benchmarks asked for."""

    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--repeats", type=int, default=3, help="timings of each side")
        parser.add_argument("--seed", type=int, default=0, help="of the samples")

    names, options = command_line(__doc__, BENCHMARKS, add_options)
    with threadpool_limits(THREADS):
        for name in names:
            BENCHMARKS[name](options.repeats, options.seed)


if __name__ == "__main__":
    main()
