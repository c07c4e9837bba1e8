"""The words by which a command is repeated."""

from pathlib import Path

import pytest

pytest.importorskip("typer")

from mercer_command.app import Demo, Fit


def test_arguments_and_the_options_that_differ_from_the_defaults_are_told() -> None:
    options = Fit(Path("t.csv"), "y", test_size=0.3, out=Path("m.skops"))
    assert options.words() == (
        *("mercer", "fit", "t.csv", "--target", "y"),
        *("--out", "m.skops", "--test-size", "0.3"),
    )
    assert Demo().words() == ("mercer", "demo")
