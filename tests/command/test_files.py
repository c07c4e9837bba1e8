"""Files that are replaced only when they are complete."""

import errno
import gzip
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mercer_command.files import check_outputs, replacing, safe_for_spreadsheets
from mercer_command.messages import InputError


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (KeyboardInterrupt(), KeyboardInterrupt),
        (OSError(errno.ENOSPC, "full"), InputError),
        (OSError(errno.EDQUOT, "full"), InputError),
    ],
    ids=["interrupted", "full disk", "quota"],
)
def test_an_incomplete_write_keeps_the_old_file(
    tmp_path: Path, error: BaseException, raised: type[BaseException]
) -> None:
    path = tmp_path / "p.csv.gz"
    path.write_text("old")

    def write(temporary: Path) -> None:
        temporary.write_text("half")
        raise error

    with pytest.raises(raised), replacing(path) as temporary:
        write(temporary)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_folders_in_which_nothing_can_be_written_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(InputError, match=f"cannot write {tmp_path}"), replacing(tmp_path / "a"):
        pytest.fail("the block must not run")


def test_errors_of_other_files_keep_their_message(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"table\.csv"), replacing(tmp_path / "p.csv"):
        (tmp_path / "table.csv").read_text()


def test_a_link_to_itself_is_named(tmp_path: Path) -> None:
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    for outputs, inputs in (((loop,), ()), ((), (loop,))):
        with pytest.raises(InputError, match=r"loop\.csv is a symbolic link that leads back to"):
            check_outputs(*outputs, inputs=inputs)


def test_links_modes_and_suffixes_are_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "model.v2.csv.gz", tmp_path / "latest"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    with replacing(link) as temporary:
        assert temporary.suffixes[-2:] == [".csv", ".gz"]
        gzip.open(temporary, "wt").close()
    assert link.is_symlink()
    assert gzip.decompress(real.read_bytes()) == b""
    assert real.stat().st_mode & 0o777 == 0o640


def test_devices_and_read_only_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="is a device or a pipe"):
        check_outputs(Path(os.devnull))
    path = tmp_path / "p.csv"
    path.touch()
    monkeypatch.setattr(os, "access", lambda p, mode: p != path)
    with pytest.raises(InputError, match="is read-only"):
        check_outputs(path)
    monkeypatch.setattr(os, "access", lambda p, mode: p != tmp_path)
    with pytest.raises(InputError, match="is not writable"):
        check_outputs(path)


@pytest.mark.parametrize(
    "first", [*"=+-@\t\r\n", *"\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"]
)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_cells_that_spreadsheets_take_for_formulas_begin_with_an_apostrophe(
    first: str, mark: str
) -> None:
    cell = f"{mark}{first}1+1"
    safe = safe_for_spreadsheets(pd.DataFrame({cell: [cell, f"a{cell}", "", "\ufeff", "-1"]}))
    assert list(safe) == [f"'{cell}"]
    assert safe.iloc[:, 0].tolist() == [f"'{cell}", f"a{cell}", "", "\ufeff", "-1"]
