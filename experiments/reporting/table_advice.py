"""What to take for a table, argued from the records of the experiment `tables`."""

from __future__ import annotations

from experiments.reporting import table_parts
from experiments.reporting import table_results as grouped
from experiments.reporting.results import Results
from experiments.reporting.section import table
from experiments.tabular.table_files import TIMED_SIZE

# The methods that the advice is about, with the names of their estimators.
NAMES = {
    table_parts.OURS: "`KernelStacking*()`",
    table_parts.DEFAULT: "`TwoStage*()`",
    table_parts.GRID: "grid search of one width and the penalty",
}


def table_of_data(results: Results) -> str:
    """Return the advice on a table: a stack behind an encoder.

    Parameters
    ----------
    results : Results
        The records of the experiment `tables`.
    """
    found = grouped.better_inputs(results)
    groups = {
        title: each
        for title, each in grouped.groups_of(found).items()
        if each.n_train != TIMED_SIZE
    }
    ratios = table(
        [f"error / {grouped.REFERENCE}'s", *NAMES.values()],
        [
            [title, *(table_parts.mean_ratio(each, method) for method in NAMES)]
            for title, each in groups.items()
        ],
    )
    trees = table_parts.better_trees(list(groups.values()), table_parts.OURS, table_parts.TREES)
    return f"""Take `KernelStackingClassifier()` or `KernelStackingRegressor()` behind
`mercer.preprocessing.table_encoder()`, as [the guide](guide/tables.md) does. They combine the
kernels that predict left-out rows best, and state their own error. Errors as multiples of
{grouped.REFERENCE}'s, geometric means over the public tables of [tables.md](tables.md), all with
their defaults (the number of tables in brackets where not all were tried):

{ratios}
Some kind of trees has a lower mean error than the stack, in brackets (% of classes, or RMSE), on
{trees}. `mercer compare` runs both on a table of yours."""
