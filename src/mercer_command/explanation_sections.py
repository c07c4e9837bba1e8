"""Explanations in words: important columns, and reasons for predictions."""

from math import exp, isnan

from mercer_command.amounts import format_error
from mercer_command.contributions import Reasons
from mercer_command.messages import counted, shown
from mercer_command.models import Trial
from mercer_command.output import Part, Section, Table, Text
from mercer_command.sections import ON_SCREEN

MOST_EXPLAINED = (5, 50)
"""Largest number of rows that the terminal explains, and that a report does."""


def importance_section(trial: Trial, scale: str = "response") -> Section:
    """Return the section on the importance of columns.

    Parameters
    ----------
    trial : Trial
        If it has no report, its importances are contributions to predictions.
    scale : str, default="response"
        Scale of contributions.
    """
    found = [column for column in trial.importances if column.matters]
    sizes = [column.size for column in found]
    if trial.report is None:
        title, header = "how far they move predictions away from the average row's", "Contributes"
        cells = [_amount(size, scale) for size in sizes]
        told = (
            "Mean absolute contribution to the predictions of the rows that are explained. It says "
            "what the model uses, whether right or wrong."
        )
        if scale in _FACTORS:
            name = _FACTORS[scale]
            told += f" {name.capitalize()} x 2: the column doubles or halves the {name}, in the "
            told += "geometric mean."
    else:
        title, header = "how much the error rises if their cells are shuffled", "Error rises by"
        largest = max(sizes, default=0.0)
        cells = [format_error(c.size, trial.task, c.deviation, beside=largest) for c in found]
        error = "mean of one minus the probability of the true class"
        if trial.task == "regression":
            unit = " of the logarithms" if trial.in_logarithms else f", in {trial.unit}"
            error = f"mean absolute error{unit}"
        told = (
            f"The error is the {error}. Each rise is given with its standard error over the rows. "
            "Columns that tell the same share their importance."
        )
    rows = [[shown(c.name), cell] for c, cell in zip(found, cells, strict=True)]
    table = Table(["Column", header], rows, {1}, lengths=sizes, n_shown=ON_SCREEN)
    parts: list[Part] = [table, Text(told)] if rows else []
    return Section(f"Columns that matter: {title}", [*parts, *_without_rise(trial, len(found))])


def _without_rise(trial: Trial, n_others: int) -> list[Part]:
    """Return lines on the columns whose shuffling does not raise the error, and on the others."""
    n_all, lines = len(trial.importances), list[Part]()
    measured = [column for column in trial.importances if not isnan(column.size)]
    if n_columns := sum(not column.matters for column in measured):
        more = "more " * bool(n_others)
        told = counted(n_columns, f"{more}column does", f"{more}columns do")
        why = "the error does not rise beyond what chance explains, or hardly rises"
        lines.append(f"{told} not matter: {why}")
    if 0 < len(measured) < n_all:
        which = "those that correlate most with the predictions"
        what = "shuffled" if trial.report is not None else "explained one by one"
        lines.append(f"{len(measured):,} of {n_all:,} columns were {what}: {which}")
    return lines


_FACTORS = {"log-odds": "odds", "logit": "odds", "log rate": "count", "log response": "prediction"}
"""What contributions multiply, by scale; on other scales they are added."""


def _amount(size: float, scale: str) -> str:
    """Format a mean absolute contribution in the unit of the response, or as a factor."""
    if scale in _FACTORS:
        return f"{_FACTORS[scale]} x {exp(size):#.3g}"
    return format_error(size, "regression")


def reasons_section(found: Reasons) -> Section:
    """Return the largest contributions to predictions, in words.

    Parameters
    ----------
    found : Reasons
    """
    n_rows = min(MOST_EXPLAINED[1], len(found))
    rows = [
        [str(row + 1), found.headline(row), "\n".join(found.words(row))] for row in range(n_rows)
    ]
    header = ["Row", "Prediction", "Largest contributions"]
    parts: list[Part] = [Table(header, rows, {0}, n_shown=MOST_EXPLAINED[0])]
    if found.values.scale == "latent mean":
        parts.append(
            "the latent mean has no unit: the higher it is, the more probable are high grades"
        )
    return Section("Why: what moves predictions away from the average row's", parts)
