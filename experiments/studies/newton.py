"""Newton steps, alternating minimization and the profile: Nickisch and Seeger (2011), section 3."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from experiments.experiment import Experiment, Measures
from experiments.problems import Array
from experiments.reporting.figures import COLORS, panels
from experiments.reporting.results import Results
from experiments.reporting.section import Finding, claim, rough, table
from experiments.weight_searches import JITTER, alternation, case, newton, quasi_newton
from mercer.probabilistic import LaplaceLikelihood, LogisticLikelihood
from mercer.probabilistic._objectives import (
    BayesianObjective,
    JointMAP,
    PenalizedRisk,
    Problem,
    VariationalBound,
)


def experiment(small: bool) -> Experiment:
    """Declare MKL, joint MAP and the bound for two classes, and the bound for responses."""
    n_samples, most = (80, 30) if small else (400, 300)
    logistic = LogisticLikelihood()
    objectives: dict[str, tuple[str, BayesianObjective]] = {
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


def steps_and_times(results: Results) -> str:
    """Return steps and times of five searches."""
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
    return table(header, rows)


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


# The problems whose cost of a step is compared.
LOGISTIC = ("MKL logistic", "MAP logistic", "VB logistic")


@claim(
    SOURCE,
    "On each problem, alternation takes more than twice as many steps as Newton's method until "
    "the objective is within 1e-5 of the lowest value that the search itself finds, or it ends "
    "more than 1e-4 above the lowest value of all searches (both relative)",
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
        "median steps of alternation against those of Newton's method (in brackets: without "
        f"mercer's estimate of curvature): {'; '.join(texts)}"
        + (f"; its time as a multiple of Newton's: {', '.join(times)}" if times else ""),
        "Each step of alternation contains a whole search for latent values, so that the number of "
        "steps understates its cost. Where alternation ends after 300 steps, their number is a "
        "lower bound. A quasi-Newton method on the profile needs, in the better of its two forms, "
        f"the following numbers of evaluations: {'; '.join(profile)}. Each evaluation is again a "
        "search for latent values. For MAP and VB, the speed of plain Newton steps is perhaps "
        "limited by how fast the tangent is updated.",
    )


def fewest(results: Results, problem: str, methods: tuple[str, ...]) -> float:
    """Return the least median of steps over methods."""
    return min(median_steps(results, problem, method, own=True) for method in methods)


# Both forms of the quasi-Newton method on the profile.
PROFILES = ("profile, weights", "profile, logarithms")


@claim(
    SOURCE,
    "With 400 samples and ten kernels, the median time of a step of Newton's method is longer for "
    "VB than for MKL and for MAP, and less than ten times as long as for each (not tested)",
)
def step_cost(results: Results) -> Finding | None:
    """A step for VB is more expensive than one for joint MAP or MKL, but of the same order."""
    mkl, joint, bound = (seconds_a_step(results, name) for name in LOGISTIC)
    if not np.isfinite([mkl, joint, bound]).all():
        return None
    return (
        {
            "more expensive": [bound > max(mkl, joint)],
            "of the same order": [bound < 10.0 * min(mkl, joint)],
        },
        f"{1e3 * mkl:.1f} ms (MKL), {1e3 * joint:.1f} ms (MAP), {1e3 * bound:.1f} ms (VB)",
        "MAP and VB both update the tangent of a log-determinant, which MKL does not have. The "
        "times include the estimate of curvature, which MAP and VB both need.",
    )


CLAIMS = (slow, step_cost)
FIGURES = {"newton": figure}
