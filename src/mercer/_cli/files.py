"""Output files: checked before any work, and written without leaving half of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mercer._cli.errors import InputError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder, and rename it to `path` when the block succeeds.

    Parameters
    ----------
    path : Path
        The file to create or to replace. It stays as it was if the block raises an exception.

    Yields
    ------
    Path
        It has the same suffixes.

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
    temporary = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


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
        If the folder of an output is missing or not writable, the output is a folder, or it is
        named twice or also an input.
    """
    taken = {path.resolve() for path in inputs}
    for path in filter(None, outputs):
        if not path.parent.is_dir():
            raise InputError(f"the folder {path.parent} for {path.name} does not exist")
        if path.is_dir():
            raise InputError(f"{path} is a folder; name a file to write")
        if not os.access(path.parent, os.W_OK):
            raise InputError(f"the folder {path.parent} is not writable")
        if path.resolve() in taken:
            raise InputError(f"{path} would overwrite another file of this command")
        taken.add(path.resolve())
