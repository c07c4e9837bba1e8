"""Columns that alone predict the target almost perfectly."""

from typing import Any

import numpy as np
from command_cases import pd

from mercer_command.held_out_errors import leakage_notes
from mercer_command.problem import as_problem

N = 300
RNG = np.random.default_rng(0)
Y = RNG.random(N) < 0.4


def named(column: Any, y: Any) -> bool:
    problem = as_problem(pd.DataFrame({"c": column, "d": RNG.normal(size=N), "y": y}), "y")
    notes = leakage_notes(problem, np.arange(N))
    assert all("column 'c' alone predicts the target almost perfectly" in note for note in notes)
    return bool(notes)


def test_columns_that_tell_the_target_are_named() -> None:
    labels = np.where(Y, "left", "stays")
    response = RNG.normal(size=N)
    assert named(np.where(Y, RNG.uniform(10, 99, N), 0.0), labels)
    assert named(np.where(Y, "closed", "open"), labels)
    assert named(pd.Timestamp("2024-01-01") + pd.to_timedelta(np.where(Y, 9, 0), "D"), labels)
    assert named(2 * response + 1, response)


def texts(words: Any) -> list[str]:
    """Sentences of different ends, each with one of the given words."""
    fillers = ["north", "south", "east", "west", "river", "bridge", "market", "garden"]
    return [
        f"the {word} case {' '.join(RNG.choice(fillers, 5))} {n}" for n, word in enumerate(words)
    ]


def test_text_that_tells_the_target_is_named() -> None:
    labels = np.where(Y, "left", "stays")
    assert named(texts(np.where(Y, "resolved", "pending")), labels)
    flipped = np.where(RNG.random(N) < 0.1, ~Y, Y)
    assert not named(texts(np.where(flipped, "resolved", "pending")), labels)


def test_good_columns_are_not() -> None:
    labels = np.where(Y, "left", "stays")
    flipped = np.where(RNG.random(N) < 0.05, ~Y, Y)
    assert not named(np.where(flipped, "closed", "open"), labels)
    assert not named(RNG.normal(size=N) + 2 * Y, labels)
    response = RNG.normal(size=N)
    assert not named(response + 0.3 * RNG.normal(size=N), response)
    # Where one class is rare, the constant errs seldom as well.
    rare = np.arange(N) < 3
    assert not named(RNG.normal(size=N), np.where(rare, "rare", "common"))
