"""Tables of mixed types: mercer's defaults beside a grid search, trees, GPs and xRFM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from experiments.experiment import Draw, Experiment, Method
from experiments.reporting import table_parts
from experiments.reporting import table_results as grouped
from experiments.reporting.figures import critical_differences, ratio_strips, ratios_by_rows
from experiments.reporting.results import Results
from experiments.reporting.section import Section, listed
from experiments.tabular import table_files as files
from experiments.tabular.table_files import MAX_TEST, MIN_TEST, SETS, SIZES, TABLES, TIMED_SIZE
from experiments.tabular.table_methods import C_GRID, ENCODED, GAMMAS, MAX_GP_ITER, METHODS

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
    if method in ENCODED:
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
    methods: dict[str, Method] = dict(METHODS)
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


def section(results: Results) -> Section:
    """Write the page, from the inputs of each method with which it errs less."""
    found = grouped.better_inputs(results)
    groups = grouped.groups_of(found)
    rankings, left_out = all_rankings(groups, found.methods)
    parts = [
        SETTING,
        table_parts.split_table(groups),
        "## What was to be reached\n",
        TARGETS,
        table_parts.targets(found),
        "## Ranks\n",
        RANKS,
        "![Mean ranks of the methods, with critical differences](figure:tables_ranks)\n",
        *(
            f"{title}: Friedman's p = {each.p_value:.1g}{left_out[title]}.\n"
            for title, each in rankings.items()
        ),
        "## Errors relative to LightGBM's\n",
        relative_errors(groups, found.methods),
        "## More rows\n",
        MORE_ROWS,
        "## Wins, ties and losses\n",
        COUNTS,
        table_parts.win_table(
            groups, [name for name in MERCER if name in found.methods], found.methods
        ),
        "## What was not compared\n",
        NOT_COMPARED,
        *details(groups, found.methods),
    ]
    figures = {
        "tables_ranks": critical_differences(rankings, MERCER),
        "tables_ratios": ratio_strips(few_rows(groups), found.methods, MERCER),
        "tables_rows": ratios_by_rows(untimed(groups), table_parts.OURS, "CatBoost"),
    }
    return Section("\n".join(part.rstrip("\n") + "\n" for part in parts), figures=figures)


def few_rows(groups: Groups) -> Groups:
    """Return the groups on which all methods were tried: tables with the two smaller sizes."""
    return {
        title: each
        for title, each in groups.items()
        if each.n_train not in (None, TIMED_SIZE, SIZES[-1])
    }


def untimed(groups: Groups) -> Groups:
    """Return the groups of tables that are tried for their errors."""
    return {title: each for title, each in groups.items() if each.n_train in SIZES}


def all_rankings(
    groups: Groups, methods: Sequence[str]
) -> tuple[dict[str, grouped.Ranking], dict[str, str]]:
    """Rank the methods over all tables of each size; also say which methods are left out."""
    rankings, left_out = {}, {}
    for size in sorted({each.n_train for each in few_rows(groups).values() if each.n_train}):
        chosen = [each for each in groups.values() if each.n_train == size]
        title = f"{sum(len(each.problems) for each in chosen)} tables, n = {size}"
        rankings[title], without = table_parts.ranking_of(chosen, methods)
        left_out[title] = f"; not tried on all: {listed(without)}" * bool(without)
    return rankings, left_out


def relative_errors(groups: Groups, methods: Sequence[str]) -> str:
    """Return the figure and the table of ratios, and where trees err less."""
    ours = next((name for name in MERCER if name in methods), table_parts.GRID)
    tables = [each for each in groups.values() if each.n_train is not None]
    worse = table_parts.better_trees(tables, ours, table_parts.TREES)
    return f"""![Errors relative to LightGBM's: a dot is a table, a bar the geometric
mean](figure:tables_ratios)

Geometric means over tables of mean RMSE, or of mean error + 0.5 % for classes; the number of tables
in brackets where not all were tried.

{table_parts.ratio_table(groups, methods)}
Some kind of trees has a lower mean error than {ours} on: {worse}.
"""


def details(groups: Groups, methods: Sequence[str]) -> list[str]:
    """Return the tables with a row for each problem."""
    ours = next((name for name in MERCER if name in methods), table_parts.GRID)
    classes = {title: each for title, each in groups.items() if each.classes}
    responses = {title: each for title, each in groups.items() if not each.classes}
    return [
        "## Errors by table\n",
        ERRORS.format(ours=ours),
        *chapters(groups, lambda each: table_parts.error_table(each, ours)),
        "## Times\n",
        TIMES,
        table_parts.time_table(groups, methods, table_parts.GRID),
        *chapters(
            groups,
            lambda each: table_parts.measure_table(each, "fit_seconds", "fit, s", form=".3g"),
        ),
        "## Intervals\n",
        INTERVALS,
        *chapters(
            responses,
            lambda each: (
                table_parts.measure_table(each, "coverage", "coverage, %", scale=100.0, form=".1f")
                + "\n"
                + table_parts.measure_table(each, "width", "width", form=".2f")
            ),
        ),
        "## Probabilities\n",
        PROBABILITIES,
        *chapters(
            classes,
            lambda each: (
                table_parts.measure_table(each, "log_loss", "log-loss", form=".3f")
                + "\n"
                + table_parts.measure_table(
                    each, "calibration_error", "calibration error", form=".3f"
                )
            ),
        ),
    ]


def chapters(groups: Groups, write: Callable[[grouped.Group], str]) -> list[str]:
    """Return a heading and a table for each group."""
    return [f"### {title}\n\n{write(each)}" for title, each in groups.items()]


SETTING = f"""{len(TABLES)} public tables, with numbers, categories and missing values, and
{len(SETS)} sets of numbers. A split has n training rows, stratified for classes, and up to
{MAX_TEST} of the other rows for the test, of tables at least {MIN_TEST}; all methods have the same
splits. Of a set with fewer than {2 * SIZES[0]} rows, half are for training. RMSE is in units of the
standard deviation of the response over the whole table.

All methods have their defaults and one thread. The columns are encoded by
`mercer.preprocessing.table_encoder()`, fitted to the training rows; LightGBM, XGBoost and
HistGradientBoosting (HistGB) also take the columns as they are, and on each table whichever
inputs give the lower mean test error count, which favors them. CatBoost and *EBM*, the explainable
boosting machine of interpret, take the columns as they are. *RealMLP-TD* is the network with tuned
defaults of Holzmüller, Grinsztajn & Steinwart (2024, arXiv:2407.04491) in pytabkit 1.7.3.
*forest* is a random forest of 500 trees. *grid search* is `GridSearchCV` of an RBF `SVC`, or
`KernelRidge` for responses:
{len(GAMMAS)} widths times {len(C_GRID)} values of C or alpha in five shuffled folds. *GP-ARD*
is scikit-learn's Gaussian process with one width a feature, by at most {MAX_GP_ITER} steps of
L-BFGS from the square root of the number of features. *xRFM* is version 0.4.5; a fifth of its
training rows are for its validation. *two-stage* is `TwoStageClassifier()` or
`TwoStageRegressor()`, *stacking* `KernelStackingClassifier()` or `KernelStackingRegressor()`.
Slow methods have fewer splits, and were not tried where a run would take many minutes;
n = {TIMED_SIZE} is for times:
"""

NOT_COMPARED = """Foundation models predict a table with a network that was trained on millions of
synthetic tables: TabPFN, TabICL, TabDPT, Mitra and others. Their weights are downloads, which these
experiments do without. Neither were methods compared that are tuned on the table itself, nor
AutoGluon's ensembles. What has been published of them:

* Hollmann et al. (2025), *Accurate predictions on small data with a tabular foundation model*,
  Nature 637, report that TabPFN v2 outperforms tuned boosted trees on tables of up to 10,000 rows
  and 500 columns, and that one prediction from 10,000 rows takes tenths of a second.
* Qu et al. (2025), *TabICL: A Tabular Foundation Model for In-Context Learning on Large Data*,
  arXiv:2502.05564, report that TabICL is on par with TabPFN v2 on 200 tables of classes, and
  surpasses it and CatBoost on 56 tables with more than 10,000 rows.
* Erickson et al. (2025), *TabArena: A Living Benchmark for Machine Learning on Tabular Data*,
  arXiv:2506.16791, find that foundation models excel on smaller tables, that boosted trees are
  still strong contenders, and that tuned and ensembled networks have caught up with them. The
  standing of today is at https://tabarena.ai.

On tables of this size, expect foundation models to be better than boosted trees, and do not read
the ranks above as ranks among them. `benchmarks/tabarena.py` has the models that TabArena's runner
takes, so that this can be measured where the weights are.
"""

TARGETS = """The targets were set before the methods were built, for the sixteen tables. Counts
are wins-ties-losses by mean error and, in brackets, by the corrected resampled t-test.
"""

RANKS = """Mean ranks by mean error over all tables of a size. Methods under one bar do not
differ significantly by Nemenyi's test at 0.05 (Demsar 2006).
"""

MORE_ROWS = """![Errors of stacking in units of CatBoost's, by the number of training
rows](figure:tables_rows)

A thin line is a table, the thick line the geometric mean; errors of classes plus 0.5 %.
[Every n](every_n.md) goes on to 10,000 rows and more.
"""

COUNTS = """Wins-ties-losses by mean error; in brackets by the corrected resampled t-test at
0.05 (Nadeau & Bengio 2003), whose correlation of two splits is the part of the table's rows
that a test has; p-values of Wilcoxon's signed-rank test on the logarithms of ratios, adjusted
for their number by Holm's method.
"""

ERRORS = """Means and standard errors over splits; + where {ours} is significantly better, -
where it is significantly worse (corrected resampled t-test).
"""

TIMES = """Seconds of the processor, on one thread, so that what else runs matters less; they
include the encoding and all choices of parameters, but not left-out predictions of stacking, which
are computed when they are read, and take about as long again. Stacking, two-stage and grid search
were timed on one day, the others on other days, so that their ratios are rough. Relative to the
grid search's on the same splits, geometric means over tables:
"""

INTERVALS = """Intervals that aim at 90 %: of stacking by the jackknife+, of GP-ARD by its
predictive deviation. Their width is in units of the standard deviation of the response.
"""

PROBABILITIES = """Mean negative logarithm of the probability of the true class, and expected
calibration error in 15 bins (Guo et al. 2017), of the methods that give probabilities.
"""
