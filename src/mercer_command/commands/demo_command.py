"""The command `mercer demo`."""

from pathlib import Path

import numpy as np
import pandas as pd

from mercer_command import options, output, streaming
from mercer_command.commands import preparation
from mercer_command.commands.fit_command import learn
from mercer_command.division import splits
from mercer_command.problem import as_problem

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


def run(given: options.Demo) -> None:
    """Learn from a made table; see `mercer_command.options`."""
    preparation.check(given)
    problem = as_problem(robot_arm(), TARGET)
    rows, *_ = splits(problem, test_size=0.25, repeats=1, seed=0)
    fitted = options.Fit(
        Path("table.csv"), TARGET, out=given.out, report=given.report, details=given.details
    )
    learn(streaming.Training(problem, *rows), fitted, given)
    if given.report is None:
        output.print_line("The option --report demo.html writes a report with figures.")
