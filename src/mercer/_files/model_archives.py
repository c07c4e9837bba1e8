"""Archives of models, whose members and sizes are checked before any member is loaded."""

import math
import os
import re
import struct
import sys
import zlib
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from typing import IO, Literal
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from mercer._data.types import Array
from mercer._files.model_schema import StoredArray

SCHEMA = "schema.json"
"""The member of an archive that describes the objects; the other members hold arrays."""

_MAX_MEMBERS = 20_000
"""An archive with more members is rejected before they are listed."""

_INFLATION = 20
"""The sparse matrices of a model may inflate to this multiple of their compressed size. Matrices of
real data inflate two- to tenfold."""

_SMALL = 2**26
"""Sparse matrices may inflate by this many bytes in total beyond `_INFLATION`."""

_CHUNK = 2**20
"""Arrays are read in chunks of this many bytes."""

_SPARSE_PARTS = {"indices.npy", "indptr.npy", "format.npy", "shape.npy", "data.npy"}
"""Members of the inner archive that holds a sparse matrix."""

_HEADER = re.compile(
    r"\{'descr': '([<>|][biufSUmM][1-9]\d{0,8}(?:\[\w{1,9}\])?)', 'fortran_order': (True|False), "
    r"'shape': \(((?:\d{1,18}, ?)*(?:\d{1,18})?)\), \} *\n",
    re.ASCII,
)
"""Header of an array of numbers, times or texts in NumPy's format. Objects and records do not
match. Neither do types of zero bytes, because a short file could hold any number of such values."""

_MAY_LACK_VALUES = frozenset(
    {
        *("X_fit_", "X", "rows", "centers", "given", "scaled", "quantiles", "_quantile_means"),
        *("unclipped", "threshold", "statistics_", "frequencies"),
        *("mean_test_score", "std_test_score", "values", "predictions"),
    }
)
"""Names of arrays that may hold missing or infinite values: tables of rows and statistics of their
columns, thresholds that only missing values exceed, scores of failed fits, and left-out predictions
of rows that no fold holds out."""


@dataclass
class Members:
    """The members of an archive by name.

    Attributes
    ----------
    file : binary file
    places : dict of str to (int, int, int)
        Start, length and checksum of the content of each member.
    """

    file: BufferedReader
    places: dict[str, tuple[int, int, int]]

    def read(self, name: str) -> bytearray:
        """Read the content of a member and verify its checksum.

        Parameters
        ----------
        name : str
        """
        start, length, checksum = self.places[name]
        content = bytearray(length)
        self.file.seek(start)
        self.file.readinto(content)
        if zlib.crc32(content) != checksum:
            raise ValueError(f"the checksum of its member {name!r} is that of other bytes")
        return content


def members_of(file: BufferedReader) -> Members:
    """List the members of an archive.

    Parameters
    ----------
    file : binary file

    Raises
    ------
    ValueError
        If a member is compressed, encrypted or contained twice, if members overlap, or if some
        bytes belong to no member.
    """
    members = _listed(file, _MAX_MEMBERS)
    if all(member.filename != SCHEMA for member, _ in members):
        raise ValueError("its list of members is not that of a model")
    if any(member.compress_type != ZIP_STORED for member, _ in members):
        raise ValueError("its members are compressed, which those of a model are not")
    places = {member.filename: (start, member.file_size, member.CRC) for member, start in members}
    return Members(file, places)


def _listed(file: IO[bytes], most: int) -> list[tuple[ZipInfo, int]]:
    """Return the members and where their contents begin, after checking that there are no gaps."""
    _check_end(file, most)
    with ZipFile(file) as archive:
        listed = archive.infolist()
        start_of_list = archive.start_dir
    if len({member.filename for member in listed}) < len(listed):
        raise ValueError("it has two members of one name")
    found, end = [], 0
    for member in sorted(listed, key=lambda member: member.header_offset):
        if member.flag_bits & ~0x800 or member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise ValueError("its members are encrypted or compressed in other ways than a model's")
        file.seek(end)
        header = file.read(30)
        if member.header_offset != end or len(header) < 30:
            raise ValueError("its members do not follow each other")
        start = end + 30 + sum(struct.unpack("<HH", header[26:]))
        end = start + member.compress_size
        if member.compress_type == ZIP_STORED and member.file_size != member.compress_size:
            raise ValueError("its members are longer than the file")
        found.append((member, start))
    if end != start_of_list:
        raise ValueError("its members overlap, or are longer than the file")
    return found


def end_of(file: IO[bytes]) -> tuple[bytes, bytes]:
    """Return the last bytes of an archive, split at the record that follows its list of members.

    Parameters
    ----------
    file : binary file
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 1024))
    before, mark, rest = file.read().rpartition(b"PK\5\6")
    return before, mark + rest


def _check_end(file: IO[bytes], most: int) -> None:
    """Check that a file ends with a list of members that is not too long."""
    before, end = end_of(file)
    if len(end) < 22:
        raise ValueError("it does not end with a list of members")
    _, _, _, n_members, n_bytes, _, n_comment = struct.unpack("<4H2LH", end[4:22])
    if len(end) - 22 != n_comment:
        raise ValueError("its list of members does not end with the file")
    # In long archives, this mark announces another list that replaces this one.
    is_long = before[-20:-16] == b"PK\6\7"
    is_short = file.seek(0, os.SEEK_END) < 2**31
    if n_members > most or n_bytes > 200 * most or (is_long and is_short):
        raise ValueError("it has too many members")


def check_arrays(members: Members, arrays: dict[str, set[StoredArray]]) -> int:
    """Check the members that hold arrays without loading them.

    Parameters
    ----------
    members : Members
    arrays : dict of str to set of StoredArray
        Types and names of each array, according to the objects to which it belongs.

    Returns
    -------
    int
        Number of bytes to which sparse matrices inflate.

    Raises
    ------
    ValueError
        If a member is missing or is not an array; if the length of an array does not match its
        header, its type differs from that of its object, or it holds missing or infinite values
        that are not allowed, or numbers that are no characters; or if sparse matrices inflate to
        much more memory.
    """
    others = sorted(members.places.keys() ^ {SCHEMA, *arrays})
    if others:
        raise ValueError(f"it lacks a member, or holds one that is no array, {others[0][:80]!r}")
    sparse = [name for name in arrays if name.endswith(".npz")]
    size = members.file.seek(0, os.SEEK_END)
    for name in arrays.keys() - set(sparse):
        start, length, _ = members.places[name]
        members.file.seek(start)
        _check_array(members.file, length, size, arrays[name])
    inflated = 0
    allowance = _SMALL + _INFLATION * sum(members.places[name][1] for name in sparse)
    for name in sparse:
        inflated += _check_sparse(members.read(name), allowance - inflated, arrays[name])
    return inflated


def _check_sparse(content: bytearray, allowance: int, uses: set[StoredArray]) -> int:
    """Check the parts of a sparse matrix, and return the number of bytes when inflated."""
    file = BytesIO(content)
    listed = [member for member, _ in _listed(file, len(_SPARSE_PARTS))]
    if {member.filename for member in listed} != _SPARSE_PARTS:
        raise ValueError("a sparse matrix in it has other parts than those of models")
    inflated = sum(member.file_size for member in listed)
    if inflated > allowance:
        raise ValueError("its sparse matrices inflate to many times their size")
    with ZipFile(file) as archive:
        if not archive.read("format.npy").endswith(b"csr"):
            raise ValueError("a sparse matrix in it does not consist of rows")
        for member in listed:
            of = {StoredArray("numpy.ndarray", use.field) for use in uses}
            with archive.open(member) as part:
                _check_array(part, member.file_size, inflated + len(content), of)
    return inflated


def _check_array(file: IO[bytes], length: int, largest: int, uses: set[StoredArray]) -> None:
    """Check the length, the type and the values of an array in NumPy's format."""
    dtype, shape, _, start = _read_header(file)
    n_bytes = dtype.itemsize * math.prod(shape)
    if n_bytes != length - start or max(shape, default=0) > largest:
        raise ValueError("an array in it is not as long as its header says")
    for use in uses:
        if use.type_name != "numpy.ndarray" and (shape or use.type_name != _type_name(dtype)):
            raise ValueError("a number in it is of another type than its object")
    names = {use.field for use in uses if use.type_name == "numpy.ndarray"} - _MAY_LACK_VALUES
    if dtype.kind == "U":
        dtype = np.dtype(f"{dtype.byteorder}u4")  # A text is an array of code points.
    elif dtype.kind != "f" or not names:
        return
    for _ in range(0, n_bytes, _CHUNK):
        numbers = np.frombuffer(file.read(min(_CHUNK, n_bytes)), dtype)
        n_bytes -= numbers.nbytes
        if dtype.kind == "u" and (numbers > sys.maxunicode).any():
            raise ValueError("a text in it holds numbers that are no characters")
        if dtype.kind == "f" and not np.isfinite(numbers).all():
            shown = ", ".join(sorted(repr(name[:40]) for name in names))
            raise ValueError(f"values of {shown} in it are missing or infinite")


def _type_name(dtype: np.dtype[np.generic]) -> str:
    return f"numpy.{dtype.type.__name__}"


def _read_header(
    file: IO[bytes],
) -> tuple[np.dtype[np.generic], tuple[int, ...], Literal["C", "F"], int]:
    """Return the type, shape, order and first byte of an array in NumPy's format."""
    start = file.read(10)
    if start[:8] != b"\x93NUMPY\1\0" or len(start) < 10:
        raise ValueError("it holds an array in another format than NumPy's first")
    length = int.from_bytes(start[8:], "little")
    header = _HEADER.fullmatch(file.read(length).decode("latin1"))
    if header is None:
        raise ValueError("it holds an array of a type that models lack")
    name, is_transposed, sizes = header.groups()
    shape = tuple(int(size) for size in sizes.split(",") if size.strip())
    return np.dtype(name), shape, "F" if is_transposed == "True" else "C", 10 + length


def as_array(content: bytes | bytearray) -> Array:
    """Return the array of a checked member, which shares memory with the content.

    Parameters
    ----------
    content : bytes or bytearray
    """
    dtype, shape, order, start = _read_header(BytesIO(content[:512]))
    return np.ndarray(shape, dtype, content, start, order=order)
