"""Files written aside and renamed, so that an interrupted run leaves none half-written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mercer._cli.errors import InputError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; rename it when the block ends well.

    Parameters
    ----------
    path : Path
        The file to write or to replace.

    Yields
    ------
    Path
        In the same folder, with the same suffixes.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     target = Path(folder, "note.txt")
    ...     with replacing(target) as aside:
    ...         _ = aside.write_text("done")
    ...     [path.name for path in Path(folder).iterdir()]
    ['note.txt']
    """
    aside = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        yield aside
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def check_outputs(*outputs: Path | None, inputs: tuple[Path, ...] = ()) -> None:
    """Refuse, before any work, output files that cannot be written or would destroy another file.

    Parameters
    ----------
    *outputs : Path or None
        The files to be written; None for one that was not asked for.
    inputs : tuple of Path
        Files that are read, and must survive.

    Raises
    ------
    InputError
        If an output's folder is missing, the output is a folder, the place is not writable, or
        the file is named twice or is an input.
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
