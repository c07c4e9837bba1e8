"""Newton steps, alternating minimization and the profile: Nickisch and Seeger (2011), section 3."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize as descend
from sklearn.preprocessing import StandardScaler

from experiments.experiment import Experiment, Measures
from experiments.problems import Array, whole
from experiments.reporting.figures import COLORS, panels
from experiments.reporting.results import Results
from experiments.reporting.section import Finding, Section, claim, rough, table
from mercer._gram.kernel_products import DenseGram, base_grams
from mercer._gram.samples import Samples
from mercer._gram.tiles import serial_algebra
from mercer.kernels import Gaussian
from mercer.probabilistic import LaplaceLikelihood, LogisticLikelihood
from mercer.probabilistic._descent import Minimum, minimize
from mercer.probabilistic._majorizer import Majorizer, Point
from mercer.probabilistic._objectives import (
    JointMAP,
    Objective,
    PenalizedRisk,
    Problem,
    VariationalBound,
)
from mercer.probabilistic._weight_search import optimize_weights

# The widths of the ten Gaussian kernels.
WIDTHS: Array = np.geomspace(1.0, 30.0, 10)
# Relative tolerance of the searches, far below the precision to which they are compared.
TIGHT = 1e-7
# Relative tolerance of the latent values for fixed weights.
INNER = 1e-5
# Upper bound of the logarithms of weights.
LARGEST_LOGARITHM = 15.0
# The variance of the white noise of joint MAP.
JITTER = 2.0


@dataclass
class Trace:
    """The objective values of a search, with the seconds after which they were known."""

    start: float = field(default_factory=time.perf_counter)
    seconds: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    inner_steps: int = 0

    def add(self, value: float) -> None:
        """Append the current objective value."""
        self.seconds.append(time.perf_counter() - self.start)
        self.values.append(value)

    def measures(self) -> Measures:
        """Return values, times, and the number of inner steps, or of steps if there are none."""
        steps = self.inner_steps or len(self.values)
        return {"values": self.values, "seconds": self.seconds, "inner_steps": steps}


@dataclass(frozen=True)
class WithoutCurvature(Objective):
    """An objective without the curvature of its log-determinants, which lengthens steps."""

    of: Objective

    def __post_init__(self) -> None:
        object.__setattr__(self, "deviance", self.of.deviance)
        object.__setattr__(self, "jitter", self.of.jitter)
        object.__setattr__(self, "convex", self.of.convex)

    @property
    def is_smooth(self) -> bool:
        """Whether Newton's method finds latent values."""
        return self.of.is_smooth

    def majorize_at(
        self, problem: Problem, point: Point, previous: Majorizer | None, most: float
    ) -> Majorizer | None:
        """Return the objective's majorizer without the factors of its log-determinants."""
        found = self.of.majorize_at(problem, point, previous, most)
        return None if found is None else replace(found, factors=())


class RecordingGram(DenseGram):
    """A Gram matrix that keeps the matrix with which it was last contracted."""

    def __init__(self, K: Array) -> None:
        super().__init__(K)
        self.P: Array | None = None

    def inner_products(self, P: Array) -> Array:
        """Return the inner product with a matrix, which is kept."""
        self.P = P
        return super().inner_products(P)


class Profile:
    """The minimum over latent values as a function of weights; searches start at the last one."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.trace = problem, Trace()
        self.last: Minimum | None = None

    def __call__(self, theta: Array) -> tuple[float, Array, Array]:
        """Return the value, slopes of penalty or log-determinant, and alpha'K_m alpha."""
        grams = self.problem.grams
        gram = RecordingGram(grams.weighted_sum(theta))
        inner = replace(self.problem, grams=gram)
        point, majorizer = inner.start(np.ones(1)), None
        if self.last is not None:
            alpha, majorizer = self.last.point.alpha, self.last.majorizer
            point = replace(point, alpha=alpha, products=gram.kernel_products(alpha).as_array())
        found = minimize(inner, point, free=False, previous=majorizer, tol=INNER, max_iter=100)
        self.last = found
        # A sum of weights is all that MKL adds, and the Gram matrix has a weight of one itself.
        convex = self.problem.objective.convex
        value = found.majorizer.value + (float(theta.sum()) - 1.0 if convex else 0.0)
        slopes = np.ones_like(theta) if gram.P is None else grams.inner_products(gram.P)
        self.trace.inner_steps += len(found.history)
        self.trace.add(value)
        return value, slopes, grams.kernel_products(found.point.alpha).quadratics[:, 0]


def equal_weights(problem: Problem) -> Array:
    """Return equal weights of sum one."""
    return np.full(problem.grams.n_kernels, 1.0 / problem.grams.n_kernels)


def newton(problem: Problem, *, most: int, plain: bool = False) -> Measures:
    """Take joint Newton steps; plain ones are not lengthened by an estimate of curvature."""
    if plain:
        problem = replace(problem, objective=WithoutCurvature(problem.objective))
    trace = Trace()
    seconds: list[float] = []
    found = optimize_weights(
        problem,
        [equal_weights(problem)],
        tol=TIGHT,
        max_iter=most,
        on_step=lambda: seconds.append(time.perf_counter() - trace.start),
    )
    trace.seconds = seconds
    trace.values = [step.objective for step in found.history[: len(seconds)]]
    return trace.measures()


@serial_algebra()
def quasi_newton(problem: Problem, *, most: int, logarithms: bool) -> Measures:
    """Minimize the profile by L-BFGS-B, in the weights or in their logarithms."""
    profile = Profile(problem)

    def objective(x: Array) -> tuple[float, Array]:
        theta = np.exp(x) if logarithms else x
        value, slopes, quadratics = profile(theta)
        gradient = slopes - quadratics
        return value, theta * gradient if logarithms else gradient

    first = equal_weights(problem)
    descend(
        objective,
        np.log(first) if logarithms else first,
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, LARGEST_LOGARITHM) if logarithms else (0.0, None)] * len(first),
        options={"ftol": 1e-10, "gtol": 0.0, "maxiter": most, "maxfun": most},
    )
    return profile.trace.measures()


@serial_algebra()
def alternation(problem: Problem, *, most: int) -> Measures:
    """Alternate between latent values for fixed weights and weights in closed form.

    With the parts f_m = theta_m K_m alpha of u fixed, f_m'K_m^-1 f_m / theta_m + t_m theta_m is
    least for theta_m sqrt(q_m / t_m), t_m the penalty or the slope of the log-determinant.
    """
    profile, theta = Profile(problem), equal_weights(problem)
    for _ in range(most):
        _, slopes, quadratics = profile(theta)
        theta = theta * np.sqrt(quadratics / slopes)
    return profile.trace.measures()


def case(repeat: int, *, name: str, n_samples: int, objective: Objective) -> Problem:
    """Return an objective on random samples, with standardized features and responses."""
    X, y = whole(name)
    rows = np.random.default_rng(repeat).permutation(len(y))[:n_samples]
    X, y = StandardScaler().fit_transform(X[rows]), y[rows].astype(float)
    if not objective.deviance.loss.for_labels:
        y = (y - y.mean()) / y.std()
    kernels = [Gaussian(width) for width in WIDTHS]
    grams = base_grams(Samples(X, len(kernels)), kernels, centered=False)
    grams.traces()
    return Problem(objective, grams, y[:, None])


def experiment(small: bool) -> Experiment:
    """Declare MKL, joint MAP and the bound for two classes, and the bound for responses."""
    n_samples, most = (80, 30) if small else (400, 300)
    logistic = LogisticLikelihood()
    objectives: dict[str, tuple[str, Objective]] = {
        "MKL logistic": ("german", PenalizedRisk(logistic)),
        "MAP logistic": ("german", JointMAP(logistic, JITTER)),
        "VB logistic": ("german", VariationalBound(logistic)),
        "VB Laplace": ("kin8nm", VariationalBound(LaplaceLikelihood(4.0))),
    }
    searches: dict[str, Callable[[Problem], Measures]] = {
        "newton": partial(newton, most=most),
        "newton, plain": partial(newton, most=most, plain=True),
        "profile, weights": partial(quasi_newton, most=most, logarithms=False),
        "profile, logarithms": partial(quasi_newton, most=most, logarithms=True),
        "alternation": partial(alternation, most=most),
    }
    return Experiment(
        title="Newton's method for the weights",
        source="Nickisch, Seeger (2011), section 3, algorithm 1",
        problems={
            name: partial(case, name=data, n_samples=n_samples, objective=objective)
            for name, (data, objective) in objectives.items()
        },
        methods=searches,
        repeats=3,
        timed=5,
    )


SOURCE = "Nickisch, Seeger 2011, section 3"
# A search is counted as converged at this relative distance from the minimum.
PRECISION = 1e-5


def trace(results: Results, problem: str, method: str, repeat: int) -> Array:
    """Return the objective values of one search; the array is empty if there is none."""
    found = results.series("values", problem, method)
    values = found.get(repeat, default=[])
    return np.array(values, dtype=float)


def lowest(results: Results, problem: str, repeat: int) -> float:
    """Return the lowest value that any method found."""
    traces = [trace(results, problem, method, repeat) for method in results.methods]
    return min((float(np.nanmin(values)) for values in traces if values.size), default=np.nan)


def steps(results: Results, problem: str, method: str, repeat: int, *, own: bool) -> float:
    """Return the steps to 1e-5 above the lowest value of all methods, or of the method itself."""
    values = trace(results, problem, method, repeat)
    if not values.size:
        return float("nan")
    goal = float(np.nanmin(values)) if own else lowest(results, problem, repeat)
    below = np.flatnonzero(values <= goal + PRECISION * abs(goal))
    return float(below[0] + 1) if below.size else float("inf")


def repeats(results: Results, problem: str) -> list[int]:
    """Return the repeats that have a record of Newton's method."""
    return [int(k) for k in results.series("values", problem, "newton").index]


def median_steps(results: Results, problem: str, method: str, *, own: bool) -> float:
    """Return the median of `steps` over repeats."""
    found = [steps(results, problem, method, k, own=own) for k in repeats(results, problem)]
    return float(np.nanmedian(found)) if found and not np.isnan(found).all() else float("nan")


def above(results: Results, problem: str, method: str) -> float:
    """Return the relative excess of the value found over the lowest, the largest over repeats."""
    found = [0.0]
    for k in repeats(results, problem):
        values = trace(results, problem, method, k)
        least = lowest(results, problem, k)
        if values.size:
            found.append((float(np.nanmin(values)) - least) / abs(least))
    return max(found)


def seconds_to(results: Results, problem: str, method: str) -> float:
    """Return the median seconds to 1e-5 above the value that the method itself found."""
    found = []
    known = results.series("seconds", problem, method)
    for k in repeats(results, problem):
        times = known.get(k, default=[])
        count = steps(results, problem, method, k, own=True)
        if np.isfinite(count) and len(times) >= count:
            found.append(float(times[int(count) - 1]))
    return float(np.median(found)) if found else float("nan")


def seconds_a_step(results: Results, problem: str) -> float:
    """Return the median seconds of a step of Newton's method."""
    found = [times[-1] / len(times) for times in results.series("seconds", problem, "newton")]
    return float(np.median(found)) if found else float("nan")


def shown(value: float, digits: int = 0) -> str:
    """Format a number, "never" for infinity, or a hyphen for NaN."""
    return "-" if np.isnan(value) else "never" if np.isinf(value) else f"{value:.{digits}f}"


def section(results: Results) -> Section:
    """Write steps and times of five searches."""
    rows = []
    for problem in results.problems:
        for method in results.methods:
            if not results.repeats(problem, method):
                continue
            rows.append(
                [
                    f"{problem}: {method}",
                    shown(median_steps(results, problem, method, own=False)),
                    shown(median_steps(results, problem, method, own=True)),
                    shown(results.mean("inner_steps", problem, method)),
                    shown(seconds_to(results, problem, method), 2),
                    rough(above(results, problem, method)),
                ]
            )
    header = ["problem: search", "steps", "to its own value", "inner steps", "s", "excess"]
    body = (
        "400 samples, ten Gaussian widths from 1 to 30 on standardized features, equal weights of "
        "sum one to start from; german for the logistic likelihood, kin8nm for Laplace's (rate 4). "
        'MAP has white noise of 2. "newton" is algorithm 1 with what this package adds (the '
        'curvature of ln det K estimated, so that steps are longer), "newton, plain" without it; '
        '"alternation" finds latent values for fixed weights by Newton\'s method and then weights '
        'for fixed latent values in closed form; "profile" is L-BFGS-B on the minimum over latent '
        "values, in the weights or their logarithms. Steps to within 1e-5, relative, of the lowest "
        "value that any search found, and of the lowest value that the search itself found "
        "(objectives other than MKL have several optima); medians over repeats. Inner steps are "
        "the sum of those for latent values; seconds are to the search's own value; the last "
        "column is its relative excess over the lowest. Searches end after 300 "
        f"steps.\n\n{table(header, rows)}\n![Distance from the lowest value by "
        "step](figure:newton)\n"
    )
    return Section(body, [slow(results), step_cost(results)], {"newton": figure(results)})


def figure(results: Results) -> Figure:
    """Draw the distance from the lowest value of all searches by step."""
    picture, axes = panels(max(len(results.problems), 1), width=3.4)
    for panel, problem in zip(axes, results.problems, strict=False):
        first = repeats(results, problem)[:1]
        for method in results.methods:
            values = trace(results, problem, method, first[0]) if first else np.empty(0)
            if values.size:
                least = lowest(results, problem, first[0])
                panel.loglog(
                    np.arange(1, len(values) + 1),
                    np.maximum(np.minimum.accumulate(values) - least, 1e-9 * abs(least))
                    / abs(least),
                    color=COLORS.get(method),
                    label=method,
                )
        panel.axhline(PRECISION, color="black", lw=0.6)
        panel.set(title=problem, xlabel="step", ylim=(1e-8, None))
    axes[0].set_ylabel("above the lowest value, relative")
    axes[0].legend(fontsize=6)
    return picture


# The problems of which the cost of a step is compared.
LOGISTIC = ("MKL logistic", "MAP logistic", "VB logistic")


@claim(
    SOURCE,
    "steps to within 1e-5 of what the search itself finds; true for each problem on which "
    "alternation takes more than twice the steps, or ends 1e-4 above",
)
def slow(results: Results) -> Finding | None:
    """Alternating minimization tends to converge slowly; joint Newton steps converge fast."""
    conditions, texts, times = [], [], []
    known = results.tried("values", "newton", "alternation")
    for problem in known:
        plain, quick, other = (
            median_steps(results, problem, method, own=True)
            for method in ("newton, plain", "newton", "alternation")
        )
        conditions.append(other > 2.0 * quick or above(results, problem, "alternation") > 1e-4)
        texts.append(f"{problem} {shown(other)} against {shown(quick)} (plain {shown(plain)})")
        seconds = [seconds_to(results, problem, name) for name in ("alternation", "newton")]
        if np.isfinite(seconds).all():
            times.append(f"{problem} {seconds[0] / seconds[1]:.1f}")
    profile = [f"{problem} {shown(fewest(results, problem, PROFILES))}" for problem in known]
    return (
        conditions,
        f"steps: {'; '.join(texts)}"
        + (f"; times as a multiple: {', '.join(times)}" if times else ""),
        "A step of alternation is a whole search for latent values, so that steps understate its "
        "cost; where it ends after 300 steps their number is a lower bound. A quasi-Newton "
        "method on the profile needs, in the better of both forms, "
        f"{'; '.join(profile)} evaluations, each again a search for latent values. On MAP and VB "
        "plain Newton steps are perhaps bounded by how fast the tangent is updated.",
    )


def fewest(results: Results, problem: str, methods: tuple[str, ...]) -> float:
    """Return the least median of steps over methods."""
    return min(median_steps(results, problem, method, own=True) for method in methods)


# Both forms of the quasi-Newton method on the profile.
PROFILES = ("profile, weights", "profile, logarithms")


@claim(
    SOURCE,
    "seconds a step of Newton's method, 400 samples and ten kernels; true if VB's is above "
    "both others, and below ten times each",
)
def step_cost(results: Results) -> Finding | None:
    """A step for VB is more expensive than one for joint MAP or MKL, but of the same order."""
    mkl, joint, bound = (seconds_a_step(results, name) for name in LOGISTIC)
    if not np.isfinite([mkl, joint, bound]).all():
        return None
    return (
        [bound > max(mkl, joint), bound < 10.0 * min(mkl, joint)],
        f"{1e3 * mkl:.1f} ms (MKL), {1e3 * joint:.1f} ms (MAP), {1e3 * bound:.1f} ms (VB)",
        "MAP updates the same tangent of a log-determinant as VB does; MKL has none. Times include "
        "the estimate of curvature, which MAP and VB both need.",
    )
