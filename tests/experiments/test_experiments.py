"""The machinery of the experiments: records, runs, choice on validation data, statistics."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

from experiments.experiment import Experiment, Run, collected
from experiments.problems import Split, three_parts
from experiments.reporting.results import Results
from experiments.reporting.section import Claim, Verdict, judge, table
from experiments.reporting.statistics import compare, median_ranks, win_tie_loss
from experiments.reporting.words import by_name, listed, mean_and_deviation, mean_and_error
from experiments.running.records import Archive, Record
from experiments.running.runner import without_times
from experiments.validation import C_GRID, Grams, best_machine, machines
from mercer.kernels import Gaussian

RUN = Run("toy", "easy", "CA-1D", 0)
RECORD = Record(
    RUN, {"error": 0.25, "found": [1.0, 2.0]}, alone=False, seconds=1.5, cpu_seconds=1.0
)


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "records")


@pytest.fixture(scope="module")
def split() -> Split:
    X, y = make_blobs(180, centers=2, n_features=3, cluster_std=4.0, random_state=0)
    return three_parts(X, 2 * y - 1, (60, 60, 60), seed=0)


def test_a_record_survives_the_file(archive: Archive) -> None:
    archive.append(RECORD)
    assert archive.records("toy") == [RECORD]


def test_measures_of_numpy_and_without_a_value_are_written(archive: Archive) -> None:
    measures = {
        "a": np.float64(1 / 3),
        "b": np.arange(2),
        "c": np.nan,
        "d": np.bool_(True),
        "e": {"f": (np.int64(3),)},
    }
    archive.append(replace(RECORD, measures=measures))
    (found,) = archive.records("toy")
    expected = {"a": 0.3333333, "b": [0, 1], "c": None, "d": True, "e": {"f": [3]}}
    assert found.measures == expected


def test_measures_of_several_runs_are_lists() -> None:
    assert collected([{"a": 1, "b": 2}, {"a": 3, "b": 4}]) == {"a": [1, 3], "b": [2, 4]}


def test_half_a_line_is_dropped_and_the_run_is_done_again(archive: Archive) -> None:
    archive.append(RECORD)
    second = replace(RUN, repeat=1)
    with archive.path("toy").open("a") as file:
        file.write(replace(RECORD, run=second).line()[:40])
    assert archive.missing([RUN, second], alone=False) == [second]
    archive.append(replace(RECORD, run=second))
    lines = archive.path("toy").read_text().splitlines()
    assert [json.loads(line)["repeat"] for line in lines] == [0, 1]


def test_a_run_alone_counts_for_both_and_is_preferred(archive: Archive) -> None:
    archive.append(RECORD)
    assert archive.missing([RUN], alone=False) == []
    assert archive.missing([RUN], alone=True) == [RUN]
    alone = replace(RECORD, alone=True, measures={"error": 0.25, "seconds": 0.1})
    archive.append(alone)
    archive.append(RECORD)
    assert archive.missing([RUN], alone=True) == []
    assert archive.latest("toy") == {RUN: alone}


def test_times_of_runs_beside_others_are_dropped() -> None:
    assert without_times({"error": 0.1, "seconds": 1, "seconds_search": 2}) == {"error": 0.1}


def test_runs_go_round_by_round_and_slow_methods_stop_early() -> None:
    toy = Experiment(
        "A toy",
        "nowhere",
        problems=dict.fromkeys("pq", lambda repeat: repeat),
        methods=dict.fromkeys("ab", lambda data: {"value": data}),
        limits={("p", "b"): 1, ("q", "a"): 0},
    )
    runs = [(run.repeat, run.problem, run.method) for run in toy.runs("toy", 2)]
    assert runs == [(0, "p", "a"), (0, "p", "b"), (0, "q", "b"), (1, "p", "a"), (1, "q", "b")]
    alone = replace(toy, untimed=("b",)).runs("toy", 1, timing=True)
    assert [(run.problem, run.method) for run in alone] == [("p", "a")]


def test_machines_left_out_would_have_been_the_same(split: Split) -> None:
    """All of the grid, by scikit-learn alone, gives the same accuracies as the grid cut short."""
    grams = Grams.of(Gaussian(20.0), split)
    y = split.train[1]
    tried = list(machines(grams.train, y))
    full = [SVC(kernel="precomputed", C=C).fit(grams.train, y) for C in C_GRID]
    assert 0 < len(tried) <= len(full)
    for got, expected in zip(tried, full, strict=False):
        np.testing.assert_allclose(
            got.decision_function(grams.test), expected.decision_function(grams.test), atol=1e-8
        )
    for expected in full[len(tried) :]:
        last = tried[-1].decision_function(grams.test)
        np.testing.assert_allclose(expected.decision_function(grams.test), last, atol=1e-2)


def test_machines_of_a_separable_problem_end_early() -> None:
    y = np.r_[-np.ones(10), np.ones(10)]
    tried = list(machines(np.outer(y, y) + np.eye(20), y))
    assert len(tried) < len(C_GRID)


def test_best_machine_is_the_first_of_the_best(split: Split) -> None:
    grams = Grams.of(Gaussian(20.0), split)
    accuracies = {
        machine.C: machine.score(grams.valid, split.valid[1])
        for machine in machines(grams.train, split.train[1])
    }
    first = min(C for C, value in accuracies.items() if value == max(accuracies.values()))
    assert best_machine(grams, split).get_params()["C"] == first


def test_grams_are_centered_and_scaled_by_training_data(split: Split) -> None:
    kernel = Gaussian(5.0)
    X, rows = split.train[0], split.test[0]
    n = len(X)
    H = np.eye(n) - 1.0 / n
    scale = np.trace(H @ kernel(X) @ H) / n
    expected = (kernel(rows, X) - kernel(X).mean(axis=0)) @ H / scale
    grams = Grams.of(kernel, split)
    np.testing.assert_allclose(grams.test, expected, atol=1e-12)
    np.testing.assert_allclose(grams.train.trace(), n)


def test_parts_do_not_overlap_and_repeat() -> None:
    X = np.arange(50.0)[:, None]
    first, again = (three_parts(X, np.arange(50), (10, 15, 20), seed=3) for _ in range(2))
    rows = np.concatenate([part[1] for part in (first.train, first.valid, first.test)])
    assert len(set(rows)) == 45
    np.testing.assert_array_equal(first.train[0], again.train[0])


@pytest.fixture(scope="module")
def results() -> Results:
    experiment = Experiment(
        "A toy",
        "nowhere",
        problems=dict.fromkeys("pq", lambda repeat: repeat),
        methods=dict.fromkeys("abc", lambda data: {}),
    )
    errors = {
        "p": {"a": [1, 2, 3], "b": [2, 3.1, 4.2]},
        "q": {"a": [1, 2], "b": [0, 9, 4], "c": [1]},
    }
    records = [
        Record(
            Run("toy", problem, method, repeat),
            {"error": value},
            alone=False,
            seconds=1.0,
            cpu_seconds=1.0,
        )
        for problem, methods in errors.items()
        for method, values in methods.items()
        for repeat, value in enumerate(values)
    ]
    return Results.of(experiment, records)


def test_results_answer_what_there_is(results: Results) -> None:
    assert results.mean("error", "p", "a") == 2.0
    assert np.isnan(results.mean("error", "p", "c"))
    assert results.values("absent", "p", "a").size == 0
    assert results.common_methods("error") == ["a", "b"]
    assert results.repeats("q", "a") == 2
    assert results.tried("error", "a", "b") == ["p", "q"]
    assert results.tried("error", "a", "c") == ["q"]
    first, second = results.pairs("error", "q", "a", "b")
    np.testing.assert_array_equal([first, second], [[1, 2], [0, 9]])


def test_tests_are_paired(results: Results) -> None:
    assert compare(*results.pairs("error", "p", "a", "b")).sign == -1
    assert compare(*results.pairs("error", "q", "a", "b")).sign == 0
    assert win_tie_loss(results, "error", "a", "b") == (1, 1, 0)
    assert win_tie_loss(results, "error", "a", "c") == (0, 1, 0)
    assert compare(np.array([1.0]), np.array([2.0])).sign == 0
    assert compare(np.ones(3), np.zeros(3)).sign == 1
    assert compare(np.ones(3), np.ones(3)).sign == 0


def test_median_ranks_share_ties_and_pass_over_gaps() -> None:
    means = pd.DataFrame({"a": [1.0, 1.0, 3.0], "b": [2.0, 1.0, 1.0], "c": [3.0, np.nan, 2.0]})
    assert median_ranks(means).to_dict() == {"a": 1.5, "b": 1.5, "c": 2.5}


def test_a_claim_needs_conditions_and_a_failure_a_reason() -> None:
    assert judge([True, True]) is Verdict.HOLDS
    assert judge([True, False]) is Verdict.IN_PART
    assert judge([False]) is Verdict.FAILS
    with pytest.raises(ValueError, match="at least one condition"):
        judge([])
    with pytest.raises(ValueError, match="needs a reason"):
        Claim("The moon is a cheese", "nowhere", "a look", "it is not", Verdict.FAILS)


def test_cells_and_tables() -> None:
    assert mean_and_error(np.array([0.1, 0.3]), 100.0) == "20.0 ± 10.0"
    assert mean_and_deviation(np.array([0.1, 0.3, np.nan]), 100.0) == "20.0 ± 14.1"
    assert mean_and_deviation(np.array([0.1]), 100.0) == "10.0"
    assert mean_and_error(np.array([]), 100.0) == "-"
    assert by_name({"DA": 0.25, "DU": 0.5}, ".0f", 100.0) == "DA 25, DU 50"
    assert (listed(["a", "b"]), listed([])) == ("a, b", "none")
    assert table(["a", "b"], [["x", "1"]]) == "| a | b |\n| --- | ---: |\n| x | 1 |\n"


def test_a_line_that_is_no_record_is_named(archive: Archive) -> None:
    archive.append(RECORD)
    with archive.path("toy").open("a") as file:
        file.write("{}\n")
    with pytest.raises(ValueError, match=r"toy\.jsonl, line 2 is no record"):
        archive.records("toy")
