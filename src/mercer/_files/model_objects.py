"""The objects of a model, made from their checked description."""

import json
from collections.abc import Callable, Hashable
from functools import cache
from importlib import import_module
from io import BytesIO
from typing import Any

import numpy as np
from scipy.sparse import load_npz

from mercer._data.types import Array
from mercer._files.model_archives import Members, as_array
from mercer._files.model_schema import Described, full_name


@cache
def named(name: str) -> type | Callable[..., object]:
    """Import a type or a function by its full name.

    Parameters
    ----------
    name : str
    """
    module, _, own = name.rpartition(".")
    return getattr(import_module(module), own)


class MadeObjects:
    """Objects by identifier. Each object is created once.

    Parameters
    ----------
    members : Members
        Members of the archive.
    """

    def __init__(self, members: Members) -> None:
        self._members = members
        self._known: dict[int, object] = {}

    def of(self, described: Described) -> Any:
        """Create an object and everything that it contains.

        Parameters
        ----------
        described : dict
            An object of a checked description; see :func:`mercer._files.model_schema.read_schema`.

        Returns
        -------
        object
        """
        key = described["__id__"]
        if (made := self._known.get(key, self)) is self:
            made = self._known[key] = self._made(described)
        return made

    def _made(self, described: Described) -> Any:
        content = described.get("content")
        match described["__loader__"]:
            case "JsonNode":
                return json.loads(described["content"])
            case "ListNode":
                return self._all(described["content"])
            case "TupleNode":
                return tuple(self._all(described["content"]))
            case "DictNode":
                return self._dictionary(described)
            case "TypeNode":
                return named(full_name(described))
            case "ObjectNode":
                return self._object(named(full_name(described)), content)
            case "NdArrayNode" if described["type"] == "json":
                return _filled(self._all(described["content"]), self.of(described["shape"]))
            case "NdArrayNode":
                found = as_array(self._members.read(described["file"]))
                return found if described["__class__"] == "ndarray" else found[()]
            case "SparseMatrixNode":
                return load_npz(BytesIO(self._members.read(described["file"])))
            case "MaskedArrayNode":
                parts = described["content"]
                return np.ma.MaskedArray(self.of(parts["data"]), self.of(parts["mask"]))
            case "DTypeNode":
                return self.of(described["content"]).dtype
            case "SliceNode":
                ends = described["content"]
                return slice(ends["start"], ends["stop"], ends["step"])
        raise AssertionError(described["__loader__"])

    def _all(self, content: list[Described]) -> list[object]:
        return [self.of(part) for part in content]

    def _dictionary(self, described: Described) -> dict[Hashable, object]:
        pairs = zip(self.of(described["key_types"]), described["content"].items(), strict=True)
        return {
            (json.loads(key) if kind is bool else kind(key)): self.of(part)
            for kind, (key, part) in pairs
        }

    def _object(self, kind: Any, content: Described | None) -> object:
        made = kind.__new__(kind)
        if content is not None:
            state = self.of(content)
            if hasattr(made, "__setstate__"):
                made.__setstate__(state)
            else:
                made.__dict__.update(state)
        return made


def _filled(parts: list[Any], shape: tuple[int, ...]) -> Array:
    """Return an array of the objects in nested lists, which hold the array row by row."""
    for size in shape[1:]:
        if any(type(row) is not list or len(row) != size for row in parts):
            raise ValueError("an array of objects in it has rows of other lengths than its shape")
        parts = [part for row in parts for part in row]
    array = np.empty(shape, dtype=object)
    for place, part in zip(np.ndindex(shape), parts, strict=True):
        array[place] = part
    return array
