"""Archives of models, taken apart, changed, and given a valid checksum, as an attacker would."""

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np
import pytest

import mercer
from mercer._files.model_files import _described, _write_compactly, add_checksum

Members = dict[str, bytes]


def members_of(path: Path) -> Members:
    """The names and contents of an archive's members, in order."""
    with ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_members(members: Members, path: Path, compression: int = ZIP_STORED) -> None:
    """Write an archive with its checksum."""
    with ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    add_checksum(path)


def write_unchecked(model: Any, path: Path) -> None:
    """Write a file that `mercer.save` would refuse to write."""
    _write_compactly(*_described(model), path)
    add_checksum(path)


def with_checksum(path: Path) -> None:
    """Replace the last 64 bytes of a file, which are left out, by its checksum."""
    data = path.read_bytes()
    path.write_bytes(data + hashlib.sha256(data).hexdigest().encode())


def with_schema(path: Path, out: Path, change: Callable[[Any], Any]) -> None:
    """Change the description of a model's objects, and the checksum of the archive."""
    members = members_of(path)
    schema = json.loads(members["schema.json"])
    members["schema.json"] = json.dumps(change(schema) or schema).encode()
    write_members(members, out)


def saved_array(array: Any, shape: tuple[int, ...] | None = None) -> bytes:
    """An array in NumPy's format, whose header may name another shape."""
    file = io.BytesIO()
    header = np.lib.format.header_data_from_array_1_0(np.asarray(array))
    if shape is not None:
        header["shape"] = shape
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + np.asarray(array).tobytes()


def nodes(value: Any) -> list[dict[str, Any]]:
    """All objects that a schema describes."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [value] if isinstance(value, dict) and "__loader__" in value else []
    return own + [node for item in inner for node in nodes(item)]


def saved_and_loaded(model: Any) -> Any:
    """What is loaded from the file of a model."""
    with TemporaryDirectory() as folder:
        mercer.save(model, Path(folder, "model.skops"))
        return mercer.load(Path(folder, "model.skops"))


def refusal(path: Path) -> str:
    """The message about a file that is not loaded."""
    with pytest.raises(ValueError, match=r"changed\.skops is not") as caught:
        mercer.load(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)
