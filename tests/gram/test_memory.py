"""Gram matrices that do not fit are refused before any work."""

from __future__ import annotations

from pathlib import Path

import pytest

from mercer._gram import memory


def test_what_fits_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 8e6)
    memory.check_gram_memory(1000)
    with pytest.raises(MemoryError):
        memory.check_gram_memory(1001)


def test_the_message_says_what_is_needed_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 3.0 * 2**30)
    with pytest.raises(MemoryError) as error:
        memory.check_gram_memory(200_000, 1, "use approximation='nystroem'")
    assert str(error.value) == (
        "200,000 rows: 298 GiB for the Gram matrix, of which 3.0 GiB can be had; "
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
