"""Descriptions of a model's objects, as skops writes them, in short and checked form."""

import json
from collections.abc import Collection
from typing import Any, TypeAlias, TypeVar

from mercer._files.model_types import KEY_TYPES, UntrustedTypesError, check_type, unfit_attribute

_MAX_BYTES = 2**25
"""A description with more bytes is rejected. A thousand objects take 100 kilobytes."""

_MAX_VALUES = 1_200_000
"""A description with more values is rejected before parsing. Each takes about 150 bytes."""

_MAX_OBJECTS = 50_000
"""A description of more objects is rejected before any object is created. skops needs up to 30
microseconds and 2.5 kilobytes for each."""

_MAX_VISITS = 1_000_000
"""skops looks at an object wherever it occurs; a description with more occurrences is rejected.
Each takes up to 4 microseconds."""

_MAX_DEPTH = 100
"""A description with more levels of nested objects is rejected. Models have about twenty."""

_MAX_NUMBER = 2**60
"""Bound on the integers by which objects are looked up, so that no two have the same hash."""

_PROTOCOL = 2
"""The first version of skops' format whose loaders are not for old files."""

_KEYS = {
    *("__class__", "__module__", "__loader__", "__id__", "protocol", "_skops_version"),
    *("content", "is_json", "key_types", "type", "file", "shape"),
}
"""What objects are described by."""

_PLAIN = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}
"""A plain value, which is written as JSON."""

Described: TypeAlias = dict[str, Any]
"""An object in a description: its kind, its type, its number and what it contains."""


def compacted(text: str) -> str:
    """Return a description without repetitions, which skops reads as well.

    skops describes an object anew wherever it occurs, and each value of a list or a dictionary as
    an object. Here, an object that occurs again is given by its number, and lists and dictionaries
    of plain values are written as such.

    Parameters
    ----------
    text : str
        The description of a model by skops.
    """
    root = json.loads(text, object_hook=_folded)
    found = _without_repetition(root, set()) | {"protocol": root["protocol"]}
    return json.dumps(found, separators=(",", ":"))


class _Folded(dict[str, Any]):
    """A list or a dictionary that is written as a value."""

    whole: Described


def _folded(described: Described) -> Described:
    """Return a list or a dictionary as a value if it consists of plain values."""
    kind, content = described.get("__loader__"), described.get("content", [])
    if kind == "ObjectNode" and isinstance(content, _Folded):
        # The names of attributes are checked.
        return {**described, "content": content.whole}
    if kind == "ListNode" and content:
        parts = content
    elif kind == "DictNode":
        types = [one["__class__"] for one in described["key_types"]["content"]]
        # skops takes every text but the empty one for the key True.
        pairs = zip(types, content.items(), strict=False)
        content = {"" if (of, key) == ("bool", "false") else key: part for of, (key, part) in pairs}
        described = {**described, "content": content}
        if set(types) != {"str"}:
            return described
        parts = list(content.values())
    else:
        return described
    # The whole model stays an object, which names the protocol.
    if "protocol" in described or any(part["__loader__"] != "JsonNode" for part in parts):
        return described
    texts = [part["content"] for part in parts]
    if kind == "DictNode":
        texts = [f"{json.dumps(key)}:{text}" for key, text in zip(content, texts, strict=True)]
    brackets = "[]" if kind == "ListNode" else "{}"
    found = _Folded(_PLAIN, __id__=described["__id__"], content=",".join(texts).join(brackets))
    found.whole = described
    return found


def _without_repetition(value: Any, known: set[int]) -> Any:
    """Return a part of a description in which repetitions of objects are their numbers alone."""
    if isinstance(value, list):
        return [_without_repetition(part, known) for part in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("__loader__"), str):
        key = value["__id__"]
        if key in known:
            return {"__id__": key}
        known.add(key)
        # skops reads the types of keys first.
        value = {name: value[name] for name in sorted(value, key="key_types".__ne__)}
    return {name: _without_repetition(part, known) for name, part in value.items()}


class Description:
    """The checked description of a model.

    Parameters
    ----------
    text : bytes

    Attributes
    ----------
    types : set of str
        Full names of the types of its objects.
    arrays : dict of str to str
        Full name of the type of each array, by the name of its member in the archive.

    Raises
    ------
    UntrustedTypesError
        If there is an object of a type that is not trusted.
    ValueError
        If there are too many objects, or if an object has a kind or attributes that models lack, is
        described twice, contains itself, or shares an array with another object.
    """

    def __init__(self, text: bytes) -> None:
        if len(text) > _MAX_BYTES:
            raise ValueError("the description of its objects is too long")
        # Where these characters are part of the structure, they are never escaped.
        if sum(map(text.count, (b",", b"[", b"{"))) > _MAX_VALUES:
            raise ValueError("it describes too many objects")
        root = _checked(json.loads(text), dict)
        # Older protocols of skops have their own loaders, which are for old files only.
        if type(protocol := root.get("protocol")) is not int or protocol < _PROTOCOL:
            raise ValueError("it is written in no protocol of models")
        self.types: set[str] = set()
        self.arrays: dict[str, str] = {}
        self._known: dict[int, Described] = {}
        self._n_visits: dict[int, int] = {}
        self._visit(root, 0)

    def _visit(self, described: Any, depth: int) -> int:
        """Check an object and what it contains; return how many objects skops looks at."""
        key = _checked(described, dict)["__id__"]
        if type(key) is not int or not 0 < key < _MAX_NUMBER:
            raise ValueError("an object in it has no number")
        if described.keys() == {"__id__"}:
            if (n_visits := self._n_visits.get(key)) is None:
                raise ValueError("an object in it contains itself, or is not described")
            return n_visits
        if key in self._known or len(self._known) >= _MAX_OBJECTS or depth > _MAX_DEPTH:
            raise ValueError("it describes too many objects, or an object twice")
        self._known[key] = described
        inner = self._parts(described)
        n_visits = 1 + sum([self._visit(part, depth + 1) for part in inner])
        if n_visits > _MAX_VISITS:
            raise ValueError("it describes too many objects")
        if described["__loader__"] == "DictNode":
            self._check_keys(described)
        elif described["__loader__"] == "ObjectNode" and inner:
            self._check_state(described)
        self._n_visits[key] = n_visits
        return n_visits

    def _parts(self, described: Described) -> Collection[Any]:
        """Return the objects that an object contains, after checking its own description."""
        kind, content, name = described["__loader__"], described.get("content"), _name_of(described)
        check_type(_checked(kind, str), name)
        if others := sorted(described.keys() - _KEYS):
            raise ValueError(f"an object in it has a part that models lack, {others[0][:100]!r}")
        self.types.add(name)
        if kind in ("ListNode", "TupleNode"):
            return _checked(content, list)
        if kind == "DictNode":
            return [described["key_types"], *_checked(content, dict).values()]
        if kind == "ObjectNode" and content is not None:
            return [content]
        if kind == "NdArrayNode" and described["type"] == "json":
            return [*_checked(content, list), described["shape"]]
        if kind in ("NdArrayNode", "SparseMatrixNode"):
            file = f"{described['__id__']}.{'npy' if kind == 'NdArrayNode' else 'npz'}"
            if described["file"] != file:
                raise ValueError("an array in it is not that of its object")
            self.arrays[file] = name
        if kind == "JsonNode":
            _checked(content, str)
        if kind == "MaskedArrayNode":
            return list(_checked(content, dict).values())
        return [content] if kind == "DTypeNode" else []

    def _check_keys(self, described: Described) -> None:
        """Check that each key of a dictionary has a type, by which skops makes it."""
        keys, content = self._known[described["key_types"]["__id__"]], described["content"]
        types = [self._known[one["__id__"]] for one in _checked(keys["content"], list)]
        if keys["__loader__"] != "ListNode" or len(types) != len(content):
            raise ValueError("the keys of a dictionary in it are not those that its types are of")
        for one, key in zip(types, content, strict=True):
            if one["__loader__"] != "TypeNode" or (name := _name_of(one)) not in KEY_TYPES:
                raise UntrustedTypesError(_name_of(one))
            if name == "builtins.int" and not -_MAX_NUMBER < int(key[:30]) < _MAX_NUMBER:
                raise ValueError("a key in it is too large a number")

    def _check_state(self, described: Described) -> None:
        """Check the names of an object's attributes."""
        state, name = self._known[described["content"]["__id__"]], _name_of(described)
        if state["__loader__"] == "JsonNode" and state["content"] == "null":
            return
        if state["__loader__"] != "DictNode":
            raise ValueError("an object in it has no attributes")
        if (other := unfit_attribute(name, state["content"])) is not None:
            raise ValueError(f"it holds other attributes than those of {name!r}: {other[:100]!r}")


def _name_of(described: Described) -> str:
    return f"{_checked(described['__module__'], str)}.{_checked(described['__class__'], str)}"


Kind = TypeVar("Kind")


def _checked(content: object, kind: type[Kind]) -> Kind:
    if type(content) is not kind:
        raise ValueError("an object in it has other contents than those of its kind")
    return content
