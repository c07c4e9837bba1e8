"""Alignment with and without centering: Cortes et al. (2010), section 2.2 and Figure 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from experiments.c_search import Grams, best_machine
from experiments.experiment import Experiment, Measures, Method
from experiments.problems import Array, Part, Split, scaled, three_parts, whole
from experiments.reporting.figures import panels
from experiments.reporting.results import Results, flat, rank_correlation, stacked
from experiments.reporting.section import Finding, claim, rough, table
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.metrics import alignment, centered_alignment

TWO_POINTS = "two points"
# The fractions of points that have the label -1.
BALANCES: Array = np.linspace(0.02, 0.98, 25)

NATURAL = ("banana", "image", "splice", "waveform", "german", "diabetes_pima", "spambase")
THINNED = ("banana", "image", "splice", "waveform", "spambase")
# The end of the names of problems where one sample in ten is positive.
RARE = ", one in ten"

C_GRID: Array = 10.0 ** np.arange(-2, 4.5, 0.5)


@dataclass(frozen=True)
class TwoPoints:
    """Samples at (-1, 0) and (1, 0), labeled by their first coordinate."""

    n_samples: int
    seed: int


def with_share(name: str, share: float | None, seed: int) -> Part:
    """Return a set, from which random positives are left out until they are a given fraction."""
    X, y = whole(name)
    if share is None:
        return X, y
    order = np.random.default_rng(seed).permutation(len(y))
    positive, negative = order[y[order] > 0], order[y[order] <= 0]
    kept = int(share / (1.0 - share) * len(negative))
    chosen = np.concatenate([negative, positive[:kept]])
    return X[chosen], y[chosen]


def real(repeat: int, *, name: str, share: float | None, sizes: tuple[int, int, int]) -> Split:
    """Return three parts of a set, with standardized features."""
    return scaled(three_parts(*with_share(name, share, repeat), sizes, repeat))


def both_alignments(data: TwoPoints) -> Measures:
    """Return both alignments on samples, for each balance of the classes."""
    generator = np.random.default_rng(data.seed)
    found: dict[str, list[float]] = {"share": [], "centered": [], "uncentered": []}
    for balance in BALANCES:
        y = np.where(generator.uniform(size=data.n_samples) < balance, -1, 1)
        K = np.outer(y, y) + 1.0
        found["share"].append(float(np.mean(y < 0)))
        found["centered"].append(centered_alignment(K, y))
        found["uncentered"].append(alignment(K, y))
    return found


def widths(X: Array) -> dict[str, Callable[..., Array]]:
    """Return Gaussian kernels with widths from an eighth of the data's scale to 64 times it."""
    scale = np.sqrt(X.shape[1])
    return {f"{power}": Gaussian(scale * 2.0**power) for power in range(-3, 7)}


def kinds(X: Array) -> dict[str, Callable[..., Array]]:
    """Return linear kernels with constants, polynomials, and Gaussians of three widths.

    A constant c is in units of the linear kernel's mean diagonal.
    """
    d = X.shape[1]
    kernels: dict[str, Callable[..., Array]] = {
        f"linear + {c:g}": _plus(c * d) for c in (0.0, 1.0, 10.0)
    }
    kernels |= {
        f"degree {degree} + {c:g}": Polynomial(degree, gamma=1.0 / d, coef0=c)
        for degree in (2, 3)
        for c in (0.0, 1.0, 10.0)
    }
    return kernels | {f"width {s:g}": Gaussian(s * np.sqrt(d)) for s in (0.5, 2.0, 8.0)}


def _plus(constant: float) -> Callable[..., Array]:
    """Return the linear kernel plus a constant."""
    linear = Linear()

    def kernel(X: Array, Z: Array | None = None) -> Array:
        return np.asarray(linear(X, Z)) + constant

    return kernel


def performance(
    data: Split, *, kernels: Callable[[Array], Mapping[str, Callable[..., Array]]]
) -> Measures:
    """Return the errors of a machine with each kernel, and both alignments, on test data."""
    found: dict[str, list[float]] = {
        "error": [],
        "balanced_error": [],
        "centered": [],
        "uncentered": [],
    }
    X, y = data.test
    for kernel in kernels(data.train[0]).values():
        grams = Grams.of(kernel, data)
        wrong = best_machine(grams, data, C_GRID).predict(grams.test) != y
        found["error"].append(float(wrong.mean()))
        found["balanced_error"].append(float(np.mean([wrong[y == c].mean() for c in (-1, 1)])))
        K = kernel(X)
        found["centered"].append(centered_alignment(K, y))
        found["uncentered"].append(alignment(K, y))
    return {**found, "positive": float(np.mean(y > 0))}


def experiment(small: bool) -> Experiment:
    """Declare the two-point example, and seven binary sets as they are and with few positives."""
    sizes = (60, 40, 100) if small else (300, 200, 500)
    natural, thinned = (("banana", "german"), ("banana",)) if small else (NATURAL, THINNED)
    sets = {name: partial(real, name=name, share=None, sizes=sizes) for name in natural}
    sets |= {name + RARE: partial(real, name=name, share=0.1, sizes=sizes) for name in thinned}
    methods: dict[str, Method] = {
        "both alignments": both_alignments,
        "widths": partial(performance, kernels=widths),
        "kinds": partial(performance, kernels=kinds),
    }
    limits = {(name, "both alignments"): 0 for name in sets}
    limits |= {(TWO_POINTS, method): 0 for method in ("widths", "kinds")}
    return Experiment(
        title="Centering in the definition of alignment",
        source="Cortes, Mohri, Rostamizadeh (2010), section 2.2, Figure 1",
        problems={TWO_POINTS: partial(TwoPoints, 500), **sets},
        methods=methods,
        limits=limits,
    )


# Alignments that differ by less than this are equal.
EXACT = 1e-6
# Rank correlations of at least this are good.
WELL = 0.5
CENTERED, UNCENTERED = "tab:blue", "tab:orange"


def closed_form(share: Array) -> Array:
    """Return the uncentered alignment of the two points (Figure 1) by the share of label -1."""
    return np.asarray(np.sqrt((1.0 + (1.0 - 2.0 * share) ** 2) / 2.0))


def correlations(results: Results, problem: str, family: str, loss: str) -> dict[str, Array]:
    """Return the rank correlation of each alignment with accuracy over kernels, by repeat."""
    accuracy = 1.0 - stacked(results, loss, problem, family)
    return {
        name: np.array(
            [
                rank_correlation(a, b)
                for a, b in zip(stacked(results, name, problem, family), accuracy, strict=True)
            ]
        )
        for name in ("centered", "uncentered")
    }


def groups(results: Results) -> dict[str, tuple[str, list[str]]]:
    """Return the names of problems of each family of kernels and balance of classes."""
    sets = [name for name in results.problems if name != TWO_POINTS]
    natural = [name for name in sets if not name.endswith(RARE)]
    rare = [name for name in sets if name.endswith(RARE)]
    found = {
        f"{label}, {balance}": (family, names)
        for family, label in (("widths", "Gaussian widths"), ("kinds", "kinds of kernel"))
        for balance, names in (("as they are", natural), ("one in ten positive", rare))
    }
    return {name: entry for name, entry in found.items() if entry[1]}


def mean(values: list[Array]) -> float:
    """Return the mean of all finite values, or NaN if there are none."""
    joined = np.concatenate(values) if values else np.empty(0)
    joined = joined[np.isfinite(joined)]
    return float(joined.mean()) if joined.size else float("nan")


def figure(results: Results) -> Figure:
    """Draw Figure 1 on samples, and correlations with accuracy by set."""
    picture, (left, right) = panels(2, width=4.6)
    share = flat(results, "share", TWO_POINTS, "both alignments")
    for name, color in (("centered", CENTERED), ("uncentered", UNCENTERED)):
        values = flat(results, name, TWO_POINTS, "both alignments")
        left.plot(share, values, ".", color=color, label=name)
    line = np.linspace(0.0, 1.0, 101)
    left.plot(line, closed_form(line), color=UNCENTERED, lw=1.0)
    left.axhline(1.0, color=CENTERED, lw=1.0)
    left.set(xlabel="part of the points labeled -1", ylabel="alignment", ylim=(0.5, 1.03))
    left.legend()
    for position, (family, marker) in enumerate((("widths", "o"), ("kinds", "s"))):
        for problem in results.problems:
            if problem == TWO_POINTS:
                continue
            found = correlations(results, problem, family, "error")
            right.plot(
                mean([found["uncentered"]]),
                mean([found["centered"]]),
                marker,
                color="tab:red" if problem.endswith(RARE) else "tab:gray",
                ms=5 - position,
            )
    right.plot([-1, 1], [-1, 1], color="black", lw=0.8)
    right.set(
        xlabel="uncentered: correlation with accuracy",
        ylabel="centered: correlation with accuracy",
        xlim=(-1.05, 1.05),
        ylim=(-1.05, 1.05),
    )
    return picture


def correlation_table(results: Results) -> str:
    """Return the correlation of both alignments with accuracy, by kernels and sets."""
    rows = []
    for label, (family, names) in groups(results).items():
        row = [label]
        for loss in ("error", "balanced_error"):
            found = [correlations(results, name, family, loss) for name in names]
            row += [
                f"{mean([each[name] for each in found]):.2f}" for name in ("centered", "uncentered")
            ]
        rows.append(row)
    header = [
        "kernels and sets",
        "centered",
        "uncentered",
        "centered, balanced",
        "uncentered, balanced",
    ]
    return table(header, rows)


@claim(
    "Cortes et al. 2010, section 2.2, Figure 1",
    f"The largest distance of sampled alignments from each of the two formulas is below {EXACT:g}",
)
def two_points(results: Results) -> Finding | None:
    """Centered alignment is 1 whatever the balance of two separable classes; without centering it
    is sqrt((1 + (1 - 2 alpha)^2) / 2), 1 at the ends only and .707 for equal classes.
    """
    share, ours, theirs = (
        flat(results, name, TWO_POINTS, "both alignments")
        for name in ("share", "centered", "uncentered")
    )
    inside = (share > 0.0) & (share < 1.0)
    apart = float(np.abs(theirs - closed_form(share))[inside].max())
    below = float(np.abs(ours - 1.0)[inside].max())
    nearest = int(np.abs(share - 0.5).argmin())
    return (
        [below < EXACT, apart < EXACT],
        f"centered alignment is within {rough(below)} of 1, and uncentered alignment within "
        f"{rough(apart)} of its formula, where a share of {share[inside].min():.3f} to "
        f"{share[inside].max():.3f} of the points has the label -1; uncentered alignment is "
        f"{theirs[nearest]:.3f} at a share of {share[nearest]:.3f}",
        "The paper includes shares of exactly 0 and 1. There, centered alignment is not defined, "
        "because the centered target is zero.",
    )


def agreement(results: Results) -> str:
    """State how alike both alignments rank kernels."""
    texts = []
    for name, (family, problems) in groups(results).items():
        pairs = [
            [stacked(results, kind, problem, family) for kind in ("centered", "uncentered")]
            for problem in problems
        ]
        ranks = [rank_correlation(a, b) for x, y in pairs for a, b in zip(x, y, strict=True)]
        texts.append(f"{mean([np.array(ranks)]):.2f} ({name})")
    return f"Rank correlations between the two alignments are {', '.join(texts)}."


@claim(
    "Cortes et al. 2010, section 2.2, stated without figures",
    "The rank correlation, over kernels, between uncentered alignment and test accuracy is below "
    f"{WELL} and below that between centered alignment and test accuracy (means over sets and "
    "repeats, for two families of kernels and two balances of classes)",
)
def follows_performance(results: Results) -> Finding | None:
    """Without centering, alignment on the test set does not correlate well with performance."""
    conditions, texts = [], []
    for name, (family, names) in groups(results).items():
        each = [correlations(results, problem, family, "error") for problem in names]
        ours, theirs = (mean([one[kind] for one in each]) for kind in ("centered", "uncentered"))
        if np.isfinite(ours) and np.isfinite(theirs):
            conditions += [theirs < WELL, ours > theirs]
            texts.append(f"{name}: {theirs:.2f} and {ours:.2f}")
    centered = [
        mean([correlations(results, problem, family, "error")["centered"] for problem in names])
        for family, names in groups(results).values()
    ]
    weak = sum(value < WELL for value in centered)
    return (
        conditions,
        f"correlations of uncentered and of centered alignment: {'; '.join(texts)}",
        "Perhaps the two alignments differ because of constants in the kernel and of unequal "
        "classes. A wide Gaussian kernel, or a kernel with a large constant, is nearly a matrix of "
        "ones. The uncentered alignment of such a matrix with the labels is the square of their "
        f"mean. {agreement(results)} The correlation of centered alignment with accuracy is itself "
        f"below {WELL} in {weak} of the {len(centered)} groups.",
    )


CLAIMS = (two_points, follows_performance)
FIGURES = {"class_balance": figure}
