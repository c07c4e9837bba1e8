"""Gram matrices that do not fit are refused before any work."""

from __future__ import annotations

from pathlib import Path

import pytest

from mercer._gram import memory


def test_what_fits_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 16e6)
    memory.check_gram_memory(1000)
    with pytest.raises(MemoryError):
        memory.check_gram_memory(1415)


def test_more_than_half_of_the_memory_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 16e6)
    message = "1,001 rows need about 8 MiB of memory for a Gram matrix, and 15 MiB are available"
    with pytest.warns(UserWarning, match=message):
        memory.check_gram_memory(1001)


def test_the_kernel_of_many_new_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 2.0**30)
    memory.check_rows_memory(10_000, 3000)
    message = (
        "1,000,000 new rows need about 22 GiB of memory for their kernel with 3,000 training "
        "samples, and 1.0 GiB are available; pass fewer rows at a time"
    )
    with pytest.raises(MemoryError, match=message):
        memory.check_rows_memory(1_000_000, 3000)


def test_the_size_is_printed_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    memory.check_gram_memory(1000, 4)
    assert not capsys.readouterr().out
    memory.check_gram_memory(1000, 4, announcer="MKLRegressor")
    assert capsys.readouterr().out == (
        "[MKLRegressor] 1,000 rows need about 31 MiB of memory for 4 Gram matrices\n"
    )


def test_the_message_says_what_is_needed_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 3.0 * 2**30)
    with pytest.raises(MemoryError) as error:
        memory.check_gram_memory(200_000, 1, "use approximation='nystroem'")
    assert str(error.value) == (
        "200,000 rows need about 298 GiB of memory for a Gram matrix, and 3.0 GiB are available; "
        "use approximation='nystroem'."
    )
    with pytest.raises(MemoryError, match="for 3 Gram matrices"):
        memory.check_gram_memory(200_000, 3)


def test_unknown_memory_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    memory.check_gram_memory(10**9)


def test_available_memory_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal:  100 kB\nMemAvailable:   50 kB\n")
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    assert memory.available_memory() == 50 * 1024
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "none")
    found = memory.available_memory()
    assert found is None or found > 0.0
