"""Two-stage beside one-stage learning over Gaussian kernels: Cortes et al. (2010), Table 1."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.preprocessing import StandardScaler

import mercer
from experiments.c_search import Task
from experiments.experiment import Experiment, at_most
from experiments.folds import C_GRID, N_FOLDS, Folds, folds_of, grid_search, one_stage, two_stage
from experiments.problems import Split, whole
from experiments.reporting.figures import COLORS, panels
from experiments.reporting.results import (
    Comparison,
    Results,
    compare_entries,
    flat,
    rank_correlation,
)
from experiments.reporting.section import (
    PUBLISHED,
    Claim,
    Claims,
    Finding,
    claim,
    judged,
    listed,
    mean_and_deviation,
    table,
)
from experiments.reporting.verdicts import Compared
from mercer.kernels import Gaussian, Kernel

# Data, task, and the smallest and largest exponent g of gamma = 2^g, by the paper's name.
SETS: dict[str, tuple[str, Task, int, int]] = {
    "kinematics": ("kin8nm", "regression", -3, 3),
    "ionosphere": ("ionosphere", "regression", -3, 3),
    "german": ("german", "classification", -4, 3),
    "spambase": ("spambase", "classification", -12, -7),
    "splice": ("splice", "classification", -9, -3),
}

# The end of the names of problems whose features are standardized.
STANDARDIZED = ", standardized"


def dictionary(low: int, high: int) -> list[Kernel]:
    """Return Gaussian kernels exp(-gamma |x - x'|^2), gamma = 2^low, ..., 2^high."""
    return [Gaussian(2.0 ** (-g / 2.0)) for g in range(low, high + 1)]


def raw(repeat: int, *, name: str, n_samples: int) -> Folds:
    """Return the paper's setting: features as they are, and the paper's widths."""
    data, task, low, high = SETS[name]
    return Folds(task, dictionary(low, high), folds_of(*whole(data), n_samples, repeat))


def standardized(repeat: int, *, name: str, n_samples: int) -> Folds:
    """Return standardized features, with widths from a quarter to 32 times sqrt(d)."""
    data, task, _, _ = SETS[name]
    X, y = whole(data)
    kernels = [Gaussian(np.sqrt(X.shape[1]) * 2.0**g) for g in range(-2, 6)]
    return Folds(task, kernels, folds_of(StandardScaler().fit_transform(X), y, n_samples, repeat))


def published(data: Folds, C: float) -> Any:
    """Return the paper's one-stage method: l2-krr around zero for responses, l1-svm for classes."""
    if data.task == "regression":
        return mercer.L2KRR(data.kernels, alpha=1.0 / C)
    return mercer.L1SVM(data.kernels, C=C)


def widths(split: Split) -> Sequence[Kernel]:
    """Return kernels of nine widths, each twice the one before, around gamma="scale"."""
    X = split.train[0]
    return [Gaussian(np.sqrt(X.shape[1] * X.var()) * 2.0**g) for g in range(-4, 5)]


def experiment(small: bool) -> Experiment:
    """Declare five sets, with features raw and standardized, four methods and a grid search."""
    n_samples = 100 if small else 1000
    names = ["ionosphere", "german"] if small else list(SETS)
    drawn = {name: partial(raw, name=name, n_samples=n_samples) for name in names}
    drawn |= {
        name + STANDARDIZED: partial(standardized, name=name, n_samples=n_samples) for name in names
    }
    return Experiment(
        title="Gaussian kernels combined by alignment",
        source="Cortes, Mohri, Rostamizadeh (2010), section 5.1, Table 1",
        problems=drawn,
        methods={
            "unif": two_stage(
                lambda kernels: mercer.UniformCombination(kernels, normalize="trace")
            ),
            "one-stage": one_stage(published),
            "align": two_stage(
                lambda kernels: mercer.IndependentAlignment(kernels, normalize="trace")
            ),
            "alignf": two_stage(mercer.AlignmentMaximization),
            "grid search": grid_search(widths),
        },
        limits=at_most(3, drawn, ("grid search", "one-stage")),
        test_to_train=1.0 / (N_FOLDS - 2),
    )


SOURCE = "Cortes et al. 2010, section 5.1"
# Error and alignment in Table 1 of the paper.
PAPER = PUBLISHED["gaussian_combinations"]
METHODS = ("unif", "one-stage", "align", "alignf")


def scale(problem: str) -> tuple[float, int]:
    """Return factor and digits of errors: percent, or root mean squared error."""
    task = SETS[problem.removesuffix(STANDARDIZED)][1]
    return (100.0, 1) if task == "classification" else (1.0, 3)


def error_table(results: Results, problems: list[str]) -> str:
    """Return errors and alignments beside the paper's."""
    rows = []
    for problem in problems:
        factor, digits = scale(problem)
        for method in results.methods:
            errors = flat(results, "error", problem, method)
            if not errors.size:
                continue
            paper = PAPER.get(problem, {}).get(method, ("", ""))
            gain = compare_entries(results, "error", problem, method, "unif")
            position = flat(results, "position", problem, method)
            rows.append(
                [
                    f"{problem}, {method}",
                    mean_and_deviation(errors, factor, digits),
                    paper[0],
                    ""
                    if method == "unif"
                    else f"{factor * gain.difference:+.{digits}f}" + ("\\*" if gain.sign else ""),
                    mean_and_deviation(flat(results, "alignment", problem, method), digits=3),
                    paper[1],
                    f"{int((position == 0).sum())}, {int((position == C_GRID.size - 1).sum())}"
                    f" of {position.size}",
                ]
            )
    header = ["set, method", "error", "paper", "minus unif", "alignment", "paper", "C at an end"]
    return table(header, rows)


def figure(results: Results) -> Figure:
    """Draw error against alignment, both relative to the uniform combination."""
    picture, axes = panels(2, width=4.6)
    for panel, ending in zip(axes, (False, True), strict=True):
        for method in results.methods:
            points = []
            for problem in results.problems:
                unif = [flat(results, name, problem, "unif").mean() for name in MEASURES]
                own = [flat(results, name, problem, method) for name in MEASURES]
                if problem.endswith(STANDARDIZED) == ending and own[0].size:
                    points.append([each.mean() / u for each, u in zip(own, unif, strict=True)])
            if points:
                x, y = np.array(points).T
                panel.plot(x, y, "o", color=COLORS.get(method), label=method)
        panel.axhline(1.0, color="black", lw=0.6)
        panel.axvline(1.0, color="black", lw=0.6)
        panel.set(
            xlabel="alignment, in that of unif",
            ylabel="error, in that of unif",
            title="features standardized" if ending else "the paper's setting",
        )
    axes[0].legend(fontsize=7)
    return picture


MEASURES = ("alignment", "error")


def divided(results: Results) -> tuple[list[str], list[str]]:
    """Return the problems of raw and of standardized features."""
    raw = [name for name in results.problems if not name.endswith(STANDARDIZED)]
    return raw, [name for name in results.problems if name not in raw]


def raw_errors(results: Results) -> str:
    """Return the table beside the paper's Table 1."""
    return error_table(results, divided(results)[0])


def standardized_errors(results: Results) -> str:
    """Return the same with features standardized."""
    return error_table(results, divided(results)[1])


def difference(
    results: Results, problems: list[str], first: str, second: str
) -> tuple[list[Comparison], str]:
    """Return the differences in the mean error of two methods, and the numbers as text."""
    known, texts = [], []
    for problem in problems:
        found = compare_entries(results, "error", problem, first, second)
        if not found.n_pairs:
            continue
        factor, digits = scale(problem)
        known.append(found)
        mark = ", significant" if found.sign else ""
        texts.append(
            f"{problem.removesuffix(STANDARDIZED)} {factor * found.difference:+.{digits}f}{mark}"
        )
    return known, "; ".join(texts)


def counts(differences: list[Comparison]) -> tuple[int, int]:
    """Return how many differences are negative, and how many of them significantly."""
    return sum(d.difference < 0.0 for d in differences), sum(d.sign < 0 for d in differences)


def claims(results: Results) -> Claims:
    """Return the claims on improvement, best alignment, and correlation."""
    raw, other = divided(results)
    tests = (best_alignment, heuristic, correlated)
    improvements = [improvement(results, raw, other, rival) for rival in ("unif", "one-stage")]
    return [*improvements, *(test(results, raw, other) for test in tests)]


NAMES = {"unif": "the uniform combination", "one-stage": "the one-stage algorithms"}


def improvement(results: Results, raw: list[str], other: list[str], rival: str) -> Claim | None:
    """Return the claim that alignf and align improve on another method."""
    of_alignf, text = difference(results, raw, "alignf", rival)
    of_align, align_words = difference(results, raw, "align", rival)
    again, again_words = difference(results, other, "alignf", rival)
    both = [*of_alignf, *of_align]
    align_lower, align_significant = counts(of_align)
    lower, significant = counts(both)
    return judged(
        f"Alignment improves on {NAMES[rival]} in all datasets",
        f"{SOURCE}, Table 1",
        f"On each set, the mean errors of alignf and of align are below that of {rival}, in "
        "differences paired by fold; a difference that is not significant counts too",
        [Compared.lower(found) for found in both],
        f"differences of alignf: {text}; align has a lower error on {align_lower} of "
        f"{len(of_align)} sets, significantly on {align_significant}; of {len(both)} differences, "
        f"{lower} are negative, {significant} of them significantly (corrected resampled t-test)",
        why=f"The differences in error of align minus {rival} are: {align_words}. With "
        f"standardized features, those of alignf are: {again_words}; they are negative on "
        f"{counts(again)[0]} of {len(again)} sets. Differences that are not called significant are "
        "within the noise of the folds. The paper's differences, except on kinematics, are within "
        f"about one of its standard deviations. {one_width(results, raw)}",
    )


def one_width(results: Results, raw: list[str]) -> str:
    """State how a grid search compares with alignf."""
    gaps = [compare_entries(results, "error", name, "grid search", "alignf") for name in raw]
    known = [gap for gap in gaps if gap.n_pairs]
    lower, significant = sum(g.difference < 0.0 for g in known), sum(g.sign < 0 for g in known)
    return (
        "A single Gaussian kernel, whose width is found by grid search and may be outside the "
        f"paper's range, has a lower error than alignf on {lower} of {len(known)} sets, "
        "significantly on "
        f"{significant}."
    )


def best_method(results: Results, problem: str) -> str:
    """Return the method of largest mean alignment on test data."""
    return by_alignment(results, problem)[0]


def by_alignment(results: Results, problem: str) -> list[str]:
    """Return the methods by their mean alignment on test data, the largest first."""
    means = {m: flat(results, "alignment", problem, m) for m in METHODS}
    return sorted((m for m in means if means[m].size), key=lambda m: -float(means[m].mean()))


def ahead(results: Results, problem: str) -> Compared:
    """Return whether alignf's mean alignment is the largest, and a test against the next one."""
    first, *_ = rest = [m for m in by_alignment(results, problem) if m != "alignf"]
    found = compare_entries(results, "alignment", problem, "alignf", first)
    return Compared(best_method(results, problem) not in rest, found.sign)


@claim(
    f"{SOURCE}, Table 1",
    "Of four methods, alignf has the largest mean alignment with the labels of the test fold, on "
    "each set; its difference from the best other method is tested",
)
def best_alignment(results: Results, raw: list[str], other: list[str]) -> Finding | None:
    """alignf gives the best alignment."""
    best, again = (
        {problem: best_method(results, problem) for problem in problems}
        for problems in (raw, other)
    )
    texts = [f"{problem.removesuffix(STANDARDIZED)} {method}" for problem, method in best.items()]
    lost = [f"{problem} ({method})" for problem, method in again.items() if method != "alignf"]
    return (
        [ahead(results, problem) for problem in raw],
        f"the best method is: {'; '.join(texts)}",
        "On training data, alignf has the largest alignment by construction, because it maximizes "
        "the alignment. With standardized features, another method has the largest alignment on "
        f"test data on these sets: {listed(lost)}.",
    )


@claim(
    f"{SOURCE}, Table 1",
    "On each set, align has a higher mean alignment and a lower mean error than unif, in "
    "differences paired by fold",
)
def heuristic(results: Results, raw: list[str], other: list[str]) -> Finding | None:
    """align increases alignment and performance over the uniform combination."""
    conditions: dict[str, list[Compared]] = {"alignment": [], "performance": []}
    texts = []
    for problem in raw:
        error = compare_entries(results, "error", problem, "align", "unif")
        alignment = compare_entries(results, "alignment", problem, "align", "unif")
        factor, digits = scale(problem)
        conditions["alignment"].append(Compared.higher(alignment))
        conditions["performance"].append(Compared.lower(error))
        texts.append(
            f"{problem} alignment {alignment.difference:+.4f}, error "
            f"{factor * error.difference:+.{digits}f}"
        )
    return (
        conditions,
        f"differences of align minus unif: {'; '.join(texts)}",
        "The weights of align are proportional to the alignments of the single kernels, and are "
        "equal if these alignments are equal. With standardized features, the differences in error "
        f"are: {difference(results, other, 'align', 'unif')[1]}.",
    )


@claim(
    f"{SOURCE}, Table 1",
    "On each set, Spearman's correlation over the four methods, of the mean alignment with minus "
    "the mean error, is at least 0.5 (four points, not tested)",
)
def correlated(results: Results, raw: list[str], other: list[str]) -> Finding | None:
    """Performance and alignment are well correlated."""

    def over_methods(problem: str) -> float:
        pairs = [
            (
                flat(results, "alignment", problem, m).mean(),
                -flat(results, "error", problem, m).mean(),
            )
            for m in METHODS
            if flat(results, "error", problem, m).size
        ]
        x, y = np.array(pairs).T
        return rank_correlation(x, y)

    found = {problem: over_methods(problem) for problem in raw}
    again = {problem: over_methods(problem) for problem in other}
    texts = [f"{name} {value:.2f}" for name, value in found.items()]
    others = [f"{name.removesuffix(STANDARDIZED)} {value:.2f}" for name, value in again.items()]
    return (
        [value >= 0.5 for value in found.values()],
        "; ".join(texts),
        f"With standardized features, the correlations are: {listed(others)}. There are only four "
        "methods. If their errors differ only by noise, their order is due to chance.",
    )


CLAIMS = (claims,)
FIGURES = {"gaussian_combinations": figure}
