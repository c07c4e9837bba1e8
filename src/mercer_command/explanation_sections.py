"""Explanations in words: columns and pairs that matter, and the reasons of predictions."""

from functools import partial
from math import exp, isnan

import numpy as np

from mercer_command import figures
from mercer_command.contributions import OTHERS, Reasons, mean_sizes
from mercer_command.importances import ColumnImportance, why_no_relevance
from mercer_command.messages import shown
from mercer_command.models import Trial
from mercer_command.output import Figure, Part, Section, Table, Text
from mercer_command.problem import Task
from mercer_command.sections import MOST_ROWS, ON_SCREEN, format_error, hidden

MOST_CARDS = 50
"""Reports explain this number of rows."""

N_BACKGROUND = 100
"""Number of training rows whose mean prediction is that of the average row."""


def importance_section(trial: Trial) -> Section:
    """Return the columns that matter.

    Parameters
    ----------
    trial : Trial
    """
    found = trial.importances[:MOST_ROWS]
    is_exact = not any(isnan(column.contribution) for column in found)
    title = "Columns that matter: how much the error rises if their cells are shuffled"
    told = (
        "Mean ± standard deviation of three shuffles of the column's cells among held-out rows. "
        "Columns that tell the same share their importance."
    )
    if any(isnan(column.increase) for column in found):
        told += " Where there are many columns, the most relevant ones are shuffled."
    if is_exact:
        title = "Columns that matter: how far they take predictions from that of the average row"
        told = "Mean absolute contribution to the predictions of held-out rows (Shapley values). "
        told += _what_odds_are(trial) + "It says what the model uses, whether right or wrong."
    sizes = [c.contribution if is_exact else abs(c.increase) for c in found]
    largest = float(np.nanmax(sizes)) if not np.isnan(sizes).all() else 0.0
    rows = [
        [shown(c.name), *importance_cells(c, trial.task, trial.kind, beside=largest)] for c in found
    ]
    is_known = not all(isnan(column.relevance) for column in found)
    relevance = "Relevance is the column's share in what the kernels measure distances by."
    if not is_known:
        rows = [row[:2] for row in rows]
        relevance = why_no_relevance(trial.model)
    lengths = [c.contribution if is_exact else max(np.nan_to_num(c.increase), 0.0) for c in found]
    header = ["Column", "Contributes" if is_exact else "Error rises by"]
    header += ["Relevance"] if is_known else []
    return Section(
        title,
        [
            Table(header, rows, range(1, len(header)), lengths=lengths, n_shown=ON_SCREEN),
            *hidden(len(trial.importances), "columns matter less"),
            Text(f"{told} {relevance}"),
            *figures.importance_figures(trial),
            *_pairs(trial),
        ],
    )


def _what_odds_are(trial: Trial) -> str:
    if trial.kind == "count":
        return "A contribution multiplies the expected count. "
    if trial.task == "regression":
        return ""
    of = "the probability p of a higher grade" if trial.kind else "a class's probability p"
    return f"Odds are p / (1 - p) of {of}, which a contribution multiplies. "


def _pairs(trial: Trial) -> list[Part]:
    """Return the pairs of columns that do most together, where this is known exactly."""
    found = figures.pairs_of(trial)
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


def _amount(size: float, task: Task, kind: str = "", beside: float | None = None) -> str:
    """Return a mean absolute contribution in the unit of the response, or as a factor."""
    if kind == "count":
        return f"count x {exp(size):#.3g}"
    if task == "classification":
        return f"odds x {exp(size):#.3g}"
    return format_error(size, task, beside=beside)


def importance_cells(
    column: ColumnImportance, task: Task, kind: str = "", *, beside: float | None = None
) -> list[str]:
    """Return what a column contributes, or by how much the error rises, and its relevance.

    Parameters
    ----------
    column : ColumnImportance
    task : {"classification", "regression"}
    kind : {"", "ordinal", "count"}, default=""
    beside : float, default=None
        The largest number of the table, by which those of responses have decimals.
    """
    relevance = "" if isnan(column.relevance) else f"{column.relevance:.1%}"
    if not isnan(column.contribution):
        return [_amount(column.contribution, task, kind, beside), relevance]
    if isnan(column.increase):
        return ["not measured", relevance]
    sign = "-" if column.increase < 0 else ""
    size = abs(column.increase)
    return [sign + format_error(size, task, column.deviation, beside=beside), relevance]


def reasons_section(found: Reasons, *, n_rows: int) -> Section:
    """Return the largest contributions to the first predictions, in words.

    Parameters
    ----------
    found : Reasons
    n_rows : int
        Number of rows, at most.
    """
    rows = [
        [str(row + 1), found.headline(row), "\n".join(found.words(row))]
        for row in range(min(n_rows, len(found)))
    ]
    title = "Why: what takes predictions away from that of the average row"
    table = Table(["Row", "Prediction", "Largest contributions"], rows, {0})
    told = ["the latent mean has no unit: the higher it is, the more probable are high grades"]
    return Section(title, [table, *told * (found.values.scale == "latent mean")])


def card_section(found: Reasons, *, n_rows: int = MOST_CARDS) -> Section:
    """Return a card for each of the first rows: its prediction, and a figure with its reasons.

    Parameters
    ----------
    found : Reasons
    n_rows : int, default=50
        Number of rows, at most.
    """
    n_rows = min(n_rows, len(found))
    cards = [
        Figure(
            partial(found.draw, row),
            f"{found.headline(row)}. {'; '.join(found.words(row))}.",
            height=3.2,
        )
        for row in range(n_rows)
    ]
    told = (
        "Each bar is what a column contributes (its Shapley value): orange bars raise the "
        "prediction, blue ones lower it. All contributions of a row and the prediction of the "
        f"average row, the mean over {N_BACKGROUND} training rows, sum to the prediction."
    )
    more = [Text(f"{len(found) - n_rows:,} more rows are not shown.")] * (len(found) > n_rows)
    return Section("Why: a card for each row", [Text(told), *cards, *more])
