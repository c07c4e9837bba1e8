"""The tables and figures of the page on tables of mixed types."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from synthetic_results import synthetic_results
from test_table_targets import entries, tables

from experiments.reporting.table_figures import critical_differences, ratio_strips
from experiments.reporting.table_parts import (
    better_trees,
    error_table,
    measure_table,
    ranking_of,
    ratio_table,
    split_table,
    time_table,
    win_table,
)
from experiments.reporting.table_results import groups_of
from experiments.studies.tables import section


def test_errors_have_marks_where_they_differ() -> None:
    responses, classes = tables(0.2)
    page = error_table(responses, "stacking")
    assert "| concrete | 0.200 ± 0.001 | 0.300 ± 0.001 + |" in page
    assert "| car | 20.0 ± 0.1 | 30.0 ± 0.1 + |" in error_table(classes, "stacking")
    assert "| car | 20.0 ± 0.1 - | 30.0 ± 0.1 |" in error_table(classes, "LightGBM")


def test_ratios_wins_and_times_stand_by_group() -> None:
    responses, classes = tables(0.2)
    groups = {"regression": responses, "classification": classes}
    assert "| stacking | 0.667 | 0.672 |" in ratio_table(groups, ["stacking"])
    wins = win_table(groups, ["stacking"], ["stacking", "LightGBM", "xRFM"])
    assert "| stacking | LightGBM | 2-0-0 (2-0-0), p = 0.5 |" in wins
    assert "| stacking | xRFM | - | - |" in wins
    assert "| stacking | stacking |" not in wins
    assert "| stacking | 0.1 | 0.1 |" in time_table(groups, ["stacking"], "grid search")
    assert "| stacking | 3 | 3 |" in split_table(groups)


def test_measures_that_no_method_has_are_left_out() -> None:
    responses, classes = tables(0.2, coverages=(0.95, 0.85))
    found = measure_table(responses, "coverage", "coverage, %", scale=100.0, form=".1f")
    assert "| coverage, % | stacking |" in found
    assert "| mean | 90.0 |" in found
    assert measure_table(classes, "coverage", "coverage, %", form=".1f") == ""


def test_tables_on_which_trees_are_better_are_named() -> None:
    assert better_trees(tables(0.2), "stacking", ["LightGBM"]) == "none"
    found = better_trees(tables(0.5), "stacking", ["LightGBM", "forest"])
    assert "car, n = 400 (LightGBM 30.0, stacking 50.0, significant)" in found
    assert "pol, n = 400 (LightGBM 0.300, stacking 0.500, significant)" in found


def test_methods_without_all_tables_have_no_rank() -> None:
    one = {"a": entries(0.1), "b": entries(0.2), "c": entries(0.3)}
    results = synthetic_results({"pol, n = 400": one, "car, n = 400": dict(list(one.items())[:2])})
    groups = groups_of(results).values()
    ranking, left_out = ranking_of(list(groups), ["a", "b", "c"])
    assert left_out == ["c"]
    assert ranking.ranks.to_dict() == {"a": 1.0, "b": 2.0}


def test_figures_can_be_drawn() -> None:
    groups = dict(zip(("regression", "classification"), tables(0.2), strict=True))
    methods = ["stacking", "LightGBM", "grid search"]
    ranking = ranking_of(list(groups.values()), methods)[0]
    for figure in (
        critical_differences({"four": ranking}, ["stacking"]),
        critical_differences({}, []),
        ratio_strips(groups, methods, ["stacking"]),
    ):
        stream = BytesIO()
        figure.savefig(stream)
        assert stream.tell() > 0


@pytest.mark.parametrize("left_out", [(), ("LightGBM",), ("stacking",), ("grid search",)])
def test_the_page_can_be_written_from_few_records(left_out: tuple[str, ...]) -> None:
    results = tables(0.2)[0].results
    frame = results.frame[~results.frame["method"].isin(left_out)]
    body = section(type(results)(results.experiment, frame)).body
    assert "## What was to be reached" in body
    assert "nan" not in body
    assert np.all([f"(figure:{name})" in body for name in ("tables_ranks", "tables_ratios")])
