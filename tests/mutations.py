"""Mutations of model files, and of any bytes, each determined by a seed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from model_file_cases import members_of, nodes, write_members

Random = np.random.Generator

VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 10**30, 1e308, "", "a", "\0", [], {}, [[[]]], {"a": 1}, "NaN", "../up"),
    *("1e999", -(2**63), "null", "[]", "Infinity", "é" * 1000),
)
"""Values that take the place of others."""

CALLS = (
    ("canary", "sing"),
    ("os", "system"),
    ("posix", "system"),
    ("builtins", "eval"),
    ("builtins", "exec"),
    ("builtins", "getattr"),
    ("subprocess", "Popen"),
    ("pickle", "loads"),
    ("numpy", "load"),
    ("sklearn.tree._tree", "Tree"),
    ("mercer_command.commands.fit_command", "run"),
    ("functools", "partial"),
    ("operator", "methodcaller"),
)
"""Functions and types that take the place of those of a model."""

KINDS = (
    *("JsonNode", "DictNode", "ListNode", "TupleNode", "SetNode", "SliceNode", "TypeNode", "", "?"),
    *("FunctionNode", "ObjectNode", "NdArrayNode", "MaskedArrayNode", "SparseMatrixNode"),
    *("DTypeNode", "MethodNode", "PartialNode", "OperatorFuncNode", "ConstructorFromReduceNode"),
    *("RandomGeneratorNode", "RandomStateNode", "LossNode", "TreeNode", "CachedNode", "BytesNode"),
    *("BytearrayNode", "DefaultDictNode", "QuantileForestNode"),
)
"""Kinds of objects that skops knows, of which models consist in part, and others."""

LITTLE: dict[str, Any] = {
    **{"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "__id__": 3},
    "content": [],
}

LOADERS = ("FunctionNode", "ConstructorFromReduceNode", "ObjectNode", "TypeNode", "PartialNode")


def flipped(data: bytes, random: Random) -> bytes:
    """Replace up to a hundred bytes."""
    changed = bytearray(data)
    for position in random.integers(len(data), size=int(2.0 ** random.uniform(0.0, 7.0))):
        changed[position] = random.integers(256)
    return bytes(changed)


def truncated(data: bytes, random: Random) -> bytes:
    """Keep a part of the bytes."""
    start, stop = sorted(random.integers(len(data) + 1, size=2))
    return [data[start:], data[:stop], data[start:stop]][random.integers(3)]


def repeated(data: bytes, random: Random) -> bytes:
    """Insert a copy of some bytes elsewhere."""
    start, stop, place = sorted(random.integers(len(data) + 1, size=3))
    return data[:place] + data[start:stop] + data[place:]


def swapped(data: bytes, random: Random) -> bytes:
    """Exchange two parts."""
    a, b, c, d = sorted(random.integers(len(data) + 1, size=4))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


BYTES = (flipped, truncated, repeated, swapped)


def damaged_model(path: Path, out: Path, seed: int) -> str:
    """Write a model that was damaged by accident, so that its checksum is not valid."""
    random = np.random.default_rng(seed)
    kind = seed % 6
    if kind < len(BYTES):
        out.write_bytes(BYTES[kind](path.read_bytes(), random))
        return BYTES[kind].__name__
    members, names = members_of(path), list(members_of(path))
    first, second = random.choice(len(names), size=2, replace=False)
    if kind == 4:
        del members[names[first]]
    else:
        one, other = names[first], names[second]
        members[one], members[other] = members[other], members[one]
    write_members(members, out)
    out.write_bytes(out.read_bytes()[:-64] + path.read_bytes()[-64:])
    return ("dropped member", "swapped members")[kind - 4]


def forged_model(path: Path, out: Path, seed: int) -> str:
    """Write a model that was changed on purpose, with a valid checksum.

    A name in the plural is that of a change of the structure, which is refused or changes no
    prediction; a change of a value may give another model, which predicts something else.
    """
    random = np.random.default_rng(seed)
    members = members_of(path)
    change = FORGERIES[seed % len(FORGERIES)]
    if change in OF_MEMBERS:
        change(members, random)
    else:
        schema = json.loads(members["schema.json"])
        text = change(schema, random) or json.dumps(schema)
        members["schema.json"] = text.encode()
    write_members(members, out)
    return change.__name__.strip("_").replace("_", " ")


def _any(items: Any, random: Random) -> Any:
    found = list(items)
    return found[random.integers(len(found))]


def _dictionaries(schema: Any) -> list[Any]:
    return [node for node in nodes(schema) if node["__loader__"] == "DictNode" and node["content"]]


def _kinds(schema: Any, random: Random) -> None:
    """Describe an object as one of another kind, with or without what that kind consists of."""
    node, kind = _any(nodes(schema), random), _any(KINDS, random)
    if random.random() < 0.5:
        other = [found for found in nodes(schema) if found["__loader__"] == kind] or [node]
        # A copy, as an object may contain the node.
        copied = json.loads(json.dumps(_any(other, random)))
        node.update(copied, __id__=node["__id__"])
    node["__loader__"] = kind
    if random.random() < 0.3:
        part = {**LITTLE, "__id__": 1}
        node.update(content={"func": "mro", "obj": part, "args": part, "kwds": part, "main": part})


def _lengths_of_members(members: dict[str, bytes], random: Random) -> None:
    """Change an array's shape, order or type, or its length, in which case it does not fit."""
    name = _any((name for name in members if name.endswith(".npy")), random)
    content = members[name]
    shape = content[content.index(b"'shape': ") :].partition(b")")[0]
    new = (b"'shape': (", b"'shape': (9, ", b"'shape': (%d," % 10**12, b"'shape': (0, %d" % 2**62)
    other = _any(new, random)
    if random.random() < 0.5 and len(other) <= len(shape):
        members[name] = content.replace(shape, other.ljust(len(shape)))
    else:
        members[name] = _any((content[:-1], content + content, content[:20], b""), random)
    if members[name] == content:
        members[name] += b"0"


def _swapped_and_dropped_members(members: dict[str, bytes], random: Random) -> None:
    one, other = (_any(members, random) for _ in range(2))
    if random.random() < 0.5:
        del members[one]
    else:
        members[f"{random.integers(9)}.npy"] = members.pop(one)
        members.setdefault(other, b"")


def _orders_of_members(members: dict[str, bytes], random: Random) -> None:
    names = list(members)
    for position in random.permutation(len(names)):
        members[names[position]] = members.pop(names[position])


def _numbers_of_objects(schema: Any, random: Random) -> None:
    """Describe an object twice, whole and in part, or let it contain itself."""
    node, other = _any(nodes(schema), random), _any(nodes(schema), random)
    if random.random() < 0.5:
        node["__id__"] = other["__id__"]
        return
    copied = json.loads(json.dumps(other))
    if isinstance(copied.get("content"), list) and copied["content"]:
        copied["content"].pop()
    holder = _any((n for n in nodes(schema) if n["__loader__"] == "ListNode"), random)
    holder["content"].insert(random.integers(len(holder["content"]) + 1), copied)
    holder["__id__"] = 7
    if isinstance(node.get("content"), list):
        node["content"] += node["content"] * 2


def _sizes_of_contents(schema: Any, random: Random) -> str | None:
    node = _any(_dictionaries(schema), random)
    if random.random() < 0.3:
        node["key_types"]["content"] *= random.integers(2, 5)
    elif random.random() < 0.3:
        node["key_types"]["content"].pop()
    else:
        inner: Any = [LITTLE]
        for number in range(_any((20, 200, 2000), random)):
            inner = [{**LITTLE, "__loader__": "ListNode", "content": inner, "__id__": number}]
            if number == 500:
                return f'{{"protocol": 2, "content": {"[" * 9000}{"]" * 9000}}}'
        node["content"]["more"] = inner[0]
    return None


def _types(schema: Any, random: Random) -> None:
    """Give an object the type of another one, or a type that no model has."""
    node, other = _any(nodes(schema), random), _any(nodes(schema), random)
    names = (other["__module__"], other["__class__"])
    module, name = names if random.random() < 0.5 else _any(CALLS, random)
    node.update(__module__=module, __class__=name)


def _names(schema: Any, random: Random) -> str | None:
    """Rename, drop or repeat what an object or a dictionary consists of."""
    if random.random() < 0.3:
        text = json.dumps(schema)
        key = _any(("content", "__loader__", "__class__", "key_types"), random)
        at = text.index(f'"{key}"')
        again = f'"\\u{ord(key[0]):04x}{key[1:]}": []'
        return text[:at] + again + ", " + text[at:]
    if random.random() < 0.3:
        node = _any(nodes(schema), random)
        key = _any(node, random)
        value = node.pop(key)
        if random.random() < 0.5:
            node[_any(("content", "attrs", "__reduce__", "key_types", "a"), random)] = value
        return None
    states = [n["content"]["content"] for n in nodes(schema) if n["__loader__"] == "ObjectNode"]
    state = _any(filter(None, states), random)
    value = state.pop(key := _any(state, random))
    state[_any(("predict", "__class__", "__setstate__", "fit", f"{key}_", "theta"), random)] = value
    return None


def _places(value: Any) -> list[tuple[Any, Any]]:
    """All containers of a schema with their keys."""
    items = list(value.items() if isinstance(value, dict) else enumerate(value))
    inner = [place for _, v in items if isinstance(v, dict | list) for place in _places(v)]
    return [(value, key) for key, _ in items] + inner


def _other_value(schema: Any, random: Random) -> None:
    places = _places(schema)
    for number in random.integers(len(places), size=random.integers(1, 4)):
        container, key = places[number]
        value = VALUES[random.integers(len(VALUES))]
        container[key] = json.dumps(value) if random.random() < 0.5 else value


def _swapped_object(schema: Any, random: Random) -> None:
    found = nodes(schema)
    first, second = random.choice(len(found), size=2, replace=False)
    one, other = dict(found[first]), dict(found[second])
    for node, new in ((found[first], other), (found[second], one)):
        if random.random() < 0.8:
            node.clear()
            node.update(json.loads(json.dumps(new)))


def _other_call(schema: Any, random: Random) -> None:
    found = nodes(schema)
    node = found[random.integers(len(found))]
    module, name = CALLS[random.integers(len(CALLS))]
    node.update(__module__=module, __class__=name)
    if random.random() < 0.5:
        node["__loader__"] = LOADERS[random.integers(len(LOADERS))]
    if random.random() < 0.5:
        text = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}
        command = {**text, "content": json.dumps("touch canary-sang"), "is_json": True}
        arguments = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode"}
        node["content"] = {**arguments, "content": [command]}


def _byte_of_a_member(members: dict[str, bytes], random: Random) -> None:
    name = _any(members, random)
    members[name] = _any(BYTES, random)(members[name], random)


OF_MEMBERS = (
    *(_lengths_of_members, _swapped_and_dropped_members, _orders_of_members, _byte_of_a_member),
)
FORGERIES = (
    *(_kinds, _numbers_of_objects, _sizes_of_contents, _types, _names),
    *(_lengths_of_members, _swapped_and_dropped_members, _orders_of_members),
    *(_other_value, _swapped_object, _other_call, _byte_of_a_member),
)
