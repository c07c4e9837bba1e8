"""Progress bars."""

from io import StringIO

import pytest

pytest.importorskip("rich")
pytest.importorskip("pandas")

from rich.console import Console
from rich.progress import Progress

from mercer_command import output
from mercer_command.output import Section, Table


def shown(monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool) -> str:
    """Return what a bar shows after some rows."""
    written = StringIO()
    console = Console(file=written, force_terminal=is_terminal, width=120)
    monkeypatch.setattr(output, "Console", lambda stderr: console)
    with output.progress_bar() as bar:
        bar.step("reading [a]")
        bar.advance(3)
        bar.step("fitting all rows", 4000)
        bar.advance(1000)
        bar.advance(200)
    return written.getvalue()


def test_rows_and_the_time_left_are_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, is_terminal=True)
    assert "fitting all rows" in text
    assert "1,200 of 4,000 rows" in text
    assert "left" in text


def test_nothing_is_shown_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, is_terminal=False).strip() == ""


def test_tables_have_bars_up_to_the_longest_and_say_what_they_leave_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [[name] for name in "abcd"]
    output.show([Section("T", [Table(["N"], rows, lengths=[0.5, 0.25, 0.1, 0.1], n_shown=2)])])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["a", "█" * 16] in lines
    assert ["b", "█" * 8] in lines
    assert ["and", "2", "more"] in lines
    assert not any(line[:1] == ["c"] for line in lines)


def test_files_get_lines_on_progress_at_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    now, out = [0.0], StringIO()
    monkeypatch.setattr(output, "monotonic", lambda: now[0])
    bar = output.Bar(Progress(console=Console(file=out), disable=True), "rows")
    bar.step("reading")
    now[0] = 11.0
    bar.step("fitting", 20)
    bar.advance(4)
    now[0] = 22.0
    bar.advance(6)
    assert out.getvalue().splitlines() == ["fitting", "fitting, 10 of 20 rows"]
