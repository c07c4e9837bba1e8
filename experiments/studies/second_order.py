"""Newton's method with second derivatives of HSIC against BFGS: Wang & Li (2018), section 3.2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from experiments.c_search import seconds
from experiments.experiment import Experiment, Measures, Method
from experiments.halves import Halves, problems
from experiments.problems import Array
from experiments.reporting.results import Results
from experiments.reporting.section import Claim, judged, table
from experiments.studies.starts import MOST_STEPS, N_STARTS, Objective
from mercer._gram.dense import centered
from mercer._search.parameter_search import maximize
from mercer._search.targets import as_target
from mercer.kernels import Gaussian

# A search ends when an iteration gains no more than this fraction of the criterion.
TOL = 1e-5

# No log-width changes by more than this in a step of Newton's method.
LONGEST = 2.0

# Curvatures count as this fraction of the largest one at least.
FLATTEST = 1e-6

# A step of Newton's method is halved until it gains this fraction of what the slope predicts.
ARMIJO = 1e-4


@dataclass(frozen=True)
class Ended:
    """The end of a search."""

    log_widths: Array
    value: float
    n_iter: int


def second_derivatives(X: Array, P: Array, log_widths: Array) -> Array:
    """Return the Hessian of <P, K> in the log-widths of a Gaussian kernel (equations 12, 14, 16).

    With u_z = (x_z - x'_z)^2 / s_z^2 and W = P * K, elementwise, it is
    4 sum W u_z u_w - 4 sum W u_z where z = w. The squares are multiplied out, so that all sums are
    matrix products, O(n^2 d^2), and no array has more than n^2 or n d^2 entries.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    P : ndarray of shape (n_samples, n_samples)
        Symmetric.
    log_widths : ndarray of shape (n_features,) or (1,)
    """
    widths = np.exp(log_widths)
    ard = widths.size > 1
    W = P * Gaussian(widths if ard else float(widths[0]), ard=ard)(X)
    x = (X - X.mean(axis=0)) / widths
    squares, rows = x * x, W.sum(axis=1)
    if not ard:
        norms = squares.sum(axis=1)
        u = norms[:, None] + norms - 2.0 * x @ x.T
        return np.array([[4.0 * np.sum(W * u * (u - 1.0))]])
    Wx = W @ x
    first = 2.0 * (squares.T @ rows) - 2.0 * np.sum(x * Wx, axis=0)
    mixed = squares.T @ (x * Wx)
    upper = np.triu_indices(x.shape[1])
    pairs = x[:, upper[0]] * x[:, upper[1]]
    quartic = np.zeros((x.shape[1], x.shape[1]))
    quartic[upper] = np.sum(pairs * (W @ pairs), axis=0)
    quartic = quartic + np.triu(quartic, 1).T
    second = 2.0 * (squares * rows[:, None]).T @ squares + 2.0 * squares.T @ (W @ squares)
    second += 4.0 * quartic - 4.0 * (mixed + mixed.T)
    return 4.0 * (second - np.diag(first))


def newton(objective: Objective, start: Array) -> Ended:
    """Take steps of Newton's method whose curvatures are positive, halved until they gain."""
    target = as_target(objective.y).centered
    P = centered(target @ target.T)
    theta, (value, gradient) = start, objective(start)
    for n_iter in range(1, MOST_STEPS + 1):
        curvatures, axes = np.linalg.eigh(-second_derivatives(objective.X, P, theta))
        curvatures = np.abs(curvatures)
        curvatures = np.maximum(curvatures, FLATTEST * curvatures.max() or 1.0)
        step = axes @ ((axes.T @ gradient) / curvatures)
        step *= min(1.0, LONGEST / max(np.abs(step).max(), 1e-300))
        size, slope = 1.0, float(gradient @ step)
        while size > 1e-10:
            reached, ascent = objective(theta + size * step)
            if reached >= value + ARMIJO * size * slope:
                break
            size *= 0.5
        else:
            return Ended(theta, value, n_iter)
        gain, before = reached - value, value
        theta, value, gradient = theta + size * step, reached, ascent
        if gain <= TOL * abs(before):
            return Ended(theta, value, n_iter)
    return Ended(theta, value, MOST_STEPS)


def bfgs(objective: Objective, start: Array) -> Ended:
    """Run the package's BFGS without bounds."""
    found = maximize(objective, start, None, tol=TOL, max_iter=MOST_STEPS, last=1)
    return Ended(found.theta, found.value, found.n_iter)


# The searches by name.
SEARCHES: dict[str, Callable[[Objective, Array], Ended]] = {"BFGS": bfgs, "Newton": newton}

# Whether a kernel has a width per feature, by the name of its form.
FORMS = {"one width": False, "ARD": True}


def search(name: str, *, ard: bool) -> Method:
    """Return a method that maximizes HSIC from the best of nine widths common to all features."""

    def measure(data: Halves) -> Measures:
        objective = Objective("hsic", *data.train, ard)
        low, high = Gaussian().log_bounds(objective.X)[0]
        grid = np.linspace(low, high, N_STARTS + 2)[1:-1]
        common = [np.full(objective.n_widths(), width) for width in grid]
        start = max(common, key=lambda widths: objective(widths)[0])
        ends: list[Ended] = []
        duration = seconds(lambda: ends.append(SEARCHES[name](objective, start)))
        return {"seconds": duration, "criterion": ends[0].value, "iterations": ends[0].n_iter}

    return measure


def experiment(small: bool) -> Experiment:
    """Declare both searches on one split of each set, each run alone."""
    methods = {
        f"{name}, {form}": search(name, ard=ard) for form, ard in FORMS.items() for name in SEARCHES
    }
    return Experiment(
        title="Second derivatives of HSIC",
        source="Wang & Li (2018), section 3.2, equations 11 to 16, and section 4.2.1",
        problems=problems(small),
        methods=methods,
        repeats=1 if small else 0,
        timed=1 if small else 5,
    )


# Two searches have ended alike if their criteria differ by less than this fraction.
ALIKE = 1e-3


def comparisons(results: Results) -> str:
    """Return the tables of both forms of the kernel."""
    return "\n".join(f"{form}:\n\n{comparison(results, form)}" for form in FORMS)


def middle(values: Array) -> float:
    """Return the median, NaN of no values."""
    return float(np.median(values)) if values.size else float("nan")


def gain(results: Results, problem: str, form: str) -> float:
    """Return by what part Newton's criterion is above that of BFGS."""
    first, second = results.pairs("criterion", problem, f"Newton, {form}", f"BFGS, {form}")
    return float(np.mean(first / second)) - 1.0


def comparison(results: Results, form: str) -> str:
    """Return the table of one form of the kernel."""
    rows = []
    for problem in results.problems:
        methods = [f"{name}, {form}" for name in SEARCHES]
        steps = [f"{results.mean('iterations', problem, method):.1f}" for method in methods]
        times = [middle(results.values("seconds", problem, method)) for method in methods]
        shown = [f"{value:.3f}" if np.isfinite(value) else "-" for value in times]
        rows.append([problem, *steps, *shown, f"{gain(results, problem, form):+.4f}"])
    header = [f"{name}, {what}" for what in ("iterations", "seconds") for name in SEARCHES]
    return table(["set", *header, "gain"], rows)


def faster(results: Results, form: str) -> Claim | None:
    """Return the claim that BFGS needs fewer iterations, with the times of both."""
    fewer: list[bool | None] = []
    ratios, apart = [], []
    for problem in results.problems:
        own, other = (results.mean("iterations", problem, f"{name}, {form}") for name in SEARCHES)
        alike = abs(gain(results, problem, form)) <= ALIKE
        fewer.append(own <= other if alike else None)
        pair = results.pairs("seconds", problem, f"BFGS, {form}", f"Newton, {form}")
        ratios.append(middle(pair[1] / pair[0]))
        if not alike:
            apart.append(problem)
    known = [ratio for ratio in ratios if np.isfinite(ratio)]
    ends = f"{', '.join(apart)}" if apart else "none"
    result = (
        f"on {sum(map(bool, fewer))} of {len(fewer) - len(apart)} sets; the searches end at "
        f"different values of the criterion, and are not comparable, on: {ends}"
    )
    if known:
        result += (
            f". Newton's method takes {np.median(known):.2g} times as long as BFGS (median; "
            f"{min(known):.2g} to {max(known):.2g}) and is faster on "
            f"{sum(ratio < 1.0 for ratio in known)} of {len(known)} sets"
        )
    return judged(
        f"BFGS generally takes a smaller number of iterations before convergence ({form}).",
        "Wang & Li 2018, section 4.2.1",
        "BFGS takes at most as many iterations as Newton's method with the second derivatives, on "
        "each set on which the two methods end at values of the criterion within "
        f"{100 * ALIKE:g} % of each other (means, not tested).",
        fewer,
        result,
        why="Exact curvatures save iterations where there are several widths or where the start is "
        "close to the maximum. However, each iteration of Newton's method costs more than one of "
        "BFGS, so that fewer iterations need not take less time.",
        explained=True,
    )


CLAIMS = tuple(partial(faster, form=form) for form in FORMS)
