"""Archives of models: members, sizes and described objects are checked before any is loaded."""

import json
import math
from collections.abc import Callable
from typing import IO, Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np

SCHEMA = "schema.json"
"""The member of an archive that describes the objects; the others hold arrays."""

_MAX_SCHEMA = 2**27
"""A schema of more bytes is refused. Two thousand objects take one megabyte."""

_MAX_VALUES = 5_000_000
"""A schema with more values is refused. Each takes up to a hundred bytes in memory."""

_MAX_OBJECTS = 200_000
"""A schema with more objects is refused. Each takes a few thousand bytes in memory."""


def check_archive(archive: ZipFile, size: int, is_trusted: Callable[[str], bool]) -> None:
    """Check the members of an archive, without inflating or loading any.

    Parameters
    ----------
    archive : ZipFile
    size : int
        Number of bytes of the file.
    is_trusted : callable
        It says whether objects of a type, given by its full name, may be loaded.

    Raises
    ------
    ValueError
        If a member is compressed, given twice, or no array; if members overlap; if an array is not
        as long as its header says or would be inflated to much more memory; or see `check_schema`.
    """
    members = archive.infolist()
    names = [member.filename for member in members]
    if SCHEMA not in names or len(set(names)) < len(names):
        raise ValueError("its list of members is not that of a model")
    if any(member.compress_type != ZIP_STORED or member.flag_bits & 1 for member in members):
        raise ValueError("its members are compressed or encrypted, which those of a model are not")
    if sum(member.file_size for member in members) > size:
        raise ValueError("its members are longer than the file")
    for member in members:
        with archive.open(member) as file:
            if member.filename == SCHEMA:
                _check_length(member.file_size)
                check_schema(file.read(), is_trusted)
            elif member.filename.endswith(".npy"):
                _check_array(file, member.file_size)
            elif member.filename.endswith(".npz"):
                _check_compressed(file, member.file_size)
            else:
                raise ValueError(f"it holds a member that is no array, {member.filename!r}")


def _check_length(n_bytes: int) -> None:
    if n_bytes > _MAX_SCHEMA:
        raise ValueError("the description of its objects is too long")


def _check_compressed(file: IO[bytes], size: int, inflation: int = 20, small: int = 2**26) -> None:
    """Check the sizes of a sparse array, which is an archive of compressed arrays.

    They may inflate to a multiple of their size, and to a small number of bytes more. Sparse arrays
    of data inflate two- to tenfold.
    """
    with ZipFile(file) as inner:
        members = inner.infolist()
        if sum(member.file_size for member in members) > small + inflation * size:
            raise ValueError("its members inflate to many times their size")
        if sum(member.compress_size for member in members) > size:
            raise ValueError("its members overlap")
        for member in members:
            with inner.open(member) as array:
                _check_array(array, member.file_size)


def _check_array(file: IO[bytes], size: int) -> None:
    """Check that an array in NumPy's format is as long as its header says."""
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    version = np.lib.format.read_magic(file)
    if version not in read:
        raise ValueError(f"it holds an array of version {version} of NumPy's format")
    shape, _, dtype = read[version](file)
    if dtype.hasobject or dtype.itemsize * math.prod(shape) != size - file.tell():
        raise ValueError("an array in it is not as long as its header says")


def check_schema(text: bytes, is_trusted: Callable[[str], bool]) -> None:
    """Check the description of the objects in an archive.

    Parameters
    ----------
    text : bytes
    is_trusted : callable
        It says whether objects of a type, given by its full name, may be loaded.

    Raises
    ------
    UntrustedTypesError
        If there are objects of other types.
    ValueError
        If there are very many objects; if objects are given in part, contain themselves, or share a
        file, as skops writes none and a short description could stand for any number of them.
    """
    _check_length(len(text))
    if text.count(b",") > _MAX_VALUES or text.count(b"__loader__") > _MAX_OBJECTS:
        raise ValueError("it describes too many objects")
    schema = json.loads(text)
    # The loaders of older protocols of skops exist for old files only.
    if not isinstance(schema, dict) or schema.get("protocol", -1) < 2:
        raise ValueError("it is written in no protocol of models")
    objects = _Objects()
    objects.visit(schema)
    untrusted = sorted(name for name in objects.types if not is_trusted(name))
    if untrusted:
        raise UntrustedTypesError(untrusted)


class UntrustedTypesError(ValueError):
    """An archive holds objects of types that are not trusted.

    Parameters
    ----------
    types : list of str
        Their full names.
    """

    def __init__(self, types: list[str]) -> None:
        super().__init__(f"it holds types that are not trusted, {', '.join(map(repr, types[:8]))}")


class _Objects:
    """The types of the objects that a schema describes.

    Attributes
    ----------
    types : set of str
    """

    def __init__(self) -> None:
        self.types: set[str] = set()
        self._sizes: dict[Any, int] = {}
        self._open: set[Any] = set()
        self._owners: dict[Any, Any] = {}

    def visit(self, value: Any) -> int:
        """Add a value's objects, and return how many values it contains."""
        if isinstance(value, list):
            return 1 + sum(map(self.visit, value))
        if not isinstance(value, dict):
            return 1
        if "__loader__" not in value:
            return 1 + sum(map(self.visit, value.values()))
        return self._visit_object(value)

    def _visit_object(self, described: dict[str, Any]) -> int:
        if described["__loader__"] != "JsonNode":
            self.types.add(f"{described['__module__']}.{described['__class__']}")
        key = described.get("__id__")
        if key is not None and key in self._open:
            raise ValueError("an object in it contains itself")
        if "file" in described and self._owners.setdefault(described["file"], key) != key:
            raise ValueError("objects in it share an array")
        self._open.add(key)
        size = 1 + sum(map(self.visit, described.values()))
        self._open.discard(key)
        if key is not None and size < self._sizes.setdefault(key, size):
            raise ValueError("an object in it is described in part")
        return size
