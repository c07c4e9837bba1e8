"""Descriptions of a model's objects, which are checked before any object is created."""

import json
import re
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, TypeVar

_MAX_SCHEMA = 2**25
"""A description with more bytes is rejected. A thousand objects take 150 kilobytes."""

_MAX_VALUES = 1_200_000
"""A description with more values is rejected before parsing. Each takes about 150 bytes."""

_MAX_OBJECTS = 150_000
"""A description with more objects is rejected before any object is created."""

_MAX_DEPTH = 100
"""A description with more levels of nested objects is rejected. Models have about twenty."""

_MAX_NUMBER = 2**60
"""Bound on the integers by which objects are looked up, so that no two have the same hash."""

_MAX_DIGITS = 400
"""A number with more digits is rejected."""

_KINDS: dict[str, tuple[set[str], ...]] = {
    kind: tuple({"__id__", *keys.split()} for keys in forms)
    for kind, forms in {
        "JsonNode": ("content is_json",),
        "DictNode": ("content key_types",),
        "ListNode": ("content",),
        "TupleNode": ("content",),
        "SliceNode": ("content",),
        "TypeNode": ("",),
        "ObjectNode": ("content", ""),
        "NdArrayNode": ("type file", "type content shape"),
        "MaskedArrayNode": ("content",),
        "SparseMatrixNode": ("type file",),
        "DTypeNode": ("content",),
    }.items()
}
"""Kinds of objects in models, and the keys of their descriptions other than the type."""

_BUILT_IN = {
    "JsonNode": "builtins.str",
    "DictNode": "builtins.dict",
    "ListNode": "builtins.list",
    "TupleNode": "builtins.tuple",
    "SliceNode": "builtins.slice",
    "MaskedArrayNode": "numpy.ma.MaskedArray",
    "DTypeNode": "numpy.dtype",
}
"""The type of the objects of a kind, for kinds whose objects all have the same type."""

KEY_TYPES = tuple(f"builtins.{kind.__name__}" for kind in (str, int, float, bool))
"""Types that the keys of dictionaries may have."""


class UntrustedTypesError(ValueError):
    """An archive holds an object of a type that is not trusted.

    Parameters
    ----------
    name : str
        The full name of the type.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"it holds types that are not trusted, {name[:100]!r}")


class StoredArray(NamedTuple):
    """Type and name of an array, according to the object to which it belongs.

    Attributes
    ----------
    type_name : str
        Full name of its type, which is an array, a number or a sparse matrix.
    field : str
        Key or attribute under which it is stored.
    """

    type_name: str
    field: str


Described: TypeAlias = dict[str, Any]
"""An object in a description: its kind, type, identifier and contents."""


@dataclass
class Description:
    """The checked description of a model.

    Attributes
    ----------
    root : dict
        The description as `json` reads it.
    arrays : dict of str to set of StoredArray
        Uses of each array, by the name of its member in the archive.
    """

    root: Described
    arrays: dict[str, set[StoredArray]] = field(default_factory=dict)


def read_schema(
    text: bytes,
    is_trusted: Callable[[str, str], bool],
    unfit: Callable[[str, list[str]], str | None],
) -> Description:
    """Read and check the description of the objects in an archive.

    Parameters
    ----------
    text : bytes
    is_trusted : callable
        Returns, for a kind ("ObjectNode", "TypeNode", ...) and a full name, whether such an object
        may be created.
    unfit : callable
        Returns, for the full name of a type and a list of attributes, an attribute that its objects
        may not have or that they lack, or None.

    Returns
    -------
    Description

    Raises
    ------
    UntrustedTypesError
        If there is an object of a type that is not trusted.
    ValueError
        If there are too many objects, or if an object has a kind that models do not contain, is
        described in two ways, contains itself, or shares an array with another object.
    """
    if len(text) > _MAX_SCHEMA:
        raise ValueError("the description of its objects is too long")
    # Where these characters are part of the structure, they are never escaped.
    if sum(map(text.count, (b",", b"[", b"{"))) > _MAX_VALUES:
        raise ValueError("it describes too many objects")
    root = json.loads(text.decode("ascii"), object_pairs_hook=_without_repetition)
    # Older protocols of skops have their own loaders, which are for old files only.
    if not isinstance(root, dict) or type(root.get("protocol")) is not int or root["protocol"] != 2:
        raise ValueError("it is written in no protocol of models")
    root = {key: value for key, value in root.items() if key not in ("protocol", "_skops_version")}
    found = Description(root)
    _Objects(found.arrays, is_trusted, unfit).visit(root, "", 0)
    return found


def full_name(described: Described) -> str:
    """Return the name of an object's type, with its module.

    Parameters
    ----------
    described : dict
    """
    return f"{described['__module__']}.{described['__class__']}"


def _without_repetition(pairs: list[tuple[str, object]]) -> Described:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("its description gives a value twice")
    return found


class _Objects:
    """Visitor that checks all objects of a description.

    The form of an object is a number that identifies its kind, its type and the forms of all
    objects in it. Equal objects have equal forms, and an object that is described several times has
    one form. Thus no more objects are created than are described, whatever the order.
    """

    def __init__(
        self,
        arrays: dict[str, set[StoredArray]],
        is_trusted: Callable[[str, str], bool],
        unfit: Callable[[str, list[str]], str | None],
    ) -> None:
        self._arrays, self._is_trusted, self._unfit = arrays, is_trusted, unfit
        self._headers: dict[tuple[object, ...], tuple[str, str]] = {}
        self._forms: dict[Hashable, int] = {}
        self._form_of: dict[int, int] = {}
        self._key_types: dict[int, list[str]] = {}
        self._owners: dict[str, int] = {}
        self._files: dict[int, str] = {}
        self._open: set[int] = set()
        self._count = 0

    def visit(self, described: object, name: str, depth: int) -> int:
        """Check an object and everything that it contains, and return its form.

        Parameters
        ----------
        described : object
        name : str
            Key or attribute under which the object is stored.
        depth : int
            Number of objects in which it is nested.
        """
        self._count += 1
        if self._count > _MAX_OBJECTS or depth > _MAX_DEPTH:
            raise ValueError("it describes too many objects")
        if type(described) is not dict:
            raise ValueError("an object in it is not described")
        names = described.get("__loader__"), described.get("__module__"), described.get("__class__")
        if not all(type(part) is str for part in names):
            raise ValueError("an object in it has no kind or no type")
        kind, type_name = self._headers.get((*names, *described)) or self._header(names, described)
        key = described["__id__"]
        if type(key) is not int or not -_MAX_NUMBER < key < _MAX_NUMBER:
            raise ValueError(f"an object in it is not described as those of kind {kind!r} are")
        if key in self._open:
            raise ValueError("an object in it contains itself")
        if kind == "JsonNode":
            seen = (names, described["content"])
            form = self._forms.get(seen) if type(seen[1]) is str else None
            form = self._new_form((names, _scalar(seen[1]))) if form is None else form
        else:
            self._open.add(key)
            own, inner = self._parts(kind, type_name, described, name, depth + 1)
            self._open.discard(key)
            form = self._new_form((names, own, inner))
        if self._form_of.setdefault(key, form) != form:
            raise ValueError("an object in it is described in two ways")
        return form

    def _new_form(self, parts: Hashable) -> int:
        return self._forms.setdefault(parts, len(self._forms))

    def _header(self, names: tuple[Any, ...], described: Described) -> tuple[str, str]:
        """Return the kind and type name of an object, after checking them and its keys."""
        kind, type_name = names[0], full_name(described)
        if kind not in _KINDS:
            raise ValueError(f"it holds an object of a kind that models lack, {kind[:100]!r}")
        if described.keys() - {"__class__", "__module__", "__loader__"} not in _KINDS[kind]:
            raise ValueError(f"an object in it is not described as those of kind {kind!r} are")
        only = _BUILT_IN.get(kind)
        if not (self._is_trusted(kind, type_name) if only is None else type_name == only):
            raise UntrustedTypesError(type_name)
        return self._headers.setdefault((*names, *described), (kind, type_name))

    def _parts(
        self, kind: str, type_name: str, described: Described, name: str, depth: int
    ) -> tuple[Hashable, tuple[int, ...]]:
        """Return the own values of an object and the forms of the objects in it."""
        content = described.get("content")
        if kind in ("ListNode", "TupleNode"):
            return None, self._all(_checked(content, list), name, depth)
        if kind == "DictNode":
            return self._dictionary(described, name, depth)
        if kind == "ObjectNode" and content is not None:
            names = list(_checked(_of_kind(content, "DictNode").get("content"), dict))
            if (other := self._unfit(type_name, names)) is not None:
                told = f"it holds other attributes than those of {type_name!r}: {other[:100]!r}"
                raise ValueError(told)
            return None, self._all([content], name, depth)
        if kind == "NdArrayNode" and described["type"] == "json":
            _check_shape(described["shape"], len(_checked(content, list)))
            parts = [described["shape"], *described["content"]]
            return None, self._all(parts, name, depth)
        if kind in ("NdArrayNode", "SparseMatrixNode"):
            suffix, form = (".npy", "numpy") if kind == "NdArrayNode" else (".npz", "scipy")
            self._add_array(described, suffix, form, StoredArray(type_name, name))
        if kind == "DTypeNode":
            return None, self._all([_of_kind(content, "NdArrayNode")], name, depth)
        if kind == "MaskedArrayNode":
            named = _checked(content, dict)
            parts = [_of_kind(named.get(part), "NdArrayNode") for part in ("data", "mask")]
            return len(named), self._all(parts, name, depth)
        return tuple(_ends(content)) if kind == "SliceNode" else None, ()

    def _all(self, parts: list[object], name: str, depth: int) -> tuple[int, ...]:
        return tuple([self.visit(part, name, depth) for part in parts])

    def _dictionary(
        self, described: Described, name: str, depth: int
    ) -> tuple[Hashable, tuple[int, ...]]:
        """Return the keys of a dictionary, and the forms of the key types and of the values."""
        keys, content = described["key_types"], _checked(described["content"], dict)
        form = self.visit(keys, name, depth)
        if form not in self._key_types:
            self._key_types[form] = _types_of_keys(keys)
        types = self._key_types[form]
        if len(types) != len(content):
            raise ValueError("the keys of a dictionary in it are not those that its types are of")
        for kind, key in zip(types, content, strict=True):
            if kind == "builtins.int" and not -_MAX_NUMBER < int(key[:30]) < _MAX_NUMBER:
                raise ValueError("a key in it is too large a number")
        inner = [self.visit(part, key or name, depth) for key, part in content.items()]
        return tuple(content), (form, *inner)

    def _add_array(self, described: Described, suffix: str, form: str, array: StoredArray) -> None:
        file = described.get("file")
        if (
            not (isinstance(file, str) and re.fullmatch(r"[\w-]{1,80}\.np[yz]", file, re.ASCII))
            or not file.endswith(suffix)
            or described["type"] != form
        ):
            raise ValueError("an array in it is not described as those of models are")
        key = described["__id__"]
        if self._owners.setdefault(file, key) != key or self._files.setdefault(key, file) != file:
            raise ValueError("objects in it share an array")
        self._arrays.setdefault(file, set()).add(array)


Kind = TypeVar("Kind")


def _checked(content: object, kind: type[Kind]) -> Kind:
    if type(content) is not kind:
        raise ValueError("an object in it has other contents than those of its kind")
    return content


def _of_kind(described: object, kind: str) -> Described:
    """Return a part of an object, after checking its kind."""
    if not isinstance(described, dict) or described.get("__loader__") != kind:
        raise ValueError(f"an object in it is not of the kind {kind!r}")
    return described


def _scalar(content: object) -> str:
    """Return the text of a value that contains no others, after checking it."""
    if not isinstance(content, str) or content[:1] in ("", "[", "{", " ", "\t", "\n", "\r"):
        raise ValueError("a value in it is neither text nor a number")
    if content[0] != '"' and len(content) > _MAX_DIGITS:
        raise ValueError("a number in it is too long")
    json.loads(content)
    return content


def _types_of_keys(described: object) -> list[str]:
    """Return the names of the types of a dictionary's keys, after checking them."""
    types = _checked(_of_kind(described, "ListNode").get("content"), list)
    names = [full_name(_of_kind(part, "TypeNode")) for part in types]
    if others := sorted(set(names) - set(KEY_TYPES)):
        raise UntrustedTypesError(others[0])
    return names


def _check_shape(described: object, length: int) -> None:
    """Check that an array of objects is as long as its first dimension."""
    sizes = _checked(_of_kind(described, "TupleNode").get("content"), list)
    numbers = [json.loads(_scalar(_of_kind(size, "JsonNode").get("content"))) for size in sizes]
    if any(type(number) is not int or not 0 <= number <= _MAX_OBJECTS for number in numbers):
        raise ValueError("an array of objects in it has no shape")
    if not numbers or numbers[0] != length:
        raise ValueError("an array of objects in it is not as long as its shape says")


def _ends(content: Any) -> Iterator[int | None]:
    """Yield the start, the stop and the step of a slice."""
    if _checked(content, dict).keys() != {"start", "stop", "step"}:
        raise ValueError("a slice in it has other ends")
    for end in content.values():
        if end is not None and type(end) is not int:
            raise ValueError("a slice in it has ends that are no numbers")
        yield end
