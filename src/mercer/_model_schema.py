"""Descriptions of a model's objects: kinds, names and sizes are checked before any is made."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_MAX_SCHEMA = 2**26
"""A description of more bytes is refused. A thousand objects take 150 kilobytes."""

_MAX_VALUES = 2_000_000
"""A description of more values is refused before it is parsed. Each takes about 150 bytes."""

_MAX_OBJECTS = 200_000
"""A description of more objects is refused before any is made."""

_MAX_DEPTH = 100
"""A description of objects within more objects is refused. Those of models have about twenty."""

_MAX_NUMBER = 2**60
"""Whole numbers by which objects are looked up are less, so that no two have the same hash."""

_OF_EVERY_OBJECT = frozenset({"__class__", "__module__", "__loader__", "__id__"})

_KINDS: dict[str, tuple[frozenset[str], ...]] = {
    kind: tuple(frozenset(keys.split()) for keys in forms)
    for kind, forms in {
        "JsonNode": ("content is_json",),
        "DictNode": ("content key_types",),
        "ListNode": ("content",),
        "TupleNode": ("content",),
        "SliceNode": ("content",),
        "TypeNode": ("",),
        "FunctionNode": ("",),
        "ObjectNode": ("content", ""),
        "NdArrayNode": ("type file", "type content shape"),
        "MaskedArrayNode": ("content",),
        "SparseMatrixNode": ("type file",),
        "DTypeNode": ("content",),
    }.items()
}
"""The kinds of objects that models consist of, and what describes one besides its type."""

_BUILT_IN = {
    "JsonNode": "builtins.str",
    "DictNode": "builtins.dict",
    "ListNode": "builtins.list",
    "TupleNode": "builtins.tuple",
    "SliceNode": "builtins.slice",
    "MaskedArrayNode": "numpy.ma.MaskedArray",
    "DTypeNode": "numpy.dtype",
}
"""The only type of the objects of some kinds."""

KEY_TYPES = tuple(f"builtins.{kind.__name__}" for kind in (str, int, float, bool))
"""Types of the keys of dictionaries."""


class UntrustedTypesError(ValueError):
    """An archive holds objects of types that are not trusted.

    Parameters
    ----------
    types : list of str
        Their full names.
    """

    def __init__(self, types: list[str]) -> None:
        shown = ", ".join(repr(name[:100]) for name in types[:8])
        super().__init__(f"it holds types that are not trusted, {shown}")


class StoredArray(NamedTuple):
    """What is known of an array from the object that it belongs to.

    Attributes
    ----------
    type_name : str
        Full name of its type: an array, a number or a sparse matrix.
    field : str
        The key or the attribute that it is found under.
    """

    type_name: str
    field: str


@dataclass
class Description:
    """The checked description of a model.

    Attributes
    ----------
    root : dict
        As `json` reads it.
    arrays : dict of str to StoredArray
        By the names of their members in the archive.
    """

    root: dict[str, Any]
    arrays: dict[str, set[StoredArray]] = field(default_factory=dict)


def read_schema(
    text: bytes, is_trusted: Callable[[str, str], bool], fits: Callable[[str, list[str]], bool]
) -> Description:
    """Read and check the description of the objects in an archive.

    Parameters
    ----------
    text : bytes
    is_trusted : callable
        It says of a kind ("ObjectNode", "TypeNode", ...) and a full name if such an object may be
        made.
    fits : callable
        It says of the full name of a type and a list of attributes if its objects have these.

    Returns
    -------
    Description

    Raises
    ------
    UntrustedTypesError
        If there are objects of other types.
    ValueError
        If there are very many objects; if one is of a kind that models do not consist of, is
        described in two ways, contains itself, or shares an array with another one.
    """
    if len(text) > _MAX_SCHEMA:
        raise ValueError("the description of its objects is too long")
    # Structure is never escaped, and so is nothing else that is counted here.
    if sum(map(text.count, (b",", b"[", b"{"))) > _MAX_VALUES:
        raise ValueError("it describes too many objects")
    root = json.loads(text.decode("ascii"), object_pairs_hook=_without_repetition)
    # The loaders of older protocols of skops exist for old files only.
    if not isinstance(root, dict) or type(root.get("protocol")) is not int or root["protocol"] != 2:
        raise ValueError("it is written in no protocol of models")
    root = {key: value for key, value in root.items() if key not in ("protocol", "_skops_version")}
    found = Description(root)
    objects = _Objects(found.arrays, is_trusted, fits)
    objects.visit(root, "", 0)
    if objects.untrusted:
        raise UntrustedTypesError(sorted(objects.untrusted))
    return found


def full_name(described: dict[str, Any]) -> str:
    """The name of an object's type, with its module.

    Parameters
    ----------
    described : dict
    """
    return f"{described['__module__']}.{described['__class__']}"


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("its description gives a value twice")
    return found


class _Objects:
    """A walk over all objects of a description.

    Equal objects have equal forms: numbers, which stand for kind, name and forms of all that an
    object contains. An object that is described several times has one form. The objects that are
    made are thus no more than those that are spelled out, in whatever order.
    """

    def __init__(
        self,
        arrays: dict[str, set[StoredArray]],
        is_trusted: Callable[[str, str], bool],
        fits: Callable[[str, list[str]], bool],
    ) -> None:
        self.untrusted: set[str] = set()
        self._arrays, self._is_trusted, self._fits = arrays, is_trusted, fits
        self._known: dict[tuple[str, str], bool] = {}
        self._forms: dict[Any, int] = {}
        self._form_of: dict[int, int] = {}
        self._owners: dict[str, int] = {}
        self._files: dict[int, str] = {}
        self._open: set[int] = set()
        self._count = 0

    def visit(self, described: Any, name: str, depth: int) -> int:
        """Check an object and all that it contains, and return its form.

        Parameters
        ----------
        described : object
        name : str
            The key or the attribute that it is found under.
        depth : int
            Number of objects around it.
        """
        self._count += 1
        if self._count > _MAX_OBJECTS or depth > _MAX_DEPTH:
            raise ValueError("it describes too many objects")
        kind, type_name, key = self._header(described)
        if key in self._open:
            raise ValueError("an object in it contains itself")
        self._open.add(key)
        own, parts = self._own(kind, type_name, described, name)
        inner = tuple(self.visit(part, within or name, depth + 1) for within, part in parts)
        self._open.discard(key)
        form = self._forms.setdefault((kind, type_name, own, inner), len(self._forms))
        if self._form_of.setdefault(key, form) != form:
            raise ValueError("an object in it is described in two ways")
        return form

    def _header(self, described: Any) -> tuple[str, str, int]:
        """Kind, name and number of an object, once its keys are known to be those of the kind."""
        if not isinstance(described, dict):
            raise ValueError("an object in it is not described")
        kind, key = described.get("__loader__"), described.get("__id__")
        if kind not in _KINDS:
            raise ValueError(f"it holds an object of a kind that models lack, {str(kind)[:100]!r}")
        numbered = type(key) is int and abs(key) < _MAX_NUMBER
        if described.keys() - _OF_EVERY_OBJECT not in _KINDS[kind] or not numbered:
            raise ValueError(f"an object in it is not described as those of kind {kind!r} are")
        module, own_name = described.get("__module__"), described.get("__class__")
        if not isinstance(module, str) or not isinstance(own_name, str):
            raise ValueError("an object in it has no type")
        return kind, self._checked_name(kind, full_name(described)), key

    def _checked_name(self, kind: str, name: str) -> str:
        known = self._known.get((kind, name))
        if known is None:
            only = _BUILT_IN.get(kind)
            known = self._is_trusted(kind, name) if only is None else name == only
            self._known[kind, name] = known
        if not known:
            self.untrusted.add(name)
        return name

    def _own(
        self, kind: str, type_name: str, described: dict[str, Any], name: str
    ) -> tuple[Any, Iterable[tuple[str | None, Any]]]:
        """What an object consists of: its own values, and other objects with their names."""
        content = described.get("content")
        if kind == "JsonNode":
            return _scalar(content), ()
        if kind in ("ListNode", "TupleNode"):
            return None, _unnamed(_checked(content, list))
        if kind == "DictNode":
            keys = tuple(_checked(content, dict))
            _check_key_types(described["key_types"], keys)
            return keys, [(None, described["key_types"]), *content.items()]
        if kind == "ObjectNode":
            return None, self._attributes(type_name, content) if content is not None else ()
        if kind == "NdArrayNode" and described["type"] == "json":
            _check_shape(described["shape"], len(_checked(content, list)))
            return None, _unnamed([described["shape"], *content])
        if kind in ("NdArrayNode", "SparseMatrixNode"):
            suffix, form = (".npy", "numpy") if kind == "NdArrayNode" else (".npz", "scipy")
            self._add_array(described, suffix, form, StoredArray(type_name, name))
            return None, ()
        if kind == "DTypeNode":
            return None, _unnamed([_of_kind(content, "NdArrayNode")])
        if kind == "MaskedArrayNode":
            parts = [_of_kind(content.get(part), "NdArrayNode") for part in ("data", "mask")]
            return None, _unnamed(parts)
        if kind == "SliceNode":
            return tuple(_ends(_checked(content, dict))), ()
        return None, ()

    def _attributes(self, type_name: str, content: Any) -> list[tuple[str | None, Any]]:
        names = _checked(_of_kind(content, "DictNode").get("content"), dict)
        if self._known["ObjectNode", type_name] and not self._fits(type_name, list(names)):
            raise ValueError(f"it holds other attributes than those of {type_name!r}")
        return [(None, content)]

    def _add_array(
        self, described: dict[str, Any], suffix: str, form: str, array: StoredArray
    ) -> None:
        file = described.get("file")
        valid = isinstance(file, str) and re.fullmatch(r"[\w-]{1,80}\.np[yz]", file, re.ASCII)
        if not valid or not file.endswith(suffix) or described["type"] != form:
            raise ValueError("an array in it is not described as those of models are")
        key = described["__id__"]
        if self._owners.setdefault(file, key) != key or self._files.setdefault(key, file) != file:
            raise ValueError("objects in it share an array")
        self._arrays.setdefault(file, set()).add(array)


def _unnamed(parts: Iterable[Any]) -> Iterator[tuple[None, Any]]:
    return ((None, part) for part in parts)


def _checked(content: Any, kind: type) -> Any:
    if type(content) is not kind:
        raise ValueError("an object in it has other contents than those of its kind")
    return content


def _of_kind(described: Any, kind: str) -> dict[str, Any]:
    """A part of an object, which is of one kind."""
    if not isinstance(described, dict) or described.get("__loader__") != kind:
        raise ValueError(f"an object in it is not of the kind {kind!r}")
    return described


def _scalar(content: Any) -> str:
    """The text of a value that contains no others."""
    if not isinstance(content, str) or content[:1] in ("", "[", "{", " ", "\t", "\n", "\r"):
        raise ValueError("a value in it is neither text nor a number")
    json.loads(content)
    return content


def _check_key_types(described: Any, keys: tuple[str, ...]) -> None:
    """Check that there is the type of each key of a dictionary, and no other object."""
    types = _checked(_of_kind(described, "ListNode").get("content"), list)
    if len(types) != len(keys):
        raise ValueError("the keys of a dictionary in it are not those that its types are of")
    for part, key in zip(types, keys, strict=True):
        name = full_name({"__module__": "", "__class__": ""} | _of_kind(part, "TypeNode"))
        if name not in KEY_TYPES:
            raise UntrustedTypesError([name])
        if name == "builtins.int" and abs(int(key)) >= _MAX_NUMBER:
            raise ValueError("a key in it is too large a number")


def _check_shape(described: Any, length: int) -> None:
    """Check that an array of objects has as many as its first dimension says."""
    sizes = _checked(_of_kind(described, "TupleNode").get("content"), list)
    numbers = [json.loads(_scalar(_of_kind(size, "JsonNode").get("content"))) for size in sizes]
    if any(type(number) is not int or not 0 <= number <= _MAX_OBJECTS for number in numbers):
        raise ValueError("an array of objects in it has no shape")
    if not numbers or numbers[0] != length:
        raise ValueError("an array of objects in it is not as long as its shape says")


def _ends(content: dict[str, Any]) -> Iterator[int | None]:
    """The numbers of a slice."""
    if content.keys() != {"start", "stop", "step"}:
        raise ValueError("a slice in it has other ends")
    for end in content.values():
        if end is not None and type(end) is not int:
            raise ValueError("a slice in it has ends that are no numbers")
        yield end
