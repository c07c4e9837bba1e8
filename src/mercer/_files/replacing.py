"""Files that are replaced only by complete files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from shutil import copymode


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder, and rename it to `path` when the block succeeds.

    Parameters
    ----------
    path : Path
        The file to create or to replace. It remains unchanged if the block raises an exception or
        if the process is killed. If two processes write it at the same time, the later one
        prevails.

    Yields
    ------
    Path
        An empty file with the same suffixes, whose name begins with ``.mercer-``.

    Raises
    ------
    OSError
        If the file cannot be written or may not be replaced.
    ValueError
        If `path` is a device or a pipe.

    Notes
    -----
    The new file is flushed to the disk before it replaces the old one.

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
    target = path.resolve()  # A symbolic link is kept, and points to the new file.
    if target.exists():
        if not (target.is_file() or target.is_dir()):
            raise ValueError(f"{path} is a device or a pipe; name a file to write")
        target.open("rb+").close()  # A file that may not be changed is not replaced, either.
    suffixes = "".join(target.suffixes[-2:])[-40:]  # File systems limit the length of names.
    temporary = target.with_name(f".mercer-{token_hex(8)}{suffixes}")
    try:
        temporary.touch(exist_ok=False)
        yield temporary
        if target.exists():
            copymode(target, temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        if error.filename == str(temporary):
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        temporary.unlink(missing_ok=True)
