"""Verdicts on the claims of Afkanpour et al. (2013) that several experiments share."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from synthetic_results import errors_of_tasks, synthetic_results

from experiments.reporting.results import Results
from experiments.reporting.section import Verdict
from experiments.reporting.shared_claims import (
    alignment_indicates,
    over_uniform,
    relative_reduction,
    speed,
    steps,
)

# The fewest tasks on all of which a method must be better for Wilcoxon's test to be clear.
N_TASKS = 6


def errors(levels: Mapping[str, float]) -> Results:
    """Errors near a level for each method, further from it on each task."""
    spread = 1.0 + 0.01 * np.arange(N_TASKS)
    return errors_of_tasks({name: list(level * spread) for name, level in levels.items()})


@pytest.mark.parametrize(
    ("level", "verdict"), [(0.15, Verdict.HOLDS), (0.19, Verdict.IN_PART), (0.30, Verdict.FAILS)]
)
def test_learning_beats_uniform_weights_clearly_and_by_much(level: float, verdict: Verdict) -> None:
    results = errors({"CA-1D": level, "DU": 0.2})
    assert relative_reduction(results, "CA-1D", "DU", None) == pytest.approx(1.0 - level / 0.2)
    assert over_uniform(results, "sets", ["CA-1D"], ["DU"]).verdict is verdict


def aligned(alignments: Mapping[str, float]) -> Results:
    """Methods whose errors grow in the order of their names, with given alignments."""
    measured = {
        name: {"error": [0.1 * (rank + 1)], "alignment": [alignment]}
        for rank, (name, alignment) in enumerate(alignments.items())
    }
    return synthetic_results({"first": measured, "second": measured})


@pytest.mark.parametrize(
    ("alignments", "verdict"),
    [
        ({"CA-1D": 0.4, "DA": 0.3, "DU": 0.2, "CA-nD": 0.1}, Verdict.HOLDS),
        ({"CA-1D": 0.4, "DA": 0.3, "DU": 0.2, "CA-nD": 0.5}, Verdict.IN_PART),
        ({"CA-1D": 0.1, "DA": 0.2, "DU": 0.3, "CA-nD": 0.4}, Verdict.FAILS),
    ],
)
def test_alignment_indicates_the_error(alignments: Mapping[str, float], verdict: Verdict) -> None:
    """CA-nD does not count among the methods with one width."""
    results = aligned(alignments)
    assert alignment_indicates(results, "sets", list(alignments)).verdict is verdict


FASTEST_FIRST = ("DU", "CA-1D", "DA", "D1", "D2", "CR-1D", "CA-nD", "CR-nD")


def timed(order: Sequence[str]) -> Results:
    """Methods each of which takes three times as long as the one before."""
    times = {name: {"error": [0.1], "seconds": [3.0**rank]} for rank, name in enumerate(order)}
    return synthetic_results({"task": times})


@pytest.mark.parametrize(
    ("order", "verdicts"),
    [
        (FASTEST_FIRST, [Verdict.HOLDS] * 3),
        (("CA-1D", "DU", "D1", "DA", "D2", "CR-1D", "CR-nD", "CA-nD"), [Verdict.IN_PART] * 2),
        (FASTEST_FIRST[::-1], [Verdict.FAILS] * 3),
    ],
)
def test_verdicts_on_times_follow_their_order(
    order: Sequence[str], verdicts: Sequence[Verdict]
) -> None:
    found = [claim.verdict for claim in speed(timed(order), "sets") if claim]
    assert found[: len(verdicts)] == verdicts


@pytest.mark.parametrize(
    ("alignment_steps", "risk_steps", "verdict"),
    [(9, 25, Verdict.HOLDS), (10, 25, Verdict.IN_PART), (10, 24, Verdict.FAILS)],
)
def test_alignment_takes_few_steps_and_the_risk_many(
    alignment_steps: int, risk_steps: int, verdict: Verdict
) -> None:
    found = {
        "CA-1D": {"steps": [2, alignment_steps]},
        "CR-1D, stagewise": {"steps": [risk_steps, risk_steps]},
    }
    assert steps(synthetic_results({"task": found}), "sets").verdict is verdict
