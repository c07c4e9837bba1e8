"""HTML reports of one fit, of a saved model, and of a comparison."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.pipeline import Pipeline

from mercer.inspection._display import BAR_COLOR
from mercer_command import html
from mercer_command.comparison import Comparison, standard_deviation
from mercer_command.explanation import Explanation, explanation_of
from mercer_command.fitting import Fit
from mercer_command.held_out_figures import HeldOut, error_figure, held_out_section
from mercer_command.methods import METHODS
from mercer_command.model_figures import (
    importance_section,
    kernel_section,
    partial_section,
    similarity_figure,
)
from mercer_command.problem import Problem, Task
from mercer_command.shown_names import shown
from mercer_command.table_columns import Column
from mercer_command.tables import pandas_call
from mercer_command.wording import (
    NO_BETTER,
    comparison_explained,
    comparison_rows,
    describe_problem,
    error_cells,
    error_name,
    format_error,
    score_lines,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PACKAGES = ("mercer", "numpy", "scipy", "scikit-learn", "pandas", "skops", "matplotlib")
"""Packages whose versions a report names."""


@dataclass(frozen=True)
class Run:
    """How a run is repeated.

    Attributes
    ----------
    command : tuple of str
        The words of the command.
    table : str
        The table's file.
    model : str or None
        The file of the saved model.
    """

    command: tuple[str, ...]
    table: str
    model: str | None = None


def write_fit_report(fit: Fit, path: Path, run: Run, notes: Iterable[str] = ()) -> None:
    """Write the report of one fit: the result, then the model, then how to repeat it.

    Parameters
    ----------
    fit : Fit
    path : Path
        The HTML file.
    run : Run
    notes : iterable of str, default=()
        Remarks on the run.
    """
    problem, own = fit.problem, fit.own
    X, y = problem.features.iloc[fit.test], problem.target[fit.test]
    unit = 100.0 if problem.task == "classification" else 1.0
    label = "Error, %" if unit > 1 else f"RMSE, in {problem.unit}"
    shown_errors = (own, *fit.baselines)
    told = ["Remark"] if any(one.note for one in shown_errors) else []
    rows = [
        [one.name, *error_cells(one, problem.task), *([one.note] if told else [])]
        for one in shown_errors
    ]
    error, interval = error_cells(own, problem.task)
    held_out = HeldOut(fit.model, X, y, problem.task, problem.unit)
    body = [
        html.paragraph(
            f"{error_name(problem)} of {len(fit.test):,} held-out rows: {error}, 95% interval "
            f"{interval}. That of a constant prediction: "
            f"{format_error(fit.baselines[-1].error, problem.task)}."
        ),
        "" if fit.beats_constant else html.warning(f"Warning: {NO_BETTER}."),
        html.table(["Predictor", "Error", "95% interval", *told], rows, numeric={1, 2}, best=0),
        *(html.paragraph(f"{line[0].upper()}{line[1:]}.") for line in score_lines(fit)),
        html.notes_section(notes),
        html.heading("Predictions of held-out rows"),
        html.figures([error_figure([own, *fit.baselines], label, unit)]),
        *held_out_section(held_out),
        *_explained(explanation_of(fit)),
        html.figures([similarity_figure(fit.model, X, y)]),
        *_columns_section(problem.columns),
        *_repeat_section(fit, run),
    ]
    lead = (
        f"{describe_problem(problem)}. Learner {fit.learner}: {METHODS[fit.learner].description}."
    )
    html.write_page(path, f"Predicting {shown(problem.name)}: error {error}", lead, body)


def write_explanation(found: Explanation, path: Path, notes: Iterable[str] = ()) -> None:
    """Write what a saved model learned.

    Parameters
    ----------
    found : Explanation
    path : Path
        The HTML file.
    notes : iterable of str, default=()
    """
    rows = found.held_out()
    body = [
        html.notes_section(notes),
        *([html.heading("Predictions"), *held_out_section(rows)] if rows is not None else []),
        *_explained(found),
    ]
    html.write_page(path, f"What predicts {shown(found.name)}", f"{found.describe()}.", body)


def _explained(found: Explanation) -> list[str]:
    """Return the sections on what a model learned."""
    names = [column.name for column in found.importances]
    return [
        *importance_section(found.importances, found.task, found.unit),
        *partial_section(found.model, found.X, names),
        *kernel_section(found.model, found.learned),
    ]


def _columns_section(columns: Sequence[Column]) -> list[str]:
    rows = [
        [shown(c.name, longest=80), c.role, "; ".join(filter(None, (c.describe(), *c.warnings)))]
        for c in columns
    ]
    return [
        html.heading("How the columns were read and used"),
        html.table(["Column", "Role", "Details"], rows),
    ]


def _repeat_section(fit: Fit, run: Run) -> list[str]:
    """Return command, versions, settings, and how to load the model."""
    rows = [["python", platform.python_version()], *([name, _version(name)] for name in _PACKAGES)]
    settings = [
        [f"{step}: {key}", shown(value, longest=200)] for step, key, value in _settings(fit.model)
    ]
    model = run.model or "model.skops"
    loading = (
        "import mercer\nimport pandas as pd\n\n"
        f"model = mercer.load({model!r})\n"
        f"table = {pandas_call(Path(run.table))}\n"
        "predictions = model.predict(table)"
    )
    if fit.problem.target_column.role == "date":
        loading += '\ndates = pd.to_datetime(predictions, unit="D")'
    return [
        html.heading("Repeat it"),
        html.code(shlex.join(run.command)),
        html.paragraph(
            f"Seed {fit.seed}; {fit.n_train:,} training rows and {len(fit.test):,} held-out rows."
        ),
        html.heading("Load the model in Python"),
        html.code(loading),
        "" if run.model else html.paragraph("The option --out saves the model."),
        html.details("Versions", html.table(["Package", "Version"], rows)),
        html.details("All settings", html.table(["Setting", "Value"], settings)),
    ]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _settings(model: Pipeline) -> Iterable[tuple[str, str, object]]:
    """Yield the settings of the steps after the reader, whose columns have a section."""
    for name, step in model.steps[1:]:
        for key, value in sorted(step.get_params(deep=True).items()):
            if key != "transformers":
                yield name, key, value


def write_comparison_report(
    comparison: Comparison, problem: Problem, path: Path, notes: Iterable[str] = ()
) -> None:
    """Write the report of a comparison: its table, and figures of error and alignment.

    Parameters
    ----------
    comparison : Comparison
    problem : Problem
    path : Path
        The HTML file.
    notes : iterable of str, default=()
        Remarks on the run.
    """
    n_splits = comparison.errors.shape[1]
    header, rows = comparison_rows(comparison, problem.task)
    rows = [[row[0], METHODS[row[0]].description, *row[1:]] for row in rows]
    body = [
        html.paragraph(
            f"{n_splits} split{'s' * (n_splits > 1)} into training rows and test rows, the same "
            "for every method."
        ),
        html.table([header[0], "How", *header[1:]], rows, numeric=range(2, 6), best=0),
        *(html.paragraph(f"{line}.") for line in comparison_explained(comparison, problem.task)),
        html.heading("Figures"),
        html.figures(_comparison_figures(comparison, problem.task)),
        html.notes_section(notes),
    ]
    title = f"Comparison of methods that predict {shown(problem.name)}"
    html.write_page(path, title, f"{describe_problem(problem)}.", body)


def _comparison_figures(comparison: Comparison, task: Task) -> list[tuple[str, str]]:
    """Draw the error of each method, and the errors against the alignments."""
    order, unit = comparison.best_first(), 100.0 if task == "classification" else 1.0
    names = [comparison.methods[m] for m in order]
    errors = unit * comparison.errors[order]
    deviations = unit * standard_deviation(comparison.errors)[order]
    alignments = comparison.alignments[order].mean(axis=1)
    label = "Test error, %" if task == "classification" else "Test error (RMSE, target's unit)"

    def by_method(ax: Axes) -> None:
        positions = range(len(names))
        ax.errorbar(
            errors.mean(axis=1), positions, xerr=deviations, fmt="o", color=BAR_COLOR, capsize=3
        )
        for split in errors.T:
            ax.plot(split, np.add(positions, 0.22), ".", color=BAR_COLOR, alpha=0.4)
        ax.set_yticks(positions, names)
        ax.invert_yaxis()
        ax.grid(axis="x")
        ax.set(xlabel=label, title="Error of each method")

    def by_alignment(ax: Axes) -> None:
        # Hollow markers of different shapes can be told apart where methods coincide.
        for name, marker, x, y in zip(
            names, cycle("osD^v<>PhXpd*8H"), alignments, errors.mean(axis=1), strict=False
        ):
            ax.plot(x, y, marker, fillstyle="none", markeredgewidth=1.6, label=name)
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        ax.grid()
        ax.set(xlabel="Centered alignment on test rows", ylabel=label, title="Error and alignment")

    return [
        (
            html.figure(by_method),
            "Means and standard deviations of the error, and below them the error of each split.",
        ),
        (
            html.figure(by_alignment),
            "Low errors are at the bottom, high alignments at the right; they need not coincide.",
        ),
    ]
