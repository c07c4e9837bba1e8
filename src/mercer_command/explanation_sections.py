"""Explanations in words: important columns and pairs, and reasons for predictions."""

from functools import partial
from math import exp, isnan

from mercer_command import figures
from mercer_command.contributions import (
    OTHERS,
    ColumnImportance,
    Reasons,
    exact_interactions,
    mean_sizes,
    why_no_relevance,
)
from mercer_command.messages import shown
from mercer_command.models import Trial
from mercer_command.output import Figure, Part, Section, Table, Text
from mercer_command.sections import MOST_ROWS, ON_SCREEN, format_error, hidden
from mercer_command.target_column import Task

MOST_CARDS = 50
"""Largest number of rows that a report explains."""

N_BACKGROUND = 100
"""Number of training rows whose mean prediction stands for the average row."""


def importance_section(trial: Trial) -> Section:
    """Return the section on the importance of columns.

    Parameters
    ----------
    trial : Trial
    """
    found = trial.importances[:MOST_ROWS]
    contribute = any(not isnan(column.contribution) for column in found)
    title, header, told = _MATTER[contribute]
    if contribute:
        rows = [[shown(c.name), _amount(c.contribution, trial.task, trial.kind)] for c in found]
        lengths = [column.contribution for column in found]
    else:
        if any(isnan(column.increase) for column in found):
            told += " Where there are many columns, the most relevant ones are shuffled."
        largest = max((abs(c.increase) for c in found if not isnan(c.increase)), default=0.0)
        rows = [[shown(c.name), _rise(c, trial.task, largest)] for c in found]
        lengths = [0.0 if isnan(c.increase) else max(c.increase, 0.0) for c in found]
    names = ["Column", header]
    if all(isnan(column.relevance) for column in found):
        relevance = why_no_relevance(trial.model)
    else:
        relevance = "Relevance is the column's share in what the kernels measure distances by."
        names.append("Relevance")
        rows = [[*row, f"{c.relevance:.1%}"] for row, c in zip(rows, found, strict=True)]
    return Section(
        title,
        [
            Table(names, rows, range(1, len(names)), lengths=lengths, n_shown=ON_SCREEN),
            *hidden(len(trial.importances), "columns matter less"),
            Text(f"{told} {relevance}"),
            *figures.importance_figures(trial),
            *_pairs(trial),
        ],
    )


_MATTER = {
    False: (
        "Columns that matter: how much the error rises if their cells are shuffled",
        "Error rises by",
        "Mean ± standard deviation of three shuffles of the column's cells among the rows. "
        "Columns that tell the same share their importance.",
    ),
    True: (
        "Columns that matter: how far they move predictions away from the average row's",
        "Contributes",
        "Mean absolute contribution to the predictions of the rows that are explained. It says "
        "what the model uses, whether right or wrong.",
    ),
}
"""Title, header and explanation for importances by shuffling (False) or contributions (True)."""


def _rise(column: ColumnImportance, task: Task, largest: float) -> str:
    """Format the rise of the error, with as many decimals as the table's largest number."""
    if isnan(column.increase):
        return "not measured"
    sign = "-" if column.increase < 0 else ""
    return sign + format_error(abs(column.increase), task, column.deviation, beside=largest)


def _pairs(trial: Trial) -> list[Part]:
    """Return the pairs of columns with the largest interactions, if these are known exactly."""
    important = [column.name for column in trial.importances]
    found = exact_interactions(trial.model, trial.X, important)
    if found is None:
        return []
    sizes, names = mean_sizes(found), found.feature_names
    pairs = [
        (float(sizes[j, k]), f"{shown(names[j])} and {shown(names[k])}")
        for j in range(len(names))
        for k in range(j)
        if OTHERS not in (names[j], names[k])
    ]
    strongest = sorted(pairs, key=lambda pair: -pair[0])[:3]
    rows = [[told, _amount(size, trial.task, trial.kind)] for size, told in strongest]
    told = (
        "Mean absolute interaction: what two columns contribute together beyond what each does "
        "alone. Where it is small, the effects of columns add up."
    )
    return [
        Table(["Strongest pairs", "Together"], rows, {1}),
        Text(told),
        *figures.pair_figures(trial, found),
    ]


def _amount(size: float, task: Task, kind: str) -> str:
    """Format a mean absolute contribution in the unit of the response, or as a factor."""
    if kind == "count":
        return f"count x {exp(size):#.3g}"
    if task == "classification":
        return f"odds x {exp(size):#.3g}"
    return format_error(size, task)


def reasons_section(found: Reasons, *, n_rows: int) -> Section:
    """Return the largest contributions to the first predictions, in words.

    Parameters
    ----------
    found : Reasons
    n_rows : int
        Largest number of rows.
    """
    rows = [
        [str(row + 1), found.headline(row), "\n".join(found.words(row))]
        for row in range(min(n_rows, len(found)))
    ]
    title = "Why: what moves predictions away from the average row's"
    table = Table(["Row", "Prediction", "Largest contributions"], rows, {0})
    told = ["the latent mean has no unit: the higher it is, the more probable are high grades"]
    return Section(title, [table, *told * (found.values.scale == "latent mean")])


def card_section(found: Reasons, *, n_rows: int = MOST_CARDS) -> Section:
    """Return a card for each of the first rows, with its prediction and a figure of its reasons.

    Parameters
    ----------
    found : Reasons
    n_rows : int, default=50
        Largest number of rows.
    """
    n_rows = min(n_rows, len(found))
    captions = [f"{found.headline(row)}. {'; '.join(found.words(row))}." for row in range(n_rows)]
    cards = [Figure(partial(found.draw, k), told, 3.2) for k, told in enumerate(captions)]
    told = (
        "Each bar is what a column contributes (its Shapley value): orange ones raise the "
        f"prediction, blue ones lower it, from the mean over {N_BACKGROUND} training rows."
    )
    more = [Text(f"{len(found) - n_rows:,} more rows are not shown.")] * (len(found) > n_rows)
    return Section("Why: a card for each row", [Text(told), *cards, *more])
