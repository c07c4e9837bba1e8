"""Archives of models, whose members, sizes and descriptions are checked before skops reads them."""

import math
import os
import struct
from io import BufferedReader, BytesIO
from typing import IO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from mercer._files.model_descriptions import Description
from mercer._gram.memory import available_memory

SCHEMA = "schema.json"
"""The member of an archive that describes the objects; the other members hold arrays."""

_MAX_MEMBERS = 20_000
"""An archive with more members is rejected before they are listed."""

_INFLATION = 20
"""The sparse matrices of a model may inflate to this multiple of their compressed size. Matrices of
real data inflate two- to tenfold."""

_SMALL = 2**26
"""Sparse matrices may inflate by this many bytes in total beyond `_INFLATION`."""

_SPARSE_PARTS = {"indices.npy", "indptr.npy", "format.npy", "shape.npy", "data.npy"}
"""Members of the inner archive that holds a sparse matrix."""


def checked_archive(file: BufferedReader, n_copies: int = 2) -> Description:
    """Check an archive, and that memory suffices for `n_copies` of it, before creating objects.

    Parameters
    ----------
    file : binary file
    n_copies : int, default=2

    Returns
    -------
    Description

    Raises
    ------
    MemoryError
        If the archive takes more memory than is available.
    ValueError
        If a member is compressed, encrypted, contained twice, missing or no array; if the length of
        an array does not match its header; if sparse matrices inflate to many times their size; or
        if the description of the objects is not that of a model.
    """
    size = file.seek(0, os.SEEK_END)
    members = _listed(file, _MAX_MEMBERS, ZIP_STORED)
    if SCHEMA not in members or sum(one.file_size for one in members.values()) > size:
        raise ValueError("its list of members is not that of a model")
    _check_memory(n_copies * size)
    with ZipFile(file) as archive:
        description = Description(archive.read(SCHEMA))
        others = sorted(members.keys() ^ {SCHEMA, *description.arrays})
        if others:
            raise ValueError(
                f"it lacks a member, or holds one that is no array, {others[0][:80]!r}"
            )
        inflated, sparse = 0, [name for name in description.arrays if name.endswith(".npz")]
        allowance = _SMALL + _INFLATION * sum(members[name].file_size for name in sparse)
        for name, type_name in description.arrays.items():
            if name in sparse:
                inflated += _check_sparse(archive.read(name), allowance - inflated)
            else:
                with archive.open(name) as part:
                    _check_array(part, members[name].file_size, size, type_name)
    _check_memory(n_copies * (size + inflated))
    return description


def _check_memory(n_bytes: int) -> None:
    available = available_memory()
    if available is not None and n_bytes > available:
        raise MemoryError(f"a model of {n_bytes:,} bytes takes more memory than there is")


def _listed(file: IO[bytes], most: int, *compressions: int) -> dict[str, ZipInfo]:
    """Return the members of an archive by name."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 1024))
    before, _, end = file.read().rpartition(b"PK\5\6")
    if len(end) < 18:
        raise ValueError("it does not end with a list of members")
    n_members, n_bytes = struct.unpack("<HL", end[6:12])
    # In long archives, this mark announces another list that replaces this one.
    is_long = before[-20:-16] == b"PK\6\7"
    if n_members > most or n_bytes > 200 * most or (is_long and size < 2**31):
        raise ValueError("it has too many members")
    with ZipFile(file) as archive:
        found = archive.infolist()
    if len({member.filename for member in found}) < len(found):
        raise ValueError("it has two members of one name")
    if any(one.flag_bits & ~0x800 or one.compress_type not in compressions for one in found):
        raise ValueError("its members are encrypted or compressed in other ways than a model's")
    return {member.filename: member for member in found}


def _check_sparse(content: bytes, allowance: int) -> int:
    """Check the parts of a sparse matrix, and return the number of bytes when inflated."""
    file = BytesIO(content)
    members = _listed(file, len(_SPARSE_PARTS), ZIP_STORED, ZIP_DEFLATED)
    if members.keys() != _SPARSE_PARTS:
        raise ValueError("a sparse matrix in it has other parts than those of models")
    inflated = sum(member.file_size for member in members.values())
    if inflated > allowance:
        raise ValueError("its sparse matrices inflate to many times their size")
    with ZipFile(file) as archive:
        for name, member in members.items():
            with archive.open(name) as part:
                _check_array(part, member.file_size, inflated + len(content), "numpy.ndarray")
    return inflated


def _check_array(file: IO[bytes], length: int, largest: int, type_name: str) -> None:
    """Check the length and the type of an array in NumPy's format."""
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("it holds an array in another format than NumPy's first")
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.kind not in "biufSUmM" or dtype.itemsize == 0:
        raise ValueError("it holds an array of a type that models lack")
    n_bytes = dtype.itemsize * math.prod(shape)
    if n_bytes != length - file.tell() or max(shape, default=0) > largest:
        raise ValueError("an array in it is not as long as its header says")
    is_number = type_name != "numpy.ndarray"
    if is_number and (shape or type_name != f"numpy.{dtype.type.__name__}"):
        raise ValueError("a number in it is of another type than its object")
