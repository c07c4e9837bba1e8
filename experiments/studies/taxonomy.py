"""Four objectives of kernel learning side by side: Nickisch and Seeger (2011), section 2.4."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from experiments.experiment import Experiment
from experiments.learned_objectives import (
    BOUNDS,
    JITTER,
    JITTERS,
    PENALTIES,
    PROBLEMS,
    bounds,
    joint,
    marginal,
    risk,
    sample,
    tangent,
)
from experiments.problems import Array
from experiments.reporting.figures import COLORS, panels
from experiments.reporting.results import Results, flat, rank_correlation, stacked
from experiments.reporting.section import Finding, claim, listed, table


def experiment(small: bool) -> Experiment:
    """Declare three sets and three likelihoods, with values at given and learned weights."""
    sizes = {"n_train": 40, "n_test": 60} if small else {"n_train": 200, "n_test": 600}
    problems = {
        name: partial(sample, name=data, likelihood=likelihood, **sizes)
        for name, (data, likelihood) in PROBLEMS.items()
    }
    return Experiment(
        title="Four objectives and the bounds between them",
        source="Nickisch, Seeger (2011), sections 2.1-2.4",
        problems=problems,
        methods={
            "bounds": partial(bounds, n_points=3 if small else 20),
            "marginal": marginal,
            "MAP": joint,
            "MKL": risk,
            "MKL, tangent": tangent,
        },
    )


SOURCE = "Nickisch, Seeger 2011"
# Relative precision of objective values.
PRECISION = 1e-6
# The methods in the figure.
DRAWN = ("marginal", "MAP", "MKL", "MKL, tangent")
# The index of the jitter that is used where one value is used.
JITTER_INDEX = JITTERS.index(JITTER)


def jitters(results: Results) -> str:
    """Name the white noises that were tried."""
    return listed(f"{e:g}" for e in JITTERS)


def penalties(results: Results) -> str:
    """Name the penalties that were tried."""
    return listed(f"{c:g}" for c in PENALTIES)


def entries(results: Results, measure: str, problem: str, method: str) -> Array:
    """Return a measure by setting, as a mean over repeats."""
    found = stacked(results, measure, problem, method)
    if found.size == 0:
        return np.empty(0)
    return np.asarray(found.reshape(len(found), -1).mean(axis=0))


def best_setting(results: Results, problem: str, method: str) -> int:
    """Return the setting of least test error."""
    return int(np.argmin(entries(results, "error", problem, method)))


def learned_table(results: Results) -> str:
    """Return kernels, error and loss by objective."""
    settings = {
        "MAP": [f"e = {e:g}" for e in JITTERS],
        "MKL": [f"penalty {c:g}" for c in PENALTIES],
    }
    rows = []
    for problem in results.problems:
        for method in ("marginal", "MAP", "MKL", "MKL, tangent"):
            columns = [
                entries(results, name, problem, method)
                for name in ("kernels", "entropy", "error", "log_loss")
            ]
            for k in range(columns[0].size):
                name = f"{'MLM' if method == 'marginal' else method}"
                name += f", {settings[method][k]}" if method in settings else ""
                numbers = [c[k] if c.size else np.nan for c in columns]
                cells = [f"{x:.{d}f}" for x, d in zip(numbers, (1, 1, 3, 3), strict=True)]
                rows.append([f"{problem}: {name}", *(c.replace("nan", "-") for c in cells)])
    header = ["problem: objective", "kernels", "effective", "error", "second loss"]
    return table(header, rows)


def gaps(results: Results, problem: str) -> dict[str, Array]:
    """Return the differences that are positive by the chain of bounds."""
    values = {name: flat(results, name, problem, "bounds") for name in BOUNDS}
    return {
        "VB - MLM": values["variational"] - values["marginal"],
        "MAP's bound - VB": values["map_bound"] - values["variational"],
        "MAP's tangent - MAP": values["mkl_bound"] - values["map"],
    }


def with_bounds(results: Results) -> list[str]:
    """Return the problems with values at random weights."""
    return [name for name in results.problems if results.repeats(name, "bounds")]


def gap_table(results: Results) -> str:
    """Return the mean differences."""
    rows = []
    for problem in with_bounds(results):
        found = gaps(results, problem)
        cells = [f"{np.mean(gap):.4g}".replace("nan", "-") for gap in found.values()]
        rows.append([problem, *cells])
    return table(["problem", "VB - MLM", "MAP's bound - VB", "MAP's tangent - MAP"], rows)


def figure(results: Results) -> Figure:
    """Draw the number of kernels against error."""
    picture, axes = panels(max(len(results.problems), 1), width=3.3)
    for panel, problem in zip(axes, results.problems, strict=False):
        for method in DRAWN:
            kernels = entries(results, "kernels", problem, method)
            if kernels.size:
                error = entries(results, "error", problem, method)
                name = "MLM" if method == "marginal" else method
                panel.plot(kernels, error, "o-", color=COLORS[method], ms=4, lw=0.8, label=name)
        panel.set(title=problem, xlabel="kernels with weight")
    axes[0].set_ylabel("test error")
    axes[0].legend(fontsize=7)
    return picture


def kept(
    results: Results, names: tuple[str, ...], problems: list[str] | None = None
) -> tuple[list[bool], list[str]]:
    """Return whether differences are at least zero up to rounding, and the least ones as text."""
    conditions, texts = [], []
    for problem in with_bounds(results) if problems is None else problems:
        size = np.nanmax(np.abs(flat(results, "map_bound", problem, "bounds")))
        for name in names:
            gap = gaps(results, problem)[name]
            gap = gap[np.isfinite(gap)]
            if gap.size:
                conditions.append(bool((gap >= -PRECISION * size).all()))
                of = f" ({name})" * (len(names) > 1)
                texts.append(f"{problem}{of} {gap.min():.4g}")
    return conditions, texts


@claim(
    f"{SOURCE}, section 2.4",
    "At random weights, neither the difference MAP's bound - VB nor VB - MLM is below zero by more "
    f"than {PRECISION:g} of the largest value of MAP's bound. For Gaussian noise, both differences "
    "are zero by construction and do not count. For other noise, the marginal likelihood (MLM) is "
    "not known, so that VB is not compared with MLM",
)
def chain(results: Results) -> Finding | None:
    """Joint MAP with the log-determinant it drops is above the variational bound, which is above -2
    ln of the marginal likelihood.
    """
    _, texts = kept(results, ("VB - MLM", "MAP's bound - VB"))
    loose_noise = [name for name in with_bounds(results) if not name.endswith("Gaussian")]
    above = kept(results, ("MAP's bound - VB",), loose_noise)[0]
    laplace = [name for name in with_bounds(results) if name.endswith("Laplace")]
    loose = "".join(
        f" The bound is loosest for {name}, where it is {np.mean(gaps(results, name)[gap]):.0f} "
        "above VB on average. There MAP interpolates the responses, and at a residual of zero the "
        "Laplace likelihood is bounded by a Gaussian of zero variance."
        for name in laplace
        for gap in ["MAP's bound - VB"]
    )
    return (
        {"joint MAP above VB": above, "VB above MLM": []},
        f"smallest differences: {'; '.join(texts)}",
        "Joint MAP alone is no bound: it is MAP's bound minus ln det(K^-1 + Gamma^-1)." + loose,
    )


@claim(
    f"{SOURCE}, sections 2.2 and 2.4",
    "At random weights and at equal weights, where the tangent is taken, the difference MAP's "
    f"tangent - MAP is not below zero by more than {PRECISION:g} of the largest value of MAP's "
    "bound",
)
def tangent_bound(results: Results) -> Finding | None:
    """MKL is an upper bound of joint MAP, by the tangent of the concave ln det K."""
    conditions, texts = kept(results, ("MAP's tangent - MAP",))
    touching = [gaps(results, name)["MAP's tangent - MAP"] for name in with_bounds(results)]
    last = max((float(np.abs(gap).min()) for gap in touching), default=0.0)
    return (
        conditions,
        f"smallest differences: {'; '.join(texts)}; at the point of tangency, the difference is at "
        f"most {last:.1g}",
        "This holds if each kernel has its own penalty, the slope of the tangent. As MKL is "
        "usually applied, with one penalty for all kernels, it is this bound only where all slopes "
        "are equal.",
    )


@claim(
    f"{SOURCE}, section 2.3, equation 8",
    "The rank correlation of the two objectives over random weights is at least 0.9; the test "
    "error of MAP is at most 5 % above that of MLM, and their log-densities differ by less than "
    "0.05 (means, not tested)",
)
def similar(results: Results) -> Finding | None:
    """For Gaussian noise, MLM and joint MAP are very similar."""
    [problem] = [name for name in results.problems if name.endswith("Gaussian")]
    values = [stacked(results, name, problem, "bounds") for name in ("marginal", "map")]
    ranks = [rank_correlation(a, b) for a, b in zip(*values, strict=True)]
    alike: list[bool] = []
    text = f"rank correlation {np.mean(ranks):.2f} over random weights"
    if results.repeats(problem, "marginal") and results.repeats(problem, "MAP"):
        best = best_setting(results, problem, "MAP")
        errors = [entries(results, "error", problem, name) for name in ("marginal", "MAP")]
        kernels = [entries(results, "kernels", problem, name) for name in ("marginal", "MAP")]
        losses = [entries(results, "log_loss", problem, name) for name in ("marginal", "MAP")]
        alike += [
            errors[1][best] <= 1.05 * errors[0][0],
            abs(losses[1][best] - losses[0][0]) < 0.05,
        ]
        text += (
            f"; test error {errors[0][0]:.3f} (MLM) and {errors[1][best]:.3f} (MAP, e = "
            f"{JITTERS[best]:g}, the best of {len(JITTERS)}), minus log-density {losses[0][0]:.2f} "
            f"and {losses[1][best]:.2f}, kernels {kernels[0][0]:.1f} and {kernels[1][best]:.1f}; "
            f"test error of MAP with e = {JITTER:g}: {errors[1][JITTER_INDEX]:.3f}"
        )
    return (
        {"objectives": [float(np.mean(ranks)) >= 0.9], "what is learned": alike},
        text,
        "The objectives differ by ln det(K^-1 + I / s2), which is not constant: it penalizes "
        "weights by how much of the function the data determine. Moreover, MAP is not defined "
        "without white noise, whose variance the user has to choose, whereas MLM chooses its own.",
    )


@claim(
    f"{SOURCE}, section 2.2",
    "On each problem, the mean number of kernels with positive weight is smaller for MAP than for "
    f"MKL with the penalties of MAP's tangent (e = {JITTER:g}); and it is smaller for MAP than for "
    "MKL if both have the setting with the lowest test error (not tested)",
)
def sparser(results: Results) -> Finding | None:
    """Joint MAP enforces even more sparsity than MKL, its convex relaxation."""
    bounded, tuned, texts, others = [], [], [], []
    for problem in results.problems:
        joint = entries(results, "kernels", problem, "MAP")
        bound = entries(results, "kernels", problem, "MKL, tangent")
        plain = entries(results, "kernels", problem, "MKL")
        if not (joint.size and bound.size):
            continue
        bounded.append(bool(joint[JITTER_INDEX] < bound[0]))
        texts.append(f"{problem} {joint[JITTER_INDEX]:.1f} and {bound[0]:.1f}")
        if plain.size:
            best = best_setting(results, problem, "MKL")
            own = best_setting(results, problem, "MAP")
            tuned.append(bool(joint[own] < plain[best]))
            others.append(
                f"{problem} {joint[own]:.1f} (e = {JITTERS[own]:g}) and {plain[best]:.1f} "
                f"(penalty {PENALTIES[best]:g})"
            )
    return (
        [*bounded, *tuned],
        "MAP has fewer kernels than MKL with the tangent's penalties on "
        f"{sum(bounded)} of {len(bounded)} problems, and than MKL with the settings of lowest test "
        f"error on {sum(tuned)} of {len(tuned)}",
        f"Kernels of MAP and of MKL with the tangent's penalties: {'; '.join(texts)}. Kernels of "
        f"MAP and of MKL with the settings of lowest test error: {'; '.join(others)}. MAP is MKL "
        "with penalties that are updated at the current weights: the penalty of a kernel grows as "
        "its weight falls, as in reweighted l1 minimization. The number of kernels that MKL keeps "
        "depends on its penalty, so that only the comparison with the tangent is between "
        "comparable objectives.",
    )


@claim(
    f"{SOURCE}, section 2.3, stated without figures",
    "On each problem, test error and second loss of MLM (VB where MLM is not known) are not larger "
    f"than those of MAP with e = {JITTER:g}, nor than those of MAP with the e of lowest test error "
    "(means, not tested)",
)
def averaging(results: Results) -> Finding | None:
    """Averaging over latent values (MLM) controls complexity where joint MAP plugs in a point
    estimate.
    """
    conditions, texts = [], []
    for problem in results.tried("error", "marginal", "MAP"):
        own = [entries(results, name, problem, "marginal")[0] for name in ("error", "log_loss")]
        joint = [entries(results, name, problem, "MAP") for name in ("error", "log_loss")]
        best = best_setting(results, problem, "MAP")
        for k in (JITTER_INDEX, best):
            pairs = [(a, b[k]) for a, b in zip(own, joint, strict=True)]
            conditions += [bool(a <= b) for a, b in pairs if np.isfinite(a) and np.isfinite(b)]
        error, loss = (
            f"{x:.3f}, {y[JITTER_INDEX]:.3f}, {y[best]:.3f}"
            for x, y in zip(own, joint, strict=True)
        )
        texts.append(
            f"{problem} (best e = {JITTERS[best]:g}) error {error}"
            + (f", second loss {loss}" if np.isfinite(joint[1]).all() else "")
        )
    return (
        conditions,
        f"MLM is not worse in {sum(conditions)} of {len(conditions)} comparisons",
        f"Values of MLM, of MAP with e = {JITTER:g} and of MAP with the best e: "
        f"{'; '.join(texts)}. MAP's e acts as a regularizer. It is chosen on test data here, in "
        "MAP's favor, while MLM has nothing to choose.",
    )


CLAIMS = (chain, tangent_bound, similar, sparser, averaging)
FIGURES = {"taxonomy": figure}
