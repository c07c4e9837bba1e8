"""Sections on fits, models and comparisons, for the terminal and for reports."""

import platform
import re
import sys
from math import isnan
from pathlib import Path
from shlex import join

import numpy as np
import pandas as pd
from sklearn import config_context

from mercer.inspection import kernel_terms
from mercer_command import figures
from mercer_command.amounts import format_error
from mercer_command.messages import counted
from mercer_command.methods import METHODS
from mercer_command.models import Trial
from mercer_command.names import SCORES, SHARES
from mercer_command.options import Fit, Options
from mercer_command.output import Folded, Part, Section, Table, Text
from mercer_command.problem import Problem
from mercer_command.table_files import is_parquet
from mercer_command.target_column import Task
from mercer_command.text_formats import STANDARD_INPUT, pandas_call

MOST_ROWS = 60
"""Largest number of rows in a report's tables of kernels and of columns."""

ON_SCREEN = 12
"""Number of rows of these tables in the terminal, so that they fit on a screen."""


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


def hidden(n_rows: int, told: str) -> list[Part]:
    """Return a line on the number of rows that a table in a report omits, if there are any.

    Parameters
    ----------
    n_rows : int
        Number of rows in total.
    told : str
        Remark on the rows that are not shown.
    """
    return [Text(f"{n_rows - MOST_ROWS:,} more {told}.")] if n_rows > MOST_ROWS else []


def kernel_section(trial: Trial, learner: str = "") -> Section:
    """Return the section on the kernels that a model combines, or whose predictions it combines.

    Parameters
    ----------
    trial : Trial
    learner : str, default=""
        Name of the method, if it is known.
    """
    terms = kernel_terms(trial.model)
    title = "Kernels found"
    if learner:
        title += f" by {learner} ({METHODS[learner].description})"
    if terms.combines == "predictions":
        found = sorted(trial.learner.candidates_, key=lambda c: (-c.weight, c.loo_error))
        lengths = [c.weight for c in found]
        header = ["Candidate", "Penalty", "Rel. error", "Weight"]
        errors = [
            f"{c.loo_error:.1%}"
            if c.description.startswith(("support", "boosted"))
            else f"{c.loo_error:#.3g}"
            for c in found
        ]
        rows = [
            [c.description, "" if isnan(c.alpha) else f"{c.alpha:.3g}", error, f"{c.weight:.3f}"]
            for c, error in zip(found, errors, strict=True)
        ]
        told = (
            "Rel. error: the mean squared leave-one-out error, divided by the error of the mean or "
            "of class frequencies; of a machine or of trees, the share of wrong rows out of fold. "
            "Weights do not follow errors alone: kernels that err on different rows complement "
            "each other."
        )
    else:
        shares = np.abs(terms.shares)
        order = np.argsort(-shares, kind="stable")
        lengths = [float(share) for share in shares[order]]
        header = ["Kernel", "Weight", "Share"]
        rows = [[terms.labels[k], f"{terms.weights[k]:.4f}", f"{shares[k]:.1%}"] for k in order]
        told = (
            "A share is a kernel's part of the variance of the learned kernel over the training "
            "rows; a wide kernel's part is small. Alignment, from 0 to 1, is the similarity to "
            "the ideal kernel, which is computed from the target."
        )
    numeric = range(1, len(header))
    table = Table(header, rows[:MOST_ROWS], numeric, lengths=lengths, n_shown=ON_SCREEN)
    rest = hidden(len(rows), "have smaller weights")
    return Section(title, [table, *rest, Text(told), *figures.kernel_figures(trial)])


_ADDRESSED = re.compile(r"<(?:function )?(\S+)(?: object)? at 0x[0-9a-fA-F]+>")
"""Pattern of the default representation of functions and other objects, with an address."""


def repeat_section(trial: Trial, n_train: int, given: Fit, command: Options) -> Section:
    """Return the section with the command, versions and settings, and code to load the model.

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
    packages = ("mercer", "numpy", "scipy", "sklearn", "pandas", "skops", "matplotlib")
    used = [[name, sys.modules[name].__version__] for name in packages if name in sys.modules]
    versions = [["python", platform.python_version()], *used]
    with config_context(print_changed_only=False):
        settings = _ADDRESSED.sub(r"\1", trial.model[-1].__repr__(N_CHAR_MAX=10_000))
    settings = re.sub(r"\n +", "\n    ", settings)  # Deep indentation does not fit on phones.
    of_system = "import sys\n\n" if given.table == STANDARD_INPUT else ""
    loading = (
        f"{of_system}import mercer\nimport pandas as pd\n\n"
        f"model = mercer.load({str(given.out or 'model.skops')!r})\n"
        f"table = {_pandas_call(given.table, header=not given.no_header)}\n"
        "predictions = model.predict(table)"
    )
    if trial.has_dates:
        loading += '\ndates = pd.to_datetime(predictions, unit="D")'
    return Section(
        "Repeat it, and load the model in Python",
        [
            Text(join(command.words()), "code"),
            Text(
                f"Seed {given.seed}; {counted(n_train, 'training row')} and "
                f"{counted(len(trial.X), 'held-out row')}."
            ),
            Text(loading, "code"),
            *([] if given.out else [Text("The option --out saves the model.")]),
            Folded("Versions", [Table(["Package", "Version"], versions)]),
            Text(settings, "code"),
        ],
    )


def method_line(frame: pd.DataFrame) -> str:
    """Return the score and the time of one method in a line.

    Parameters
    ----------
    frame : DataFrame
        Results of one method.
    """
    name = SCORES[frame.attrs["metric"]].header
    [score], n_splits = _scores(frame), counted(_number_of_splits(frame), "split")
    [method], [seconds] = frame["method"], frame["fit_seconds"]
    return f"{method}: {name} {score} on {n_splits}, {seconds:.2f} s a fit"


def _number_of_splits(frame: pd.DataFrame) -> int:
    return frame.filter(regex=f"^{frame.attrs['metric']}_split_").shape[1]


def _scores(frame: pd.DataFrame) -> list[str]:
    """Return the mean scores of the methods, with standard deviations for several splits."""
    metric, several = frame.attrs["metric"], _number_of_splits(frame) > 1
    deviations = frame[f"{metric}_std"] if several else [None] * len(frame)
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
    metric, n_splits = frame.attrs["metric"], _number_of_splits(frame)
    several = n_splits > 1
    spread = frame["test_alignment_std"].map(" ± {:.3f}".format if several else lambda std: "")
    aligned = frame["test_alignment"].map("{:.3f}".format) + spread
    columns = [
        frame["method"],
        [METHODS[name].description for name in frame["method"]],
        _scores(frame),
        aligned.where(frame["test_alignment"].notna(), ""),
        frame["fit_seconds"].map("{:.2f} s".format),
        frame["rank"].map("{:.1f}".format),
    ]
    rows = [list(row) for row in zip(*columns, strict=True)]
    name, measure, *_ = SCORES[metric]
    over = f", mean ± standard deviation over {n_splits} splits" if several else ""
    header = ["Method", "How", name, "Alignment", "Fit time", "Rank"]
    return Section(
        f"Test rows of {n_splits} split{'s' * several}, best first",
        [
            Table(header, rows, range(2, 6), bold={0}),
            "How: where kernels, their widths and their weights come from",
            f"{name}: {measure.rstrip(',')}, on test rows{over}",
            "Alignment: similarity of the learned kernel to the ideal one, test rows, from 0 to 1",
            "Fit time: seconds to learn from the training rows, mean over the splits",
            f"Rank: place by {name} among the methods, mean over the splits; 1 is the best",
            *figures.comparison_figures(frame, name),
        ],
    )


def _pandas_call(path: Path, *, header: bool) -> str:
    """Return the call of pandas that reads the cells of a table for a loaded model."""
    if path != STANDARD_INPUT and is_parquet(path):
        return f"pd.read_parquet({str(path)!r})"
    return pandas_call(path, header=header)
