"""Sections on fits, models and comparisons, for the terminal and for reports."""

import sys
from math import isnan
from shlex import join

import numpy as np
import pandas as pd

from mercer.inspection import kernel_terms
from mercer_command.amounts import format_error
from mercer_command.members import WHY_UNSAVED, named_members, unsaved
from mercer_command.messages import counted
from mercer_command.methods import METHODS
from mercer_command.models import Trial
from mercer_command.names import SCORES, SHARES
from mercer_command.options import Fit, Options
from mercer_command.output import Section, Table, Text
from mercer_command.problem import Problem
from mercer_command.table_files import is_parquet
from mercer_command.target_column import Task
from mercer_command.text_formats import STANDARD_INPUT, pandas_call

ON_SCREEN = 12
"""Number of rows of tables of kernels and of columns in the terminal, which fit on a screen."""


def describe_problem(problem: Problem) -> str:
    """Describe the size of the problem in a few words."""
    n_rows, n_columns = problem.n_rows or len(problem.features), problem.features.shape[1]
    n_classes = len(np.unique(problem.target))
    kind = "a count" if problem.kind == "count" else "a response"
    if problem.task == "classification":
        kind = f"{n_classes} {'ordered grades' if problem.kind == 'ordinal' else 'classes'}"
    columns = counted(n_columns, "column")
    return f"{counted(n_rows, 'row')}, {columns} to learn from, {kind} to predict"


def describe_trial(trial: Trial) -> str:
    """Describe a saved model and the rows that it is tried on in a few words."""
    known = "with" if trial.y is not None else "without"
    told = f"; {trial.told}" if trial.told else ""
    return f"A saved model, tried on {counted(len(trial.X), 'row')} {known} their targets{told}"


def kernel_section(trial: Trial, learner: str = "") -> Section:
    """Return the section on the kernels that a model combines, or whose predictions it combines.

    Parameters
    ----------
    trial : Trial
    learner : str, default=""
        Name of the method, if it is known.
    """
    terms = kernel_terms(trial.model)
    by = f" by {learner} ({METHODS[learner].description})" if learner else ""
    if terms.combines == "predictions":
        found = sorted(trial.model[-1].candidates_, key=lambda c: (-c.weight, c.loo_error))
        lengths = [c.weight for c in found]
        header = ["Candidate", "Rel. error", "Weight"]
        rows = [[c.description, f"{c.loo_error:#.3g}", f"{c.weight:.3f}"] for c in found]
        told = (
            "Rel. error: the mean squared leave-one-out error, divided by that of a constant; of a "
            "machine, of trees or of another estimator of classes, the share of wrong rows out of "
            "fold. Kernels that err on different rows complement each other."
        )
    else:
        shares = np.abs(terms.shares)
        order = np.argsort(-shares, kind="stable")
        lengths = [float(share) for share in shares[order]]
        header = ["Kernel", "Weight", "Share"]
        rows = [[terms.labels[k], f"{terms.weights[k]:.4f}", f"{shares[k]:.1%}"] for k in order]
        told = (
            "A share is a kernel's part of the variance of the learned kernel over the training "
            "rows; a wide kernel's part is small."
        )
    table = Table(header, rows, {1, 2}, lengths=lengths, n_shown=ON_SCREEN)
    return Section(f"Kernels found{by}", [table, Text(told)], is_detail=True)


def repeat_section(trial: Trial, n_train: int, given: Fit, command: Options) -> Section:
    """Return the section with the command, the versions, and code to load the model.

    Parameters
    ----------
    trial : Trial
    n_train : int
        Number of training rows.
    given : Fit
        Options of the fit.
    command : Options
        Options of the command that is to be repeated.
    """
    packages = ("mercer", "numpy", "scipy", "sklearn", "pandas")
    used = [f"{name} {sys.modules[name].__version__}" for name in packages]
    of_system = "import sys\n\n" if given.table == STANDARD_INPUT else ""
    if given.table != STANDARD_INPUT and is_parquet(given.table):
        reading = f"pd.read_parquet({str(given.table)!r})"
    else:
        reading = pandas_call(given.table, header=not given.no_header)
    loading = (
        f"{of_system}import mercer\nimport pandas as pd\n\n"
        f"model = mercer.load({str(given.out or 'model.skops')!r})\n"
        f"table = {reading}\n"
        "predictions = model.predict(table)"
    )
    if trial.has_dates:
        loading += '\ndates = pd.to_datetime(predictions, unit="D")'
    rows = f"{counted(n_train, 'training row')} and {counted(len(trial.X), 'held-out row')}"
    parts = [
        Text(join(command.words()), "code"),
        Text(f"Seed {given.seed}; {rows}; {', '.join(used)}."),
    ]
    if refused := unsaved(named_members(given.with_)):
        parts.append(Text(f"The model holds {' and '.join(refused)}: {WHY_UNSAVED}."))
        return Section("Repeat it", parts, is_detail=True)
    parts.append(Text(loading, "code"))
    parts += [] if given.out else [Text("The option --out saves the model.")]
    return Section("Repeat it, and load the model in Python", parts, is_detail=True)


def method_line(frame: pd.DataFrame) -> str:
    """Return the score and the time of one method in a line.

    Parameters
    ----------
    frame : DataFrame
        Results of one method.
    """
    name, n_splits = SCORES[frame.attrs["metric"]].header, _number_of_splits(frame)
    [score], [method], [seconds] = _scores(frame), frame["method"], frame["fit_seconds"]
    return f"{method}: {name} {score} on {counted(n_splits, 'split')}, {seconds:.2f} s a fit"


def _scores(frame: pd.DataFrame) -> list[str]:
    """Return the mean scores of the methods, with standard deviations for several splits."""
    metric = frame.attrs["metric"]
    deviations = frame[f"{metric}_std"] if _number_of_splits(frame) > 1 else [None] * len(frame)
    task: Task = "classification" if metric in SHARES else "regression"
    pairs = zip(frame[metric], deviations, strict=True)
    return ["none" if isnan(e) else format_error(e, task, std) for e, std in pairs]


def comparison_section(frame: pd.DataFrame) -> Section:
    """Return the table of methods, the best first, and the meaning of its columns.

    Parameters
    ----------
    frame : DataFrame
        Results of `mercer_command.comparison.compare`.
    """
    score, n_splits = SCORES[frame.attrs["metric"]], _number_of_splits(frame)
    columns = {
        "Method": frame["method"],
        "How": [METHODS[name].description for name in frame["method"]],
        score.header: _scores(frame),
        "Alignment": frame["test_alignment"].map("{:.3f}".format).replace("nan", ""),
        "Fit time": frame["fit_seconds"].map("{:.2f} s".format),
        "Rank": frame["rank"].map("{:.1f}".format),
    }
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    return Section(
        f"Test rows of {counted(n_splits, 'split')}, best first",
        [
            Table(list(columns), rows, range(2, 6), bold={0}),
            "How: where kernels, their widths and their weights come from",
            f"{score.header}: {score.words.rstrip(',')}, mean ± standard deviation over the splits",
            "Alignment: similarity of the learned kernel to the ideal one, from 0 to 1",
            f"Rank: place by {score.header} among the methods, mean over the splits; 1 is the best",
        ],
    )


def _number_of_splits(frame: pd.DataFrame) -> int:
    return frame.filter(regex=f"^{frame.attrs['metric']}_split_").shape[1]
