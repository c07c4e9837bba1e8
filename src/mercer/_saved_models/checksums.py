"""Checksums of archives: a zip file's comment ends with a digest of all bytes before it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import BinaryIO
from zipfile import ZipFile

_LABEL = b"mercer model, version 1; SHA-256 of all bytes before these 64 digits: "
"""The comment begins with this."""

_N_DIGITS = 64
"""A SHA-256 digest has this many hexadecimal digits."""

_CHUNK = 2**20
"""Files are read in parts of this many bytes."""


def add_checksum(path: Path) -> None:
    """Add its checksum to a zip file, which remains one."""
    with ZipFile(path, "a") as archive:
        archive.comment = _LABEL + b"0" * _N_DIGITS
    with path.open("rb+") as file:
        digest = _digest(file, path.stat().st_size - _N_DIGITS)
        file.seek(-_N_DIGITS, os.SEEK_END)
        file.write(digest)


def check_checksum(file: BinaryIO) -> None:
    """Check that a file ends with its checksum.

    Parameters
    ----------
    file : binary file
        It is at its first byte afterwards.

    Raises
    ------
    ValueError
        If there is no checksum, or it is that of other bytes.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _N_DIGITS - len(_LABEL)))
    label, found = file.read(len(_LABEL)), file.read()
    if label != _LABEL:
        raise ValueError("it does not end with the checksum of a saved model")
    if _digest(file, size - _N_DIGITS) != found:
        raise ValueError("its checksum is that of other bytes: the file is damaged or was changed")
    file.seek(0)


def _digest(file: BinaryIO, n_bytes: int) -> bytes:
    """Return the digest of the first bytes of a file."""
    total = hashlib.sha256()
    file.seek(0)
    while n_bytes > 0 and (chunk := file.read(min(n_bytes, _CHUNK))):
        total.update(chunk)
        n_bytes -= len(chunk)
    return total.hexdigest().encode()
