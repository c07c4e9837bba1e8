"""The page on which method to take: it follows its figures, and does without those not there."""

import re
from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest

from experiments import catalog
from experiments.reporting.choosing_page import NEEDED, choosing, grid_advice, grid_better
from experiments.reporting.evidence import Evidence
from experiments.reporting.results import Results

# Measures that are lists, by experiment.
LISTS = {"gaussian_combinations": ("error",), "taxonomy": ("log_loss",)}
MEASURES = ("error", "alignment", "kernels", "index", "log_loss", "seconds", "seconds_learning")


def made(name: str, errors: Mapping[str, float], *, timed: bool) -> Results:
    """Records of two repeats of every method; errors are 0.2 where none is given."""
    experiment = catalog.experiment(name, small=False)
    rows = []
    for number, run in enumerate(experiment.runs(name, 2)):
        level = errors.get(run.method, 0.2) + 1e-3 * (number % 7)
        row: dict[str, object] = {
            "problem": run.problem,
            "method": run.method,
            "repeat": run.repeat,
        }
        for measure in MEASURES:
            if timed or not measure.startswith("seconds"):
                row[measure] = [level] * 2 if measure in LISTS.get(name, ()) else level
        rows.append(row)
    return Results(experiment, pd.DataFrame(rows))


@pytest.fixture(scope="module")
def sparse() -> dict[str, Results]:
    """Without times, and grid search much better."""
    return {name: made(name, {"grid search": 0.1}, timed=False) for name in NEEDED}


def test_the_page_does_without_times(sparse: dict[str, Results]) -> None:
    page = choosing(sparse)
    assert not re.search(r"\bnan\b", page)
    assert "times as long" not in page
    assert page.count("\n## ") == 11


def test_the_page_has_times_where_they_are(sparse: dict[str, Results]) -> None:
    timed = {
        name: made(name, {}, timed=True) for name in ("letters", "dependence_times", "defaults")
    }
    first = timed["letters"].problems[0]
    timed["letters"].frame.loc[timed["letters"].frame["problem"] == first, "seconds"] = np.nan
    page = choosing({**sparse, **timed})
    assert not re.search(r"\bnan\b", page)
    assert page.count("times as long") == 7


def test_the_advice_follows_the_figures(sparse: dict[str, Results]) -> None:
    found = Evidence(sparse)
    assert grid_better(found) == ["MNIST", "letters", "eleven sets"]
    assert "errs clearly less on MNIST" in grid_advice(found)
    behind = Evidence({**sparse, "digits": made("digits", {"grid search": 0.3}, timed=False)})
    assert grid_better(behind) == ["letters", "eleven sets"]


def test_means_are_over_problems_that_all_methods_have(sparse: dict[str, Results]) -> None:
    found = sparse["miscellany"]
    kept = found.frame[~((found.frame["problem"] == "splice") & (found.frame["method"] == "CA-1D"))]
    one = Evidence({"miscellany": Results(found.experiment, kept)})
    assert "splice" not in one.shared("miscellany", "CA-1D", "DU")
    assert "splice" in one.shared("miscellany", "DU")
    assert one.error("miscellany", "CA-1D", "splice") == "-"
