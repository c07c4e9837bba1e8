"""Explanations in words: important columns and pairs, and reasons for predictions."""

from functools import partial
from math import exp, isnan

from mercer_command import figures
from mercer_command.contributions import (
    OTHERS,
    Reasons,
    exact_interactions,
    mean_sizes,
)
from mercer_command.importances import why_no_relevance
from mercer_command.messages import counted, shown
from mercer_command.models import Trial
from mercer_command.output import Figure, Folded, Part, Section, Table, Text
from mercer_command.sections import MOST_ROWS, ON_SCREEN, format_error, hidden

MOST_CARDS = 50
"""Largest number of rows that a report explains."""

N_UNFOLDED = 6
"""Number of rows whose explanations a report shows at once, and not on demand."""

N_BACKGROUND = 100
"""Number of training rows whose mean prediction stands for the average row."""


def importance_section(trial: Trial, why: Reasons | None = None) -> Section:
    """Return the section on the importance of columns.

    Parameters
    ----------
    trial : Trial
    why : Reasons, default=None
        Explanations of predictions, from which columns have contributions if there is no error.
    """
    contribute = why is not None and trial.report is None
    found = [column for column in trial.importances if contribute or column.matters]
    title, header, told = _MATTER[contribute]
    if contribute:
        assert why is not None
        rows = [[shown(c.name), _amount(c.contribution, why.values.scale)] for c in found]
        told += _meaning(why.values.scale, "the column")
        lengths = [column.contribution for column in found]
        drawn = figures.contribution_figures(why)
    else:
        told = told.format(error=_error_called(trial))
        largest = max((column.increase for column in found), default=0.0)
        rows = [
            [shown(c.name), format_error(c.increase, trial.task, c.deviation, beside=largest)]
            for c in found
        ]
        lengths = [column.increase for column in found]
        drawn = figures.importance_figures(trial)
    names = ["Column", header]
    if all(isnan(column.relevance) for column in trial.importances):
        relevance = why_no_relevance(trial.model)
    else:
        relevance = "Relevance is the column's share in what the kernels measure distances by."
        names.append("Relevance")
        rows = [[*row, f"{c.relevance:.1%}"] for row, c in zip(rows, found, strict=True)]
    numeric, lengths = range(1, len(names)), lengths[:MOST_ROWS]
    table = Table(names, rows[:MOST_ROWS], numeric, lengths=lengths, n_shown=ON_SCREEN)
    return Section(
        title,
        [
            *[table] * bool(rows),
            *hidden(len(rows), "columns matter less"),
            *_without_rise(trial, len(found)),
            *[Text(f"{told} {relevance}")] * bool(rows),
            *drawn,
            *_pairs(trial),
        ],
    )


def _without_rise(trial: Trial, n_others: int) -> list[Part]:
    """Return lines on the columns whose shuffling does not raise the error, and on the others."""
    n_all, lines = len(trial.importances), list[Part]()
    shuffled = [column for column in trial.importances if not isnan(column.increase)]
    if n_columns := sum(not column.matters for column in shuffled):
        more = "more " * bool(n_others)
        told = counted(n_columns, f"{more}column does", f"{more}columns do")
        why = "the error does not rise beyond what chance explains, or hardly rises"
        lines.append(f"{told} not matter: {why}")
    if 0 < len(shuffled) < n_all:
        unknown = any(isnan(column.relevance) for column in trial.importances)
        which = "that correlate most with the predictions" if unknown else "of largest relevance"
        lines.append(f"{len(shuffled):,} of {n_all:,} columns were shuffled: those {which}")
    return lines


def _error_called(trial: Trial) -> str:
    """Return what the error is that rises when columns are shuffled."""
    if trial.task == "regression":
        return "mean absolute error" + " of the logarithms" * trial.in_logarithms
    return "mean of one minus the probability of the true class"


_MATTER = {
    False: (
        "Columns that matter: how much the error rises if their cells are shuffled",
        "Error rises by",
        "The error is the {error}. Each rise is given with its standard error over the rows. "
        "Columns that tell the same share their importance. The columns that move predictions "
        "most are shuffled three times.",
    ),
    True: (
        "Columns that matter: how far they move predictions away from the average row's",
        "Contributes",
        "Mean absolute contribution to the predictions of the rows that are explained. It says "
        "what the model uses, whether right or wrong.",
    ),
}
"""Title, header and explanation for importances by shuffling (False) or contributions (True)."""


def _pairs(trial: Trial) -> list[Part]:
    """Return the pairs of columns with the largest interactions, if these are known exactly.

    If it was measured that no column matters, no pair does.
    """
    if trial.report is not None and not any(column.matters for column in trial.importances):
        return []
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
    rows = [[told, _amount(size, found.scale)] for size, told in strongest]
    is_factor = found.scale in _FACTORS
    told = (
        "Mean absolute interaction: what two columns contribute together beyond what each does "
        f"alone. Where it is small, the effects of columns {'multiply' if is_factor else 'add up'}."
    )
    return [
        Table(["Strongest pairs", "Together"], rows, {1}),
        Text(told + _meaning(found.scale, "the pair")),
    ]


_FACTORS = {"log-odds": "odds", "logit": "odds", "log rate": "count", "log response": "prediction"}
"""What contributions multiply, by scale; on other scales they are added."""


def _amount(size: float, scale: str) -> str:
    """Format a mean absolute contribution in the unit of the response, or as a factor."""
    if scale in _FACTORS:
        return f"{_FACTORS[scale]} x {exp(size):#.3g}"
    return format_error(size, "regression")


def _meaning(scale: str, what: str) -> str:
    """Return a sentence on the meaning of factors, if contributions are factors."""
    if scale not in _FACTORS:
        return ""
    name = _FACTORS[scale]
    return f" {name.capitalize()} x 2: {what} doubles or halves the {name}, in the geometric mean."


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
    captions = [f"{'; '.join(found.words(row))}." for row in range(n_rows)]
    cards: list[Part] = [
        Figure(partial(found.draw, k), told, 2.6, [found.cells(k), found.headline(k)])
        for k, told in enumerate(captions)
    ]
    told = (
        "Each bar is what a column contributes (its Shapley value): orange ones raise the "
        f"prediction, blue ones lower it, from the mean over {N_BACKGROUND} training rows."
    )
    rest = counted(len(found) - n_rows, "more row is", "more rows are")
    more = [Text(f"{rest} not shown.")] * (len(found) > n_rows)
    folded, n_others = list[Part](), n_rows - N_UNFOLDED
    if n_others > 0:
        summary = f"{counted(n_others, 'more row')}: from row {N_UNFOLDED + 1} to row {n_rows}"
        folded = [Folded(summary, cards[N_UNFOLDED:])]
    parts = [Text(told), *cards[:N_UNFOLDED], *folded, *more]
    return Section("Why: a card for each row", parts)
