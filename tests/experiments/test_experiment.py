"""Declarations of experiments: the runs that they plan, and measures that are collected."""

from __future__ import annotations

from dataclasses import replace

from experiments.experiment import Experiment, collected


def test_measures_of_several_runs_are_lists() -> None:
    assert collected([{"a": 1, "b": 2}, {"a": 3, "b": 4}]) == {"a": [1, 3], "b": [2, 4]}


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
