"""Files that are replaced only when they are complete."""

from __future__ import annotations

import contextlib
from pathlib import Path

from mercer._cli.files import replacing


def test_an_interrupted_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    path.write_text("old")

    with contextlib.suppress(KeyboardInterrupt), replacing(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
