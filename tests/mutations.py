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
    ("mercer_command.commands", "fit"),
    ("functools", "partial"),
    ("operator", "methodcaller"),
)
"""Functions and types that take the place of those of a model."""

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


def mutated_model(path: Path, out: Path, seed: int) -> str:
    """Write a mutation of a model, and return its name, which says if the checksum is valid."""
    random = np.random.default_rng(seed)
    kind = seed % 10
    if kind < len(BYTES):
        out.write_bytes(BYTES[kind](path.read_bytes(), random))
        return BYTES[kind].__name__
    members, names = members_of(path), list(members_of(path))
    first, second = random.choice(len(names), size=2, replace=False)
    one, other = names[first], names[second]
    if kind == 4:
        members[one] = BYTES[seed // 10 % 4](members[one], random)
        write_members(members, out)
        return "valid checksum, bytes of a member"
    if kind == 5:
        members[one], members[other] = members[other], members[one]
        write_members(members, out)
        return "valid checksum, swapped members"
    if kind == 6:
        members[one] = b"" if random.random() < 0.5 else members[other]
        write_members(members, out)
        return "valid checksum, repeated and empty members"
    schema = json.loads(members["schema.json"])
    change = {7: _other_value, 8: _swapped_objects, 9: _other_call}[kind]
    change(schema, random)
    members["schema.json"] = json.dumps(schema).encode()
    write_members(members, out)
    return f"valid checksum, {change.__name__.strip('_').replace('_', ' ')}"


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


def _swapped_objects(schema: Any, random: Random) -> None:
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
