"""Tables of mixed types: mercer's defaults beside a grid search, trees, GPs and xRFM."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from experiments.experiment import Draw, Experiment, Method
from experiments.reporting import table_parts
from experiments.reporting import table_results as grouped
from experiments.reporting.figures import critical_differences, ratio_strips, ratios_by_rows
from experiments.reporting.results import Results
from experiments.reporting.section import listed
from experiments.tabular import table_files as files
from experiments.tabular import table_methods
from experiments.tabular.table_files import MIN_TEST, SETS, SIZES, TABLES, TIMED_SIZE

# The methods with all repeats at every number of rows.
EVERY_SIZE = (table_parts.OURS, grouped.REFERENCE, "CatBoost")


def problem(name: str, n_train: int) -> str:
    """Return the name of a problem: a table, and a number of training rows."""
    return f"{name}, n = {n_train}"


def sizes_by_problem() -> dict[str, tuple[str, int]]:
    """Return the table and the number of training rows of each problem.

    The tables of `TABLES` come first, by size. Of a set of `SETS` with less than 800 rows, half are
    for training.
    """
    found = {
        problem(name, n_train): (name, n_train)
        for n_train in SIZES
        for name, n_rows in TABLES.items()
        if n_rows >= n_train + MIN_TEST
    }
    found |= {problem(name, TIMED_SIZE): (name, TIMED_SIZE) for name in files.TIMED}
    for name, n_rows in SETS.items():
        n_train = min(SIZES[0], n_rows // 2)
        found[problem(name, n_train)] = name, n_train
    return found


def repeats_of(name: str, n_train: int, method: str) -> int | None:
    """Return the largest number of repeats of a method; None if it is not limited.

    Nothing is left out for its result: trees give the same with encoded inputs where all columns
    are complete numbers; a Gaussian process of classes takes up to a minute at 400 rows and many at
    1000, and so does a grid of 550 machines at 3000.
    """
    if n_train == TIMED_SIZE:
        return 1 if method in ("stacking", "two-stage", "grid search", "LightGBM") else 0
    many = n_train >= SIZES[2]
    if method in table_methods.ENCODED:
        return None if name in files.MIXED and not many else 0
    if method == "GP-ARD":
        classes = name in files.CLASSES
        if many or name in SETS:
            return 0
        return (3 if n_train < SIZES[1] else 1) if classes else (None if n_train < SIZES[1] else 3)
    if method in ("EBM", "RealMLP-TD"):
        return None if name in TABLES else 0
    if name in SETS and method == "xRFM":
        return 3
    if many and method not in EVERY_SIZE:
        return 0 if method == "grid search" else 3
    return None


def experiment(small: bool) -> Experiment:
    """Declare all tables, with five repeats and fewer of slow methods on many rows."""
    methods: dict[str, Method] = dict(table_methods.METHODS)
    if small:
        chosen = {problem(name, 60): (name, 60) for name in ("car", "concrete")}
    else:
        chosen = sizes_by_problem()
    problems: dict[str, Draw] = {
        label: partial(files.table_split, name, n_train)
        for label, (name, n_train) in chosen.items()
    }
    limits = {
        (label, method): number
        for label, (name, n_train) in chosen.items()
        for method in methods
        if (number := repeats_of(name, n_train, method)) is not None
    }
    return Experiment(
        title="Tables of mixed types",
        source="beyond the papers",
        problems=problems,
        methods=methods,
        limits=limits,
    )


# The methods of mercer.
MERCER = (table_parts.OURS, table_parts.DEFAULT)

# Groups of problems by their title.
Groups = Mapping[str, grouped.Group]


@dataclass(frozen=True)
class Found:
    """Results in which each method has the inputs with which it errs less, and their groups."""

    results: Results
    groups: Groups

    @classmethod
    def of(cls, results: Results) -> Found:
        """Choose the inputs, and group the problems."""
        better = grouped.better_inputs(results)
        return cls(better, grouped.groups_of(better))

    @property
    def methods(self) -> list[str]:
        """The methods that have records."""
        return self.results.methods

    @property
    def mercer(self) -> list[str]:
        """The methods of mercer that have records."""
        return [name for name in MERCER if name in self.methods]


def few_rows(groups: Groups) -> Groups:
    """Return the groups on which all methods were tried: tables with the two smaller sizes."""
    return {
        title: each
        for title, each in groups.items()
        if each.n_train not in (None, TIMED_SIZE, SIZES[-1])
    }


def splits(found: Found) -> str:
    """Return the numbers of splits."""
    return table_parts.split_table(found.groups)


def targets(found: Found) -> str:
    """Return what was to be reached."""
    return table_parts.targets(found.results)


def all_rankings(found: Found) -> dict[str, tuple[grouped.Ranking, list[str]]]:
    """Rank the methods over all tables of each size; also name those that are left out."""
    rankings = {}
    for size in sorted({each.n_train for each in few_rows(found.groups).values() if each.n_train}):
        chosen = [each for each in found.groups.values() if each.n_train == size]
        title = f"{sum(len(each.problems) for each in chosen)} tables, n = {size}"
        rankings[title] = table_parts.ranking_of(chosen, found.methods)
    return rankings


def friedman(found: Found) -> str:
    """Return tests that all methods are alike."""
    return "\n".join(
        f"{title}: Friedman's p = {ranking.p_value:.1g}"
        + f"; not tried on all: {listed(without)}" * bool(without)
        + ".\n"
        for title, (ranking, without) in all_rankings(found).items()
    )


def ours(found: Found) -> str:
    """Return the method that others are compared with."""
    return next(iter(found.mercer), table_parts.GRID)


def ratios(found: Found) -> str:
    """Return errors relative to the reference's."""
    return table_parts.ratio_table(found.groups, found.methods)


def worse(found: Found) -> str:
    """Name the tables on which trees err less."""
    tables = [each for each in found.groups.values() if each.n_train is not None]
    return table_parts.better_trees(tables, ours(found), table_parts.TREES)


def wins(found: Found) -> str:
    """Return wins, ties and losses."""
    return table_parts.win_table(found.groups, found.mercer, found.methods)


def errors(found: Found) -> str:
    """Return errors by table."""
    return chapters(found, lambda each: table_parts.error_table(each, ours(found)))


def relative_times(found: Found) -> str:
    """Return times relative to those of the grid search."""
    return table_parts.time_table(found.groups, found.methods, table_parts.GRID)


def seconds(found: Found) -> str:
    """Return times by table."""
    return chapters(
        found, lambda each: table_parts.measure_table(each, "fit_seconds", "fit, s", form=".3g")
    )


def intervals(found: Found) -> str:
    """Return coverages and widths of intervals by table."""
    return chapters(
        found,
        lambda each: (
            table_parts.measure_table(each, "coverage", "coverage, %", scale=100.0, form=".1f")
            + "\n"
            + table_parts.measure_table(each, "width", "width", form=".2f")
        ),
        classes=False,
    )


def probabilities(found: Found) -> str:
    """Return log-losses and calibration errors by table."""
    return chapters(
        found,
        lambda each: (
            table_parts.measure_table(each, "log_loss", "log-loss", form=".3f")
            + "\n"
            + table_parts.measure_table(each, "calibration_error", "calibration error", form=".3f")
        ),
        classes=True,
    )


def chapters(
    found: Found, write: Callable[[grouped.Group], str], *, classes: bool | None = None
) -> str:
    """Return a heading and a table for each group, of all tasks or of one."""
    return "\n".join(
        f"### {title}\n\n{write(each)}".rstrip("\n") + "\n"
        for title, each in found.groups.items()
        if classes in (None, each.classes)
    )


# What the text states of tables and methods.
N_TABLES, N_SETS, FEW_ROWS = len(TABLES), len(SETS), 2 * SIZES[0]
N_GAMMAS, N_PENALTIES = len(table_methods.GAMMAS), len(table_methods.C_GRID)

EVIDENCE = Found.of
FIGURES = {
    "tables_ranks": lambda found: critical_differences(
        {title: ranking for title, (ranking, _) in all_rankings(found).items()}, MERCER
    ),
    "tables_ratios": lambda found: ratio_strips(few_rows(found.groups), found.methods, MERCER),
    "tables_rows": lambda found: ratios_by_rows(
        {title: each for title, each in found.groups.items() if each.n_train in SIZES},
        table_parts.OURS,
        "CatBoost",
    ),
}
