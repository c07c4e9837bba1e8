"""Section on concentration and predictors: Cortes et al. (2010), theorems 1 to 3."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from experiments.definitions.concentration import CONFIDENCE, N_DRAWS, POWERS, RESPONSES
from experiments.problems import Array
from experiments.reporting.figures import panels
from experiments.reporting.formatting import listed
from experiments.reporting.list_measures import flat, stacked
from experiments.reporting.results import Results
from experiments.reporting.section import Claim, Section, judge, table

RATE = -0.45
"""A slope of log deviation against log m of at most this confirms the promised rate of -1/2."""
PLAIN, CENTERED = "predictor", "predictor, centered labels"
WIDTH_COLORS = ("tab:purple", "tab:blue", "tab:cyan")
ROUNDING = 1e-9
"""A bound that is exceeded by less than this is not counted as broken."""


def sizes(results: Results, problem: str) -> Array:
    """Return the numbers of draws."""
    return stacked(results, "sizes", problem, "deviations")[0]


def curves(results: Results, measure: str, problem: str) -> Array:
    """Return a measure by width and size, as a mean over repeats."""
    return np.asarray(stacked(results, measure, problem, "deviations").mean(axis=0))


def slopes(results: Results, problem: str) -> Array:
    """Return the slope of the log quantile against log m by width, over the larger half of m."""
    m, quantile = sizes(results, problem), curves(results, "quantile", problem)
    late = m >= np.median(m)
    return np.array([np.polyfit(np.log(m[late]), np.log(row[late]), 1)[0] for row in quantile])


def measured(results: Results) -> list[str]:
    """Return the problems that have deviations."""
    return [name for name in results.problems if results.repeats(name, "deviations")]


def figure(results: Results) -> Figure:
    """Draw deviations against the number of draws."""
    names = measured(results)
    picture, axes = panels(max(len(names), 1), width=3.6)
    for panel, problem in zip(axes, names, strict=False):
        m = sizes(results, problem)
        for row, bound, power, color in zip(
            curves(results, "quantile", problem),
            curves(results, "bound", problem),
            POWERS,
            WIDTH_COLORS,
            strict=True,
        ):
            panel.loglog(m, row, "o-", color=color, ms=3, label=f"width 2^{power}")
            panel.loglog(m, bound, ":", color=color)
        panel.loglog(m, 0.5 / np.sqrt(m), color="black", lw=0.8, label="slope -1/2")
        panel.set(title=problem, xlabel="number of draws m")
    axes[0].set_ylabel("deviation of alignment")
    axes[0].legend(fontsize=7)
    return picture


def section(results: Results) -> Section:
    """Write the results on theorems 1 to 3."""
    rows = []
    for problem in measured(results):
        ratio = curves(results, "bound", problem) / curves(results, "quantile", problem)
        expected = stacked(results, "alignment", problem, "deviations").mean(axis=0)
        bias = curves(results, "bias", problem)
        rows += [
            [
                f"{problem}, 2^{power}",
                f"{expected[k]:.4f}",
                f"{slopes(results, problem)[k]:.2f}",
                f"{bias[k, 0]:+.4f}",
                f"{ratio[k].min():.0f}",
            ]
            for k, power in enumerate(POWERS)
        ]
    header = ["population, width", "alignment", "slope", "bias at least m", "bound / quantile"]
    body = (
        "Up to 1,000 samples of a set are taken for the whole distribution, so that expectations "
        f"are sums; m draws with replacement, {N_DRAWS} times for each m. Gaussian kernels, widths "
        "two to the power given times the root of the number of standardized features. Deviation "
        f"is the quantile of level {1.0 - CONFIDENCE:.2f} of the distance between the alignment of "
        "draws and that of the distribution; the bound (dotted) is theorem 1's with delta = "
        f"{CONFIDENCE}. The slope is over the larger half of the m. The last column is the least "
        f"ratio of bound and quantile.\n\n{table(header, rows)}\n![Deviation of alignment by "
        "number of draws](figure:concentration)\n\nThe predictor h(x) = E[y' K_c(x, x')] / "
        "sqrt(E[K_c^2]) of theorems 2 and 3, on the same populations and one where one sample in "
        "ten is positive, for seven widths; labels as they are, and centered and divided by their "
        f"standard deviation.\n\n{predictor_table(results)}"
    )
    return Section(body, claims(results), {"concentration": figure(results)})


def predictor_table(results: Results) -> str:
    """Return a table of bounds and errors at the width of largest alignment."""
    rows = []
    for problem in results.problems:
        for method in (PLAIN, CENTERED):
            if not results.repeats(problem, method):
                continue
            alignment = stacked(results, "alignment", problem, method).mean(axis=0)
            best = int(alignment.argmax())
            cells = [
                f"{stacked(results, name, problem, method).mean(axis=0)[best]:.3f}"
                for name in ("error", "error_bound", "mse", "mse_bound")
            ]
            if problem == RESPONSES:
                cells[:2] = ["", ""]
            kind = "" if method == PLAIN else ", centered labels"
            rows.append([f"{problem}{kind}", f"{alignment[best]:.3f}", *cells])
    header = ["population", "alignment", "error", "its bound", "MSE", "its bound"]
    return table(header, rows)


def claims(results: Results) -> list[Claim]:
    """Return the claims of theorems 1 to 3 that have records."""
    found = []
    if measured(results):
        found.append(concentration(results))
    if any(results.repeats(name, PLAIN) for name in results.problems):
        found += [classification(results), regression(results)]
    return found


def concentration(results: Results) -> Claim:
    """Return the claim of theorem 1."""
    rates = {name: slopes(results, name) for name in measured(results)}
    inside = [
        (stacked(results, "quantile", name, "deviations")
         <= stacked(results, "bound", name, "deviations")).all()
        for name in rates
    ]  # fmt: skip
    vacuous = [curves(results, "bound", name).min() for name in rates]
    texts = [f"{name} {', '.join(f'{rate:.2f}' for rate in row)}" for name, row in rates.items()]
    exceeded = "the bound is never exceeded" if all(inside) else "the bound is exceeded"
    return Claim(
        "The alignment of a sample differs from that of the distribution by O(1 / sqrt(m))",
        "Cortes et al. 2010, theorem 1",
        "slope of the logarithm of the deviation's quantile against log m, for three widths; true "
        f"for each that is at most {RATE}, and where no quantile is above the bound",
        f"slopes {'; '.join(texts)}; {exceeded}",
        judge([bool(rate <= RATE) for row in rates.values() for rate in row] + [all(inside)]),
        "The rate is that of the theorem, its constant is not of use: the least value of the bound "
        f"over all m and widths tried is {min(vacuous):.1f}, while alignments lie between 0 and 1.",
    )


def broken(results: Results, method: str, value: str, bound: str) -> tuple[list[str], int, float]:
    """Return populations that break a bound, the number of cases that keep it, and least slack."""
    names, kept, slack = [], 0, np.inf
    for problem in results.problems:
        if not results.repeats(problem, method) or (value == "error" and problem == RESPONSES):
            continue
        margin = flat(results, bound, problem, method) - flat(results, value, problem, method)
        kept += int((margin >= -ROUNDING).sum())
        slack = min(slack, float(margin.min()))
        if (margin < -ROUNDING).any():
            names.append(problem)
    return names, kept, slack


def classification(results: Results) -> Claim:
    """Return the claim of theorem 2."""
    found = {
        method: broken(results, method, "error", "error_bound") for method in (PLAIN, CENTERED)
    }
    off = [
        np.abs(
            flat(results, "product", name, PLAIN) - flat(results, "alignment", name, PLAIN)
        ).max()
        for name in results.problems
        if name != RESPONSES and results.repeats(name, PLAIN)
    ]
    names, kept, slack = found[PLAIN]
    return Claim(
        "Of two classes, sign(h) errs with probability at most 1 - rho / Gamma",
        "Cortes et al. 2010, theorem 2",
        "error of h and the bound, on each population and width; true where the bound is kept",
        f"kept in {kept} cases, exceeded on {listed(names)}; the least slack is {slack:.2f}",
        judge([not names]),
        "The proof takes E[y h(x)] for the alignment, which it is only if the labels' mean is "
        f"zero: here both differ by up to {max(off, default=0.0):.3f}. Alignments of Gaussian "
        "kernels are far below 1, so that the bound is near 1 whatever the error is.",
    )


def regression(results: Results) -> Claim:
    """Return the claim of theorem 3."""
    names, kept, _ = broken(results, PLAIN, "mse", "mse_bound")
    centered, kept_centered, slack = broken(results, CENTERED, "mse", "mse_bound")
    return Claim(
        "For labels divided by their standard deviation, h has a mean squared error of at most "
        "2 (1 - rho)",
        "Cortes et al. 2010, theorem 3",
        "mean squared error of h and the bound, on each population and width; true of labels as "
        "they are, and of centered labels, where the bound is kept everywhere",
        f"labels as they are: kept in {kept} cases, exceeded on {listed(names)}; centered: kept in "
        f"{kept_centered} cases, exceeded on {listed(centered)}, least slack {slack:.2f}",
        judge([not names, not centered]),
        "Division by the standard deviation gives E[y^2] = 1, as the theorem asks, only if the "
        "mean is zero too: h, built from a centered kernel, cannot predict a mean. With labels "
        "centered the premise is met. Its bound is above the error of predicting zero, which is 1, "
        "unless the alignment is above 1/2.",
    )
