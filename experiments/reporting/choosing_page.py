"""What the page on which method to choose states, from the records of the experiments.

Its text is the Markdown file of the same name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from experiments.reporting import table_parts
from experiments.reporting import table_results as grouped
from experiments.reporting.evidence import SIZES, Evidence
from experiments.reporting.results import Results, compare_entries, win_tie_loss
from experiments.reporting.section import listed, table, text_of, wrapped
from experiments.reporting.table_results import REFERENCE
from experiments.tabular.table_files import TIMED_SIZE

# The experiments from which the page argues.
NEEDED = (
    *("bigrams", "defaults", "dependence", "dependence_times", "digits", "gaussian_combinations"),
    *("letters", "miscellany", "partitions", "relevance", "sine", "tables", "taxonomy"),
)

# The methods on tables that the advice is about, with the names of their estimators.
NAMES = {
    table_parts.OURS: "`KernelStacking*()`",
    table_parts.DEFAULT: "`TwoStage*()`",
    table_parts.GRID: "grid search of one width and the penalty",
}
# The methods with uniform weights on widths that are taken from the data.
READ_OFF = {"digits": "DU, widths read off", "letters": "DU, widths read off", "miscellany": "DU"}
# Sets of more than two classes.
MANY_CLASSES = ("yeast", "vehicle", "dermatology")
# The problem of thousands of features, and that on finite dictionaries.
BOOKS, FINITE = "books, good or not", "gaussian_combinations"
# Forms of the kernel that are tried on splice and on other sets.
TRIED = ("CA-1D", "CA-nD, no penalty", 'CA-nD, penalty="auto"', 'learner="auto"')
# Uniform weights on such widths.
UNIFORM = "uniform weights, 20 widths taken from the data"
# The numbers that compare the errors of two methods.
COMPARED = ("difference in points", "problems with lower error", "p")


def choosing(results: Mapping[str, Results]) -> str:
    """Return the page as Markdown.

    Parameters
    ----------
    results : dict of str to Results
        The results of all experiments that are `NEEDED`.
    """
    return _paragraphs_wrapped(text_of(sys.modules[__name__], Evidence(results)))


def _paragraphs_wrapped(page: str) -> str:
    """Wrap the paragraphs of a page, but neither its headings, tables nor lists."""
    blocks, kept = page.strip().split("\n\n"), ("#", "|", "* ")
    found = (b if b.startswith(kept) else wrapped(" ".join(b.split())) for b in blocks)
    return "\n\n".join(found) + "\n"


def _error(name: str, method: str) -> Callable[[Evidence], str]:
    return lambda found: found.error(name, method)


def _mean(name: str, method: str, measure: str, *only: str) -> Callable[[Evidence], float]:
    return lambda found: found.mean(name, method, measure=measure, only=only)


def _times(
    phrase: str, name: str, slow: str, fast: str, measure: str = "seconds"
) -> Callable[[Evidence], str]:
    """Say how many times as long a method takes, where that was measured."""

    def said(found: Evidence) -> str:
        ratio = found.times(name, slow, fast, measure)
        return phrase.format(ratio) if ratio else ""

    return said


def _differences(found: Evidence, name: str, first: str, second: str) -> list[str]:
    """Return cells with the numbers of `COMPARED`."""
    gap = found.gap(name, first, second)
    return [f"{gap.points:+.2f}", f"{gap.lower} of {gap.n_tasks}", f"{gap.p_value:.2g}"]


def _groups_of_tables(found: Evidence) -> dict[str, grouped.Group]:
    groups = grouped.groups_of(grouped.better_inputs(found.results["tables"]))
    return {title: each for title, each in groups.items() if each.n_train != TIMED_SIZE}


def ratios_of_tables(found: Evidence) -> str:
    """Return errors on tables relative to the reference's."""
    rows = [
        [title, *(table_parts.mean_ratio(each, method) for method in NAMES)]
        for title, each in _groups_of_tables(found).items()
    ]
    return table([f"error / error of {REFERENCE}", *NAMES.values()], rows)


def better_trees(found: Evidence) -> str:
    """Return the tables on which trees err less than stacks, with both errors."""
    rows = [
        [problem, best, lower, higher, "yes" if sure else "no"]
        for group in _groups_of_tables(found).values()
        for problem, best, lower, higher, sure in table_parts.lower_errors_of_trees(
            group, table_parts.OURS, table_parts.TREES
        )
    ]
    header = ["table, training rows", "best method with trees", "error of this method"]
    return table([*header, "error of the stack", "significant difference"], rows)


def defaults(found: Evidence) -> str:
    """Compare both default estimators with a cross-validated grid on every data set."""
    methods = {"default": "`TwoStageClassifier()`", "CA-1D": "CA-1D", "HSIC": "one width by HSIC"}
    rows = []
    for method, label in methods.items():
        wins, ties, losses = win_tie_loss(found.results["defaults"], "error", method, "grid search")
        rows.append(
            [
                label,
                *(f"{wins} of {wins + ties + losses}", f"{losses} of {wins + ties + losses}"),
                *_differences(found, "defaults", method, "grid search"),
                found.times("defaults", "grid search", method) or "-",
            ]
        )
    header = ["method", "significantly better than grid search", "significantly worse", *COMPARED]
    return table([*header, "time of grid search / time of method"], rows)


def isotropic(found: Evidence) -> str:
    """Return errors of methods with one width for all features."""
    methods = ("CA-1D", "CR-1D", 'learner="auto"', "grid search")
    rows = [[method, *(found.error(name, method) for name in SIZES)] for method in methods]
    rows.append([UNIFORM, *(found.error(name, method) for name, method in READ_OFF.items())])
    return table(["method", *SIZES.values()], rows)


def grid_better(found: Evidence) -> list[str]:
    """Return the problems on which a grid search errs clearly less than CA-1D."""
    gaps = {label: found.gap(name, "grid search", "CA-1D") for name, label in SIZES.items()}
    return [label for label, gap in gaps.items() if gap.clearly_lower]


def grid_advice(found: Evidence) -> str:
    """Say where a grid search errs clearly less than CA-1D."""
    better = grid_better(found)
    if not better:
        return "grid search is not clearly better on any of the tasks, but worth trying"
    return (
        f"grid search has a clearly lower error on {listed(better)}, so if time permits, try grid "
        "search and CR-1D as well"
    )


def compared(found: Evidence) -> str:
    """Compare CA-1D with a grid search, and with uniform weights."""
    others = {"grid search": dict.fromkeys(SIZES, "grid search"), UNIFORM: READ_OFF}
    rows = [
        [f"CA-1D and {label}, {SIZES[name]}", *_differences(found, name, "CA-1D", method)]
        for label, methods in others.items()
        for name, method in methods.items()
    ]
    return table(["methods, tasks", *COMPARED], rows)


kernels_of_letters = _mean("letters", "CA-1D", "kernels")
slower_grid = _times(
    ". Grid search takes {} times as long as CA-1D", "letters", "grid search", "CA-1D"
)


def hsic(found: Evidence) -> str:
    """Return the error of HSIC on the sets that cross-validation was tried on."""
    return found.error("dependence", "HSIC", *found.shared("dependence", "HSIC", "CV"))


def cross_validation(found: Evidence) -> str:
    """Return the error of cross-validation on the same sets."""
    return found.error("dependence", "CV", *found.shared("dependence", "HSIC", "CV"))


def hsic_outcomes(found: Evidence) -> str:
    """State on how many sets HSIC is better than cross-validation."""
    wins, ties, losses = win_tie_loss(found.results["dependence"], "error", "HSIC", "CV")
    return (
        f"significantly better than cross-validation on {wins} of {wins + ties + losses} data "
        f"sets, and significantly worse on {losses}"
    )


slower_cross_validation = _times(
    " Cross-validation takes {} times as long as learning the width by HSIC and searching for C",
    *("dependence_times", "CV", "HSIC"),
)
slower_than_learning = _times(
    ", and {} times as long as learning the width alone.",
    *("dependence_times", "CV", "HSIC", "seconds_learning"),
)


def uncentered(found: Evidence) -> str:
    """Warn of uncentered alignment, where it errs more."""
    plain, centered, repaired = (
        100.0 * found.mean("dependence", name, only=MANY_CLASSES)
        for name in ("KA", "CKA", "KA 0/1")
    )
    *first, last = (f"`{name}`" for name in MANY_CLASSES)
    sets = f"{listed(first)} and {last}"
    return (
        f"\n\nAvoid uncentered alignment (`ka`) if there are more than two classes. On {sets}, "
        f"the mean error of uncentered alignment is {plain:.1f} %, and the mean error of centered "
        f"alignment is {centered:.1f} %."
        * (plain > centered)
        + " If the target kernel has the values 0 and 1 instead of -1 and 1, the error of "
        f"uncentered alignment is {repaired:.1f} %." * (plain > max(centered, repaired))
    )


def relevance(found: Evidence) -> str:
    """Return errors where few features matter."""
    names = ("CA-1D", "CA-nD, no penalty", "CA-nD", "CA-nD, automatic penalty")
    rows = [
        [name, *(found.error("relevance", name, f"gamma={gamma}") for gamma in (0, 5, 40))]
        for name in (*names, "TwoStageClassifier(auto)", "grid search")
    ]
    return table(["method", "gamma=0", "gamma=5", "gamma=40"], rows)


def forms(found: Evidence) -> str:
    """Return errors of several forms of kernel on splice, and on the other sets."""
    others = [p for p in found.shared("miscellany", *TRIED) if p != "splice"]
    problems = {"splice": ["splice"], "other data sets": others}
    rows = [
        [name, *(found.error("miscellany", name, *each) for each in problems.values())]
        for name in TRIED
    ]
    return table(["method", *problems], rows)


def _ard_sets(found: Evidence) -> list[str]:
    return found.shared("dependence", "HSIC ARD", "HSIC")


def n_ard_sets(found: Evidence) -> int:
    """Return the number of sets on which both forms of kernel were tried."""
    return len(_ard_sets(found))


def ard(found: Evidence) -> str:
    """Return the error of a single ARD kernel on these."""
    return found.error("dependence", "HSIC ARD", *_ard_sets(found))


def isotropic_of_ard_sets(found: Evidence) -> str:
    """Return the error of one width on these."""
    return found.error("dependence", "HSIC", *_ard_sets(found))


def alignf_better(found: Evidence) -> str:
    """State on how many problems alignf errs less than uniform weights."""
    problems, results = found.shared(FINITE, "alignf", "unif"), found.results[FINITE]
    signs = [compare_entries(results, "error", p, "alignf", "unif").sign for p in problems]
    return (
        f"{found.lower(FINITE, 'alignf', 'unif', problems)} of {len(problems)} problems of Cortes "
        f"et al. (raw and standardized data). The difference is significant on {signs.count(-1)} "
        f"of these problems. The error of alignf is significantly higher on "
        f"{signs.count(1)} of these problems"
    )


def _by_method(methods: Mapping[str, str], **columns: Callable[[str], str]) -> str:
    """Return a table with a row for each method, by its name in the records and its label."""
    rows = [[label, *(of(name) for of in columns.values())] for name, label in methods.items()]
    return table(["method", *columns], rows)


def finite(found: Evidence) -> str:
    """Return errors on finite dictionaries."""
    methods = {
        "DA": "alignf, evenly spaced widths",
        "DU": "uniform weights, evenly spaced widths",
        "DA, widths read off": "alignf, widths taken from the data",
        "DU, widths read off": "uniform weights, widths taken from the data",
        "CA-1D": "CA-1D, without a list of widths",
    }
    digits, letters = (partial(found.error, sets) for sets in ("digits", "letters"))
    return _by_method(methods, MNIST=digits, letters=letters)


def bigrams(found: Evidence) -> str:
    """Return errors on thousands of features."""
    methods = {
        "unif": "uniform weights",
        "align": "align",
        "alignf": "alignf",
        "one-stage": "kernel and predictor at once",
    }
    return _by_method(methods, error=lambda method: found.error("bigrams", method, BOOKS))


kernels_of_bigrams = _mean("bigrams", "alignf", "kernels", BOOKS)


def sparse_is_worse(found: Evidence) -> str:
    """Say that sparse weights lose something, where they err more."""
    align, alignf = (found.mean("bigrams", m, only=[BOOKS]) for m in ("align", "alignf"))
    return (
        ". If every feature carries a little information, leaving out kernels may raise the error"
        * (alignf > align)
    )


def one_stage(found: Evidence) -> str:
    """Compare CR-1D with CA-1D."""
    rows = [[label, *_differences(found, name, "CR-1D", "CA-1D")] for name, label in SIZES.items()]
    return table(["tasks", *COMPARED], rows)


slower_one_stage = _times(
    ". On the letters data set, one fit of CR-1D takes {} times as long as one fit of CA-1D",
    *("letters", "CR-1D", "CA-1D"),
)


def finite_one_stage(found: Evidence) -> str:
    """Compare one-stage learning of the weights of a list of kernels with alignf."""
    norms = {"D1": "l1-norm", "D2": "l2-norm"}
    rows = [
        [f"`MKLClassifier` with the {norm}", *_differences(found, "letters", method, "DA")]
        for method, norm in norms.items()
    ]
    return table(["method", *COMPARED], rows)


def sines(found: Evidence) -> str:
    """Return errors on the sign of three sines."""
    methods = {
        "CA-1D": "CA-1D",
        "DA": "alignf, list of the frequencies 0, 1, ..., 9",
        "DA, step 0.1": "alignf, list of frequencies in steps of 0.1",
        "√2 + √12 + √60": "the three true frequencies",
    }
    return _by_method(methods, error=partial(found.error, "sine"))


def log_losses(found: Evidence) -> str:
    """Return log-losses of classes by objective."""
    classes = [p for p in found.results["taxonomy"].problems if "logistic" in p]
    objectives = {
        "marginal": "bound on the marginal likelihood, without parameters to set",
        "MAP": "joint MAP (maximum a posteriori) with the best jitter",
        "MKL": "multiple kernel learning with the best penalty",
    }
    mean = partial(found.mean, "taxonomy", measure="log_loss", only=classes, pick=np.min)
    rows = [[label, f"{mean(name):.3f}"] for name, label in objectives.items()]
    return table(["objective", "log-loss"], rows)


def clusters(found: Evidence) -> str:
    """Return adjusted Rand indices."""
    results = found.results["partitions"]

    def cell(problem: str, method: str) -> str:
        mean = results.mean("index", problem, method)
        return f"{100 * mean:.0f}" if np.isfinite(mean) else "-"

    means = results.means("index").dropna()
    counts = means.idxmax(axis=1).value_counts()
    rows = [
        [
            method,
            *(cell(problem, method) for problem in results.problems),
            f"{100.0 * means[method].mean():.0f}",
            f"{counts.get(method, 0)}",
        ]
        for method in results.methods
    ]
    last = ("mean", "data sets with the highest index")
    return table(["adjusted Rand index, %", *results.problems, *last], rows)


ard_alignment = _mean("letters", "CA-nD, no penalty", "alignment")
ard_error = _error("letters", "CA-nD, no penalty")
alignment, error = _mean("letters", "CA-1D", "alignment"), _error("letters", "CA-1D")


def grid_ahead(found: Evidence) -> str:
    """State on how many problems of Cortes et al. the grid search has a lower error than alignf."""
    problems = [p for p in found.results[FINITE].problems if not p.endswith("standardized")]
    return f"{found.lower(FINITE, 'grid search', 'alignf', problems)} of {len(problems)}"
