"""Output files and models: checked before any work, and replaced at once by complete ones."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path
from secrets import token_hex
from shutil import copymode

from sklearn.pipeline import Pipeline

import mercer
from mercer_command.messages import InputError

if sys.platform != "win32":  # Windows has no such locks.
    import fcntl

_PREFIX = ".mercer-"
"""Names of temporary files begin with this."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder, and rename it to `path` when the block succeeds.

    Parameters
    ----------
    path : Path
        The file to create or to replace. It stays as it was if the block raises an exception, or
        if the process is killed. Of two processes that write it at once, the later one wins.

    Yields
    ------
    Path
        An empty file with the same suffixes.

    Raises
    ------
    InputError
        If a file cannot be made in the folder, or the disk is full.

    Notes
    -----
    The temporary file is locked while the block runs, so that files left by killed processes are
    told apart from those in use, and removed, except on Windows. The new file is on the disk
    before it takes the old one's place.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     target = Path(folder, "note.txt")
    ...     with replacing(target) as temporary:
    ...         _ = temporary.write_text("done")
    ...     [path.name for path in Path(folder).iterdir()]
    ['note.txt']
    """
    target = path.resolve()  # A link stays, and leads to the new file.
    remove_leftovers(target.parent)
    with _refused(path), _locked_file(target) as temporary:
        try:
            yield temporary
            if target.exists():
                copymode(target, temporary)
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(target.parent)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of processes that were killed.

    Parameters
    ----------
    folder : Path
        Files in it that are being written stay, and so do those that cannot be removed.
    """
    if sys.platform == "win32":
        return
    with suppress(OSError):
        for path in folder.glob(f"{_PREFIX}*"):
            with suppress(OSError):
                _remove_if_unlocked(path)


@contextmanager
def _refused(path: Path) -> Iterator[None]:
    """Turn the error of a full disk into one that names the file that was to be written."""
    try:
        yield
    except OSError as error:
        if error.errno not in {EDQUOT, EFBIG, ENOSPC}:
            raise
        raise InputError(f"cannot write {path}: {error.strerror}") from error


@contextmanager
def _locked_file(path: Path) -> Iterator[Path]:
    """Create an empty file beside another, and lock it while the block runs."""
    temporary, fd = _created(path)
    if sys.platform == "win32":
        os.close(fd)
        yield temporary
        return
    try:
        yield temporary
    finally:
        os.close(fd)


def _created(path: Path) -> tuple[Path, int]:
    """Create an empty file beside another, with its last suffixes, and lock it."""
    suffixes = "".join(path.suffixes[-2:])[-40:]  # Long names fail.
    while True:
        temporary = path.with_name(f"{_PREFIX}{token_hex(8)}{suffixes}")
        try:
            fd = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from error
        if sys.platform == "win32":
            return temporary, fd
        with suppress(OSError):  # Some network file systems have no locks.
            fcntl.flock(fd, fcntl.LOCK_EX)
        # Another process may have removed the file before it was locked.
        if _is_same(temporary, fd):
            return temporary, fd
        os.close(fd)


def _remove_if_unlocked(path: Path) -> None:
    fd = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_same(path, fd):
            path.unlink()
    finally:
        os.close(fd)


def _is_same(path: Path, fd: int) -> bool:
    """Whether a path leads to the open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(fd))
    except FileNotFoundError:
        return False


def _sync_folder(folder: Path) -> None:
    """Bring a change of names to the disk, where the system can."""
    with suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def check_outputs(*outputs: Path | None, inputs: tuple[Path, ...] = ()) -> None:
    """Check that output files can be written and overwrite no other file of the command.

    Parameters
    ----------
    *outputs : Path or None
        The files to be written; None for one that was not requested.
    inputs : tuple of Path
        Files that are read.

    Raises
    ------
    InputError
        If the folder of an output is missing or not writable, the output is a folder, a device or
        read-only, or it is named twice or also an input.
    """
    taken = {path.resolve() for path in inputs}
    for path in filter(None, outputs):
        if not path.parent.is_dir():
            raise InputError(f"the folder {path.parent} for {path.name} does not exist")
        if path.is_dir():
            raise InputError(f"{path} is a folder; name a file to write")
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is a device or a pipe; name a file to write")
        if not os.access(path.resolve().parent, os.W_OK):
            raise InputError(f"the folder {path.resolve().parent} is not writable")
        if path.exists() and not os.access(path, os.W_OK):
            raise InputError(f"{path} is read-only")
        if path.resolve() in taken:
            raise InputError(f"{path} would overwrite another file of this command")
        taken.add(path.resolve())
        remove_leftovers(path.resolve().parent)


def save_model(model: Pipeline, path: Path) -> None:
    """Write a fitted model; an interruption leaves the old file or the new one."""
    with replacing(path) as temporary:
        mercer.save(model, temporary)


def load_model(path: Path) -> Pipeline:
    """Read a model written by `save_model`.

    Raises
    ------
    InputError
        If the file is missing, is not such a model, or holds types that are not trusted, in which
        case nothing is loaded.
    """
    if not path.is_file():
        raise InputError(f"there is no model file {path}")
    try:
        model = mercer.load(path)
    except ValueError as error:
        raise InputError(str(error)) from error
    if not (isinstance(model, Pipeline) and hasattr(model, "feature_names_in_")):
        raise InputError(f"{path} holds a {type(model).__name__}, not a model of mercer fit")
    return model
