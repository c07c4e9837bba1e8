"""Model files that are replaced only by complete and checked ones."""

import errno
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

import mercer
from mercer import TwoStageClassifier
from mercer._files import model_files


class TestOldFilesRemain:
    def test_if_a_model_is_refused(self, saved: Path, tmp_path: Path) -> None:
        path = tmp_path / "model.skops"
        path.write_bytes(saved.read_bytes())
        for refused in (HistGradientBoostingClassifier(), {"weights": np.array([np.nan])}, print):
            with pytest.raises(Exception, match=r"not trusted|missing or infinite"):
                mercer.save(refused, path)
        assert path.read_bytes() == saved.read_bytes()
        assert list(tmp_path.iterdir()) == [path]

    def test_if_no_file_was_there_none_is_left(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="not trusted"):
            mercer.save(HistGradientBoostingClassifier(), tmp_path / "model.skops")
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("step", ["_write_compactly", "_read", "add_checksum"])
    @pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
    def test_if_a_step_fails(
        self,
        saved: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        step: str,
        error: BaseException,
    ) -> None:
        def fail(*arguments: Any) -> None:
            written = [one for one in arguments if isinstance(one, Path)]
            for path in written:
                path.write_bytes(b"half")
            raise error

        path = tmp_path / "model.skops"
        path.write_bytes(saved.read_bytes())
        monkeypatch.setattr(model_files, step, fail)
        with pytest.raises(type(error)):
            mercer.save([np.ones(3)], path)
        assert path.read_bytes() == saved.read_bytes()
        assert list(tmp_path.iterdir()) == [path]

    @pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes cannot be killed")
    @pytest.mark.parametrize("step", ["_write_compactly", "_read", "add_checksum"])
    def test_if_the_process_is_killed(self, saved: Path, tmp_path: Path, step: str) -> None:
        path = tmp_path / "model.skops"
        path.write_bytes(saved.read_bytes())
        code = f"""
import os, signal
import mercer
from mercer._files import model_files
def killed(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(model_files, {step!r}, killed)
mercer.save([1.0], {str(path)!r})
"""
        ended = subprocess.run([sys.executable, "-c", code], check=False)
        assert ended.returncode == -signal.SIGKILL
        assert path.read_bytes() == saved.read_bytes()
        assert isinstance(mercer.load(path), TwoStageClassifier)


def test_of_writers_at_once_one_leaves_a_whole_file(tmp_path: Path) -> None:
    path, together = tmp_path / "model.skops", Barrier(4, timeout=60)

    def write(number: int) -> None:
        for _ in range(3):
            together.wait()
            mercer.save({"number": number, "rows": np.full(10_000, float(number))}, path)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    found: Any = mercer.load(path)
    assert set(found["rows"]) == {found["number"]}
    assert list(tmp_path.iterdir()) == [path]


def test_errors_name_the_file_that_was_asked_for(tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "model.skops"
    with pytest.raises(FileNotFoundError) as caught:
        mercer.save([1.0], missing)
    assert caught.value.filename == str(missing)
    with pytest.raises(IsADirectoryError) as caught_folder:
        mercer.save([1.0], tmp_path)
    assert caught_folder.value.filename == str(tmp_path)
    with pytest.raises(ValueError, match="is a device or a pipe"):
        mercer.save([1.0], os.devnull)
    assert Path(os.devnull).is_char_device()


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write every file"
)
def test_a_file_that_may_not_be_changed_is_kept(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    path.write_bytes(saved.read_bytes())
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        mercer.save([1.0], path)
    assert path.read_bytes() == saved.read_bytes()
