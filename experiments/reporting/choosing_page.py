"""What the page on which method to choose states, from the records of the experiments.

Its text is the Markdown file of the same name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

import numpy as np

from experiments.reporting import table_parts
from experiments.reporting import table_results as grouped
from experiments.reporting.evidence import SIZES, Evidence
from experiments.reporting.results import Results, compare_entries
from experiments.reporting.section import by_name, listed, table, table_of, text_of
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
# How many times as long the grid search takes.
GRID_SLOWER = ", and the grid takes {} times as long"
# Forms of the kernel that are tried on splice and on other sets.
TRIED = ("CA-1D", "CA-nD, no penalty", 'CA-nD, penalty="auto"', 'learner="auto"')


def choosing(results: Mapping[str, Results]) -> str:
    """Return the page as Markdown.

    Parameters
    ----------
    results : dict of str to Results
        The results of all experiments that are `NEEDED`.
    """
    return text_of(sys.modules[__name__], Evidence(results))


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


def _gap(name: str, first: str, second: str) -> Callable[[Evidence], str]:
    return lambda found: found.gap(name, first, second).description


def _less(first: str, others: Mapping[str, str]) -> Callable[[Evidence], str]:
    return lambda found: "; ".join(
        f"{SIZES[name]}: {found.gap(name, first, other).description}"
        for name, other in others.items()
    )


def _groups_of_tables(found: Evidence) -> dict[str, grouped.Group]:
    groups = grouped.groups_of(grouped.better_inputs(found.results["tables"]))
    return {title: each for title, each in groups.items() if each.n_train != TIMED_SIZE}


def ratios_of_tables(found: Evidence) -> str:
    """Return errors on tables relative to the reference's."""
    rows = [
        [title, *(table_parts.mean_ratio(each, method) for method in NAMES)]
        for title, each in _groups_of_tables(found).items()
    ]
    return table([f"error / {REFERENCE}'s", *NAMES.values()], rows)


def better_trees(found: Evidence) -> str:
    """Name the tables on which trees err less than stacks."""
    groups = list(_groups_of_tables(found).values())
    return table_parts.better_trees(groups, table_parts.OURS, table_parts.TREES)


def defaults(found: Evidence) -> str:
    """Compare both default estimators with a cross-validated grid on every data set."""
    methods = {
        "default": "`TwoStageClassifier()`",
        "CA-1D": "CA-1D",
        "HSIC": "one width by HSIC",
    }
    return "; ".join(
        f"{label} is {found.outcomes('defaults', method, 'grid search')} "
        f"({found.gap('defaults', method, 'grid search').description})"
        + _times(GRID_SLOWER, "defaults", "grid search", method)(found)
        for method, label in methods.items()
    )


def isotropic(found: Evidence) -> str:
    """Return errors of methods with one width for all features."""
    methods = ("CA-1D", "CR-1D", 'learner="auto"', "grid search")
    rows = [[method, *(found.error(name, method) for name in SIZES)] for method in methods]
    uniform = [found.error(name, method) for name, method in READ_OFF.items()]
    rows.append(["uniform weights, 20 widths read off", *uniform])
    return table(["", *SIZES.values()], rows)


def grid_better(found: Evidence) -> list[str]:
    """Return the problems on which a grid search errs clearly less than CA-1D."""
    gaps = {label: found.gap(name, "grid search", "CA-1D") for name, label in SIZES.items()}
    return [label for label, gap in gaps.items() if gap.clearly_lower]


def grid_advice(found: Evidence) -> str:
    """Say where a grid search errs clearly less than CA-1D."""
    better = grid_better(found)
    if not better:
        return "the grid is nowhere clearly better, but worth trying beside it"
    return (
        f"the grid errs clearly less on {listed(better)}, so that where time allows, try it and "
        "CR-1D too"
    )


less_grid = _less("CA-1D", dict.fromkeys(SIZES, "grid search"))
less_uniform = _less("CA-1D", READ_OFF)
kernels_of_letters = _mean("letters", "CA-1D", "kernels")
slower_grid = _times(GRID_SLOWER, "letters", "grid search", "CA-1D")


def hsic(found: Evidence) -> str:
    """Return the error of HSIC on the sets that cross-validation was tried on."""
    return found.error("dependence", "HSIC", *found.shared("dependence", "HSIC", "CV"))


def cross_validation(found: Evidence) -> str:
    """Return the error of cross-validation on the same sets."""
    return found.error("dependence", "CV", *found.shared("dependence", "HSIC", "CV"))


def hsic_outcomes(found: Evidence) -> str:
    """State on how many sets HSIC is better than cross-validation."""
    return found.outcomes("dependence", "HSIC", "CV")


slower_cross_validation = _times(
    " Cross-validation takes {} times as long as learning and the search for C",
    *("dependence_times", "CV", "HSIC"),
)
slower_than_learning = _times(
    ", {} times as long as learning alone.",
    *("dependence_times", "CV", "HSIC", "seconds_learning"),
)


def uncentered(found: Evidence) -> str:
    """Warn of uncentered alignment, where it errs more."""
    plain, centered, repaired = (
        100.0 * found.mean("dependence", name, only=MANY_CLASSES)
        for name in ("KA", "CKA", "KA 0/1")
    )
    return (
        f" Uncentered alignment (`ka`) is to be avoided on sets such as {listed(MANY_CLASSES)}, "
        f"where it errs on {plain:.1f} % and centered alignment on {centered:.1f} %."
        * (plain > centered)
        + f" A target of 0 and 1 in place of -1 and 1 brings it to {repaired:.1f} %."
        * (plain > max(centered, repaired))
    )


def relevance(found: Evidence) -> str:
    """Return errors where few features matter."""
    names = ("CA-1D", "CA-nD, no penalty", "CA-nD", "CA-nD, automatic penalty")
    rows = [
        [name, *(found.error("relevance", name, f"gamma={gamma}") for gamma in (0, 5, 40))]
        for name in (*names, "TwoStageClassifier(auto)", "grid search")
    ]
    return table(["", "gamma=0", "5", "40"], rows)


def splice(found: Evidence) -> str:
    """Return errors of several forms of kernel on splice."""
    return listed(f"{name} {found.error('miscellany', name, 'splice')}" for name in TRIED)


def other_sets(found: Evidence) -> str:
    """Return the same on the other sets."""
    others = [p for p in found.shared("miscellany", *TRIED) if p != "splice"]
    return listed(f"{name} {found.error('miscellany', name, *others)}" for name in TRIED)


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
        f"et al., raw and standardized, significantly on {signs.count(-1)}, and significantly more "
        f"on {signs.count(1)}"
    )


def finite(found: Evidence) -> str:
    """Return errors on finite dictionaries."""
    methods = {
        "DA": "alignf, evenly spaced widths",
        "DU": "uniform weights, the same widths",
        "DA, widths read off": "alignf, widths taken from the data",
        "DU, widths read off": "uniform weights, the same widths",
        "CA-1D": "CA-1D, without a list",
    }
    rows = [
        [label, *(found.error(sets, method) for sets in ("digits", "letters"))]
        for method, label in methods.items()
    ]
    return table(["", "MNIST", "letters"], rows)


def bigrams(found: Evidence) -> str:
    """Return errors on thousands of features."""
    methods = ("unif", "align", "alignf", "one-stage")
    return ", ".join(f"{m} {found.error('bigrams', m, BOOKS)}" for m in methods)


kernels_of_bigrams = _mean("bigrams", "alignf", "kernels", BOOKS)


def sparse_is_worse(found: Evidence) -> str:
    """Say that sparse weights lose something, where they err more."""
    align, alignf = (found.mean("bigrams", m, only=[BOOKS]) for m in ("align", "alignf"))
    return "; where every feature carries a little, that is perhaps a loss" * (alignf > align)


one_stage = _less("CR-1D", dict.fromkeys(SIZES, "CA-1D"))
slower_one_stage = _times(
    "; one fit takes {} times as long on the letters", "letters", "CR-1D", "CA-1D"
)
l1_norm, l2_norm = _gap("letters", "D1", "DA"), _gap("letters", "D2", "DA")
sine, sine_coarse = _error("sine", "CA-1D"), _error("sine", "DA")
sine_fine, sine_true = _error("sine", "DA, step 0.1"), _error("sine", "√2 + √12 + √60")


def log_losses(found: Evidence) -> str:
    """Return log-losses of classes by objective."""
    classes = [p for p in found.results["taxonomy"].problems if "logistic" in p]
    return ", ".join(
        f"{label} {found.mean('taxonomy', name, measure='log_loss', only=classes, pick=np.min):.3f}"
        for name, label in (
            ("marginal", "the bound on the marginal likelihood, which has nothing to set,"),
            ("MAP", "joint MAP with its best jitter"),
            ("MKL", "multiple kernel learning with its best penalty"),
        )
    )


def clusters(found: Evidence) -> str:
    """Return adjusted Rand indices."""
    results = found.results["partitions"]

    def cell(problem: str, method: str) -> str:
        mean = results.mean("index", problem, method)
        return f"{100 * mean:.0f}" if np.isfinite(mean) else "-"

    return table_of("adjusted Rand index, %", results.problems, results.methods, cell)


def mean_indices(found: Evidence) -> str:
    """Return their means over sets."""
    return by_name(found.results["partitions"].means("index").dropna().mean(), ".0f", 100.0)


def highest_indices(found: Evidence) -> str:
    """Count the sets on which each method has the highest one."""
    means = found.results["partitions"].means("index").dropna()
    return by_name(means.idxmax(axis=1).value_counts(), ".0f")


ard_alignment = _mean("letters", "CA-nD, no penalty", "alignment")
ard_error = _error("letters", "CA-nD, no penalty")
alignment, error = _mean("letters", "CA-1D", "alignment"), _error("letters", "CA-1D")


def grid_ahead(found: Evidence) -> str:
    """State on how many problems of Cortes et al. the grid search has a lower error than alignf."""
    problems = [p for p in found.results[FINITE].problems if not p.endswith("standardized")]
    return f"{found.lower(FINITE, 'grid search', 'alignf', problems)} of {len(problems)}"
