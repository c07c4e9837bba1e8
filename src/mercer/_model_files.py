"""Models on disk: archives of skops with a checksum, whose contents are checked before loading."""

import hashlib
import json
import math
import os
import sys
from collections.abc import Callable
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import IO, Any, BinaryIO
from zipfile import ZIP_STORED, ZipFile, is_zipfile

import numpy as np

from mercer._gram.tiles import available_memory
from mercer._model_types import check_fitted, compiled_losses, is_trusted, prepare, trusted_types
from mercer._validation import warn


def save(model: Any, path: str | PathLike[str]) -> None:
    """Save a fitted model to a file that `load` reads.

    The extra ``cli`` has to be installed.

    Parameters
    ----------
    model : estimator
        An estimator of mercer, or a pipeline of scikit-learn that ends in one.
    path : str or path-like
        The file, which is replaced if it exists.

    Raises
    ------
    ModuleNotFoundError
        If skops is not installed.
    ValueError
        If the model holds types that are not trusted, so that it could not be loaded again.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import mercer
    >>> from mercer.datasets import make_sine
    >>> X, y = make_sine(40, random_state=0)
    >>> model = mercer.TwoStageClassifier(C=1.0).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     mercer.save(model, Path(folder, "model.skops"))
    ...     mercer.load(Path(folder, "model.skops"))
    TwoStageClassifier(C=1.0)
    """
    from skops.io import dumps

    path = Path(path)
    _write_compactly(dumps(model), path)
    with path.open("rb") as file:
        _check(file)
    add_checksum(path)


def load(path: str | PathLike[str]) -> Any:
    """Load a model that `save` or ``mercer fit --out`` saved.

    Files that skops itself wrote are refused: load one that you trust by ``skops.io.load``, and
    save its model by `save`. The extra ``cli`` has to be installed. Nothing but types of mercer,
    and of scikit-learn as far as they are trusted, is loaded.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator
        The fitted model. That of the command is a pipeline, whose ``predict`` takes a data frame
        with the columns of the training table, of text or of types, in any order. Where the target
        is a date, it returns days since 1970.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    MemoryError
        If its arrays do not fit into memory.
    ModuleNotFoundError
        If skops is not installed.
    ValueError
        If the file is not such a model, is damaged or was changed, or holds types that are not
        trusted, in which case nothing is loaded.

    Warns
    -----
    UserWarning
        If another version of mercer saved it.

    Notes
    -----
    A checksum finds accidents. Others can compute a new one, so that contents are checked as well:
    sizes before anything is inflated, types by name before anything is loaded, indices before use.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import mercer
    >>> from mercer.datasets import make_sine
    >>> X, y = make_sine(40, random_state=0)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.skops")
    ...     mercer.save(mercer.TwoStageClassifier(C=1.0).fit(X, y), path)
    ...     mercer.load(path)
    TwoStageClassifier(C=1.0)
    """
    from skops import io

    path, other = Path(path), ""
    with path.open("rb") as file:
        try:
            check_checksum(file)
            other = _other_version(file)
            _check(file)
            file.seek(0)
            with compiled_losses():
                model = io.load(file, trusted=list(trusted_types()))
            check_fitted(model)
            prepare(model)
        except UntrustedTypesError as error:
            raise ValueError(f"{path} is not loaded: {error}{other}") from error
        except (MemoryError, ImportError):
            raise
        except Exception as error:
            reason = _reason(error) + other
            raise ValueError(f"{path} is not a model of mercer fit: {reason}") from error
    if other:
        warn(f"{path} may not predict, or not as it did{other}. Fit the model anew.")
    return model


def _write_compactly(content: bytes, path: Path) -> None:
    """Write an archive without the indentation of its schema, which is two thirds of it."""
    with ZipFile(BytesIO(content)) as archive, ZipFile(path, "w", ZIP_STORED) as written:
        for name in archive.namelist():
            found: bytes | str = archive.read(name)
            if name == _SCHEMA:
                found = json.dumps(json.loads(found), separators=(",", ":"))
            written.writestr(name, found)


def _check(file: BinaryIO, n_copies: int = 2) -> None:
    """Check an archive before it is loaded, which has arrays in memory twice."""
    size, available = file.seek(0, os.SEEK_END), available_memory()
    if available is not None and n_copies * size > available:
        raise MemoryError(f"a model of {size:,} bytes takes more memory than there is")
    file.seek(0)
    with ZipFile(file) as archive:
        check_archive(archive, size, is_trusted)


def _reason(error: Exception) -> str:
    first = str(error).strip().partition("\n")[0]
    own = type(error) is ValueError and first
    return first if own else f"{type(error).__name__}{': ' if first else ''}{first}"


_SCHEMA = "schema.json"
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
    if _SCHEMA not in names or len(set(names)) < len(names):
        raise ValueError("its list of members is not that of a model")
    if any(member.compress_type != ZIP_STORED or member.flag_bits & 1 for member in members):
        raise ValueError("its members are compressed or encrypted, which those of a model are not")
    if sum(member.file_size for member in members) > size:
        raise ValueError("its members are longer than the file")
    for member in members:
        with archive.open(member) as file:
            if member.filename == _SCHEMA:
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


_LABEL = b"mercer model, version 1; SHA-256 of all bytes before these 64 digits: "
"""The comment begins with this."""

_N_DIGITS = len(hashlib.sha256().hexdigest())
"""Number of hexadecimal digits of a digest."""


def add_checksum(path: Path) -> None:
    """Add the version of mercer and its checksum to a zip file, which remains one."""
    with ZipFile(path, "a") as archive:
        archive.comment = _made_by() + _LABEL + b"0" * _N_DIGITS
    with path.open("rb+") as file:
        digest = _digest(file, path.stat().st_size - _N_DIGITS)
        file.seek(-_N_DIGITS, os.SEEK_END)
        file.write(digest)


def _made_by() -> bytes:
    return f"mercer {sys.modules['mercer'].__version__}; ".encode()


def _other_version(file: BinaryIO) -> str:
    """What messages say where another version has saved the file; empty for this version."""
    with ZipFile(file) as archive:
        found, own = archive.comment[: -len(_LABEL) - _N_DIGITS], _made_by()
    first, second = (part.decode("ascii", "replace").rstrip("; ") for part in (found, own))
    return f" (saved by {first[:40]}, this is {second})" if found not in (b"", own) else ""


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
        told = "it does not end with the checksum of a saved model"
        if is_zipfile(file):
            told += (
                "; if it is a file of skops that you trust, load it with skops.io.load, and save "
                "the model with mercer.save"
            )
        raise ValueError(told)
    if _digest(file, size - _N_DIGITS) != found:
        raise ValueError("its checksum is that of other bytes: the file is damaged or was changed")
    file.seek(0)


def _digest(file: BinaryIO, n_bytes: int, chunk_size: int = 2**20) -> bytes:
    """Return the digest of the first bytes of a file, which is read in chunks."""
    total = hashlib.sha256()
    file.seek(0)
    while n_bytes > 0 and (chunk := file.read(min(n_bytes, chunk_size))):
        total.update(chunk)
        n_bytes -= len(chunk)
    return total.hexdigest().encode()
