"""The tables of the page on tables, and its targets."""

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from synthetic_results import split_measures, synthetic_results

from experiments.reporting import table_parts
from experiments.reporting.figures import critical_differences, ratio_strips
from experiments.reporting.section import section_of
from experiments.reporting.table_parts import (
    NOTHING,
    coverage,
    log_loss,
    no_losses,
    ranking_of,
    ratio,
    targets,
    times,
    wins,
)
from experiments.reporting.table_results import Group, group
from experiments.studies import tables as study


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
    body = section_of(study, type(results)(results.experiment, frame)).body
    assert "## What was to be reached" in body
    assert "nan" not in body
    assert np.all([f"(figure:{name})" in body for name in ("tables_ranks", "tables_ratios")])


REGRESSION, CLASSES = ("concrete, n = 400", "pol, n = 400"), ("car, n = 400", "cmc, n = 400")


def entries(error: float, **others: float) -> Mapping[str, Any]:
    """Three splits around an error."""
    return split_measures([error, error + 0.001, error - 0.001], **others)


def tables(
    stacking: float, *, coverages: tuple[float, float] = (0.9, 0.9), seconds: float = 0.1
) -> tuple[Group, Group]:
    """Groups on which LightGBM and the grid search have an error of 0.3, and a log-loss of 1."""
    measured: dict[str, Any] = {}
    for problem in (*REGRESSION, *CLASSES):
        measured[problem] = {
            "stacking": entries(stacking, fit_seconds=seconds, log_loss=stacking / 0.3),
            "LightGBM": entries(0.3, fit_seconds=0.01, log_loss=1.0),
            "grid search": entries(0.3, fit_seconds=1.0),
        }
    for problem, value in zip(REGRESSION, coverages, strict=True):
        measured[problem]["stacking"]["coverage"] = [value] * 3
    results = synthetic_results(measured)
    return group(results, 400, classes=False), group(results, 400, classes=True)


def test_a_method_that_errs_less_reaches_its_targets() -> None:
    responses, classes = tables(0.2)
    assert ratio(responses, 0.7).reached
    assert not ratio(responses, 0.6).reached
    assert wins(responses).reached
    assert log_loss(classes).reached
    assert no_losses([responses, classes], "stacking").reached


def test_a_method_that_errs_more_does_not() -> None:
    responses, classes = tables(0.5)
    assert not ratio(classes, 0.8).reached
    assert not wins(classes).reached
    assert "car, cmc" in wins(classes).text
    assert not log_loss(classes).reached
    found = no_losses([responses, classes], "stacking")
    assert not found.reached
    assert "4 of 4" in found.text


@pytest.mark.parametrize(
    ("coverages", "reached"),
    [
        ((0.9, 0.9), True),
        ((0.99, 0.85), True),
        ((0.99, 0.79), False),
        ((0.86, 0.86), False),
        ((0.95, 0.95), False),
    ],
)
def test_coverage_must_be_right_on_average_and_everywhere(
    coverages: tuple[float, float], reached: bool
) -> None:
    assert coverage(tables(0.2, coverages=coverages)[0]).reached is reached


@pytest.mark.parametrize(("seconds", "reached"), [(0.1, True), (0.5, False)])
def test_times_are_relative_to_the_grid(seconds: float, reached: bool) -> None:
    found = times(tables(0.2, seconds=seconds), "stacking", 0.3)
    assert found.reached is reached
    assert f"{seconds:.3f}" in found.text


def test_what_was_not_tried_is_not_judged() -> None:
    [responses, _] = tables(0.2)
    assert no_losses([responses], "two-stage") == NOTHING
    assert coverage(tables(0.2)[1]) == NOTHING
    assert times([responses], "two-stage", 0.05) == NOTHING
    page = targets(responses.results)
    assert "**reached**" in page
    assert page.count("\n| ") == 2 + 10 - 1
    assert table_parts.Outcome("x", False).cell == "**not reached** x"


def test_with_too_few_splits_for_a_test_nothing_is_reached() -> None:
    responses, _ = tables(0.2)
    frame = responses.results.frame
    few = type(responses.results)(responses.results.experiment, frame[frame["repeat"] < 2])
    found = group(few, 400, classes=False)
    assert no_losses([found], "stacking").reached is None
    assert wins(found).reached is None
    assert "too few splits for a test on 2" in wins(found).text
