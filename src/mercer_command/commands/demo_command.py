"""The command `mercer demo`."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

from mercer_command import options, output, streaming
from mercer_command.commands import preparation
from mercer_command.commands.fit_command import learn
from mercer_command.division import splits
from mercer_command.models import Trial
from mercer_command.output import Section, Table
from mercer_command.problem import as_problem
from mercer_command.terminal_pictures import scatter

TARGET = "distance (cm)"
"""Name of the target of the demonstration."""


def robot_arm(n_rows: int = 600) -> pd.DataFrame:
    """Return a table of the distance of a robot's hand from a cup, at random angles of its joints.

    Parameters
    ----------
    n_rows : int, default=600

    Returns
    -------
    DataFrame of shape (n_rows, 6)
        Angles of four joints, the load, which does not matter, and the distance, with a standard
        deviation of its error of 1 cm.
    """
    random = np.random.default_rng(0)
    angles, load = random.uniform(-90.0, 90.0, (n_rows, 4)), random.uniform(0.0, 5.0, n_rows)
    links, directions = np.array([40.0, 30.0, 20.0, 10.0]), np.deg2rad(np.cumsum(angles, axis=1))
    hand = np.column_stack([np.cos(directions) @ links, np.sin(directions) @ links])
    distance = np.linalg.norm(hand - [60.0, 30.0], axis=1) + random.normal(size=n_rows)
    names = [f"joint {k} (deg)" for k in range(1, 5)]
    frame = pd.DataFrame(angles.round(1), columns=names)
    return frame.assign(**{"load (kg)": load.round(2), TARGET: distance.round(1)})


def in_short(trial: Trial, found: list[Section]) -> list[Section]:
    """Return the summary, the table of errors, and a picture of the predictions of held-out rows.

    Parameters
    ----------
    trial : Trial
    found : list of Section
        Sections of the fit: the summary, the errors, and the columns that matter.
    """
    assert trial.training is not None
    assert trial.y is not None
    problem, rows = trial.training.problem, trial.training.train
    trees = HistGradientBoostingRegressor(random_state=0)
    trees.fit(problem.features.iloc[rows], problem.target[rows])
    y, width = np.asarray(trial.y), 36
    pictures = [
        scatter(np.asarray(predicted), y, float(y.min()), float(y.max()), width=width)
        for predicted in (trial.model.predict(trial.X), trees.predict(trial.X))
    ]
    names = f"{'model':{width}}", "histogram boosting"
    lines = [f"│{left}  │{right}".rstrip() for left, right in (names, *zip(*pictures, strict=True))]
    title = "Predicted (to the right) and true distance (upwards) of held-out rows"
    summary, errors, _ = found
    # The summary has the score on left-out rows.
    tables = [
        replace(part, rows=[row for row in part.rows if "left-out" not in row[0]])
        for part in errors.parts
        if isinstance(part, Table)
    ]
    return [summary, Section(errors.title, tables), Section(title, lines)]


def run(given: options.Demo) -> None:
    """Learn from a made table; see `mercer_command.options`."""
    preparation.check(given)
    problem = as_problem(robot_arm(), TARGET)
    rows, *_ = splits(problem, test_size=0.25, repeats=1, seed=0)
    fitted = options.Fit(
        Path("table.csv"), TARGET, out=given.out, report=given.report, details=given.details
    )
    learn(streaming.Training(problem, *rows), fitted, given, brief=in_short)
    if given.report is None:
        output.print_line("The option --report demo.html writes a report with figures.")
