"""Descriptions of models: kinds, names and numbers of objects that no model has are refused."""

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
from model_file_cases import members_of, nodes, refusal, with_schema, write_members, write_unchecked

import mercer
from mercer._files import model_descriptions, model_types
from mercer._files.model_files import _described
from mercer.kernels import Gaussian

LIST = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
TEXT = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "is_json": True}


class _Made(BaseException):
    """Something was made."""


@pytest.fixture
def nothing_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is refused is refused before the first object is made."""

    def made(*_: object, **__: object) -> None:
        raise _Made

    monkeypatch.setattr("skops.io.load", made)


def first(schema: Any, kind: str) -> Any:
    return next(node for node in nodes(schema) if node["__loader__"] == kind)


def with_first(path: Path, out: Path, kind: str, **values: Any) -> None:
    """Change the first object of a kind in a description."""
    with_schema(path, out, lambda schema: first(schema, kind).update(values))


def listed(*content: dict[str, Any], number: int = 1) -> dict[str, Any]:
    return {**LIST, "__id__": number, "content": list(content)}


def text(content: Any, number: int = 10) -> dict[str, Any]:
    return {**TEXT, "__id__": number, "content": content}


def described(root: dict[str, Any], path: Path) -> None:
    """Write a file with one description and no arrays."""
    content = json.dumps({**root, "protocol": 2}).encode()
    write_members({"schema.json": content}, path)


@pytest.mark.usefixtures("nothing_is_made")
class TestKinds:
    def test_the_kinds_that_skops_knows_are_allowed_or_refused(self) -> None:
        """A kind that skops adds has to be looked at before it is allowed."""
        from skops.io._audit import NODE_TYPE_MAPPING
        from skops.io._persist import dumps

        assert dumps([1])
        assert set(model_types._NAMES) < {kind for kind, _ in NODE_TYPE_MAPPING}

    @pytest.mark.parametrize(
        "kind",
        [
            *("MethodNode", "PartialNode", "OperatorFuncNode"),
            *("RandomGeneratorNode", "RandomStateNode", "LossNode", "TreeNode", "CachedNode"),
            *("BytesNode", "BytearrayNode", "DefaultDictNode", "ReduceNode", "SetNode"),
            *("FunctionNode", "ConstructorFromReduceNode"),
            *("", None, 1, ["ListNode"]),
        ],
    )
    @pytest.mark.parametrize("place", ["ObjectNode", "JsonNode", "TypeNode"])
    def test_other_kinds_are_refused(
        self, saved: Path, changed: Path, kind: Any, place: str
    ) -> None:
        with_first(saved, changed, place, __loader__=kind)
        message = refusal(changed)
        assert "a kind that models lack" in message or "other contents" in message

    @pytest.mark.parametrize("place", ["key_types", "content", "more", "__reduce__", "attrs"])
    def test_objects_are_found_wherever_they_are(
        self, saved: Path, changed: Path, place: str
    ) -> None:
        """Also under names that belong to no kind, and in place of types of keys."""
        call = {"__class__": "partial", "__module__": "functools", "__loader__": "PartialNode"}

        def hide(schema: Any) -> None:
            node = first(schema, "DictNode")
            if isinstance(node.get(place), dict) and place == "content":
                node[place]["more"] = {**call, "__id__": 5}
                node["key_types"]["content"].append(node["key_types"]["content"][0])
            else:
                node[place] = {**call, "__id__": 5}

        with_schema(saved, changed, hide)
        refusal(changed)

    @pytest.mark.parametrize("key", ["__id__", "__class__", "__module__", "__loader__", "content"])
    def test_objects_that_lack_something_are_refused(
        self, saved: Path, changed: Path, key: str
    ) -> None:
        for kind in ("ObjectNode", "DictNode", "JsonNode"):
            if (kind, key) != ("ObjectNode", "content"):
                with_schema(
                    saved, changed, lambda schema, k=kind: first(schema, k).pop(key) and None
                )
                refusal(changed)

    @pytest.mark.parametrize("number", [None, "1", 1.0, True, 2**60, -(2**61)])
    def test_objects_without_a_number_are_refused(
        self, saved: Path, changed: Path, number: Any
    ) -> None:
        """Numbers of the same hash would take a time that grows with their square."""
        with_first(saved, changed, "JsonNode", __id__=number)
        assert "has no number" in refusal(changed)


@pytest.mark.usefixtures("nothing_is_made")
class TestNames:
    @pytest.mark.parametrize(
        ("kind", "name"),
        [
            *(("ObjectNode", name) for name in ("posix.system", "sklearn.tree._tree.Tree")),
            ("ObjectNode", "sklearn.feature_extraction.text.CountVectorizer"),
            ("ObjectNode", "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"),
            ("ObjectNode", "mercer_command.commands.fit_command.run"),
            ("ObjectNode", "mercer._blocks.parquet_source.ParquetSource"),
            ("ObjectNode", "mercer._files.model_files.Path"),
            ("ObjectNode", "mercer._files.model_files.save"),
            ("ObjectNode", "mercer.none.Such"),
            ("ObjectNode", "mercer.__main__.Such"),
            ("ObjectNode", "builtins.list"),
            *(("TypeNode", name) for name in ("builtins.eval", "builtins.map", "builtins.bytes")),
            ("TypeNode", "mercer.kernels._radial.Gaussian"),
            ("ListNode", "builtins.bytearray"),
            ("DictNode", "collections.OrderedDict"),
            ("JsonNode", "builtins.eval"),
            *(("NdArrayNode", name) for name in ("numpy.void", "numpy.load", "numpy.matrix")),
        ],
    )
    def test_objects_of_other_types_are_refused(
        self, saved: Path, changed: Path, kind: str, name: str
    ) -> None:
        module, _, own = name.rpartition(".")
        new = {"__class__": own, "__module__": module, "__loader__": kind}
        with_first(saved, changed, kind, **new)
        with pytest.raises(ValueError, match=f"types that are not trusted, '{name}'"):
            mercer.load(changed)

    def test_long_names_are_cut(self, saved: Path, changed: Path) -> None:
        with_first(saved, changed, "ObjectNode", __class__="a" * 10**5)
        with pytest.raises(ValueError, match="types that are not trusted") as caught:
            mercer.load(changed)
        assert len(str(caught.value)) < 1000

    def test_attributes_are_those_of_the_class(self, tmp_path: Path, changed: Path) -> None:
        write_unchecked([Gaussian(2.0), mercer.TwoStageClassifier()], tmp_path / "model.skops")

        def state(schema: Any, name: str) -> Any:
            node = next(node for node in nodes(schema) if node["__class__"] == name)
            return node["content"]

        def rename(name: str, old: str, new: str) -> Callable[[Any], None]:
            def change(schema: Any) -> None:
                content = state(schema, name)["content"]
                items = [(new if key == old else key, value) for key, value in content.items()]
                content.clear()
                content.update(items)

            return change

        for name, old, new in (
            ("Gaussian", "ard", "other"),
            ("TwoStageClassifier", "C", "D"),
            ("TwoStageClassifier", "C", "predict"),
            ("Gaussian", "bounds", "theta"),
        ):
            with_schema(tmp_path / "model.skops", changed, rename(name, old, new))
            assert "holds other attributes than those of" in refusal(changed)


def again(number: int) -> dict[str, Any]:
    """An object that is described elsewhere."""
    return {"__id__": number}


def shared_lists() -> dict[str, Any]:
    """A list of 2^60 objects, described by sixty."""
    inner = listed(number=1)
    for number in range(2, 60):
        inner = listed(inner, again(number - 1), number=number)
    return inner


class TestNumbersOfObjects:
    @pytest.mark.parametrize("protocol", [0, 1, 3, 99, "2", 2.0, None, True])
    def test_other_protocols_are_refused(
        self, saved: Path, changed: Path, protocol: object
    ) -> None:
        with_schema(saved, changed, lambda schema: schema.update(protocol=protocol))
        refusal(changed)

    @pytest.mark.parametrize(
        ("root", "told"),
        [
            (shared_lists(), "too many objects"),
            (listed(listed(text("0"), number=2), listed(number=2)), "an object twice"),
            (listed(listed(number=1)), "an object twice"),
            (listed(listed(again(1), number=2)), "contains itself"),
            (listed(again(3), listed(number=3)), "is not described"),
        ],
    )
    def test_objects_are_described_once(
        self, changed: Path, root: dict[str, Any], told: str
    ) -> None:
        described(root, changed)
        assert told in refusal(changed)

    def test_objects_that_are_described_once_are_made_once(self, changed: Path) -> None:
        described(listed(listed(text("0"), number=3), again(3), text("[0]", 4)), changed)
        first, second, third = mercer.load(changed)
        assert first is second
        assert first == third
        assert first is not third

    def test_an_array_belongs_to_one_object(self, saved: Path, changed: Path) -> None:
        def shared(schema: dict[str, Any]) -> None:
            one, other, *_ = (node for node in nodes(schema) if "file" in node)
            other["file"] = one["file"]

        with_schema(saved, changed, shared)
        assert "is not that of its object" in refusal(changed)

    @pytest.mark.parametrize("key", ["file", "type"])
    @pytest.mark.parametrize("value", ["../a.npy", "a.npz", "a" * 100 + ".npy", 1, None, "scipy"])
    def test_files_of_arrays_have_plain_names(
        self, saved: Path, changed: Path, key: str, value: Any
    ) -> None:
        def change(schema: Any) -> None:
            next(node for node in nodes(schema) if "file" in node)[key] = value

        with_schema(saved, changed, change)
        refusal(changed)

    @pytest.mark.parametrize("limit", ["_MAX_BYTES", "_MAX_VALUES", "_MAX_OBJECTS", "_MAX_DEPTH"])
    def test_too_many_objects_are_refused(
        self, saved: Path, changed: Path, monkeypatch: pytest.MonkeyPatch, limit: str
    ) -> None:
        members = members_of(saved)
        schema = members["schema.json"]
        counts = {
            "_MAX_BYTES": len(schema),
            "_MAX_VALUES": sum(schema.count(mark) for mark in (b",", b"[", b"{")),
            "_MAX_OBJECTS": len(nodes(json.loads(schema))),
            "_MAX_DEPTH": depth(json.loads(schema)) - 1,
        }
        write_members(members, changed)
        monkeypatch.setattr(model_descriptions, limit, counts[limit])
        mercer.load(changed)
        monkeypatch.setattr(model_descriptions, limit, counts[limit] - 1)
        if limit in ("_MAX_BYTES", "_MAX_VALUES"):
            monkeypatch.setattr(model_descriptions.json, "loads", None)
        assert "too" in refusal(changed)

    def test_escapes_hide_no_object(
        self, saved: Path, changed: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        schema = json.dumps({**listed(*(text("0", n) for n in range(10, 30))), "protocol": 2})
        schema = schema.replace("__loader__", "__load\\u0065r__")
        write_members({"schema.json": schema.encode()}, changed)
        monkeypatch.setattr(model_descriptions, "_MAX_OBJECTS", 20)
        assert "too many objects" in refusal(changed)

    @pytest.mark.parametrize("text", [b'{"a": ' + b"[" * 10**5 + b"]" * 10**5 + b"}", b"\xff", b""])
    def test_what_is_no_description_is_refused(
        self, saved: Path, changed: Path, text: bytes
    ) -> None:
        write_members(members_of(saved) | {"schema.json": text}, changed)
        refusal(changed)


class TestValues:
    @pytest.mark.parametrize("content", ["", "nul", None, 1, [], "1" * 5000, "[" * 5000, "\ud800["])
    def test_values_are_values_of_json(self, saved: Path, changed: Path, content: Any) -> None:
        described(listed(text(content)), changed)
        refusal(changed)

    @pytest.mark.parametrize(
        "model",
        [
            [None, True, 1, -(2**70), 0.1, "a\nb", "é", float("inf"), [], {}, [1, {"é": 1}]],
            {"a": 1, 2: "b", 0.5: None, True: "yes", False: "no"},
            (slice(1, None, 2), np.float64, str, np.dtype("f4")),
            [np.array([[1, "a"], [None, {}]], dtype=object), np.array(["a", [1]], dtype=object)],
            [{}, {"a": {}, "": {"__loader__": {"b": True}}}, {True: 1}, {False: [True]}],
            [np.ma.MaskedArray([1.0, 2.0], [True, False])],
        ],
        ids=["values", "keys", "types", "arrays of objects", "dictionaries", "masked arrays"],
    )
    def test_values_are_loaded_as_they_are(self, changed: Path, model: Any) -> None:
        mercer.save(model, changed)
        assert repr(mercer.load(changed)) == repr(model)

    @pytest.mark.parametrize(
        "change",
        [
            lambda node: node["key_types"]["content"].pop(),
            lambda node: node["key_types"].update(TEXT, content='"ab"'),
            lambda node: node["key_types"]["content"].reverse() or node["content"].pop("a"),
            lambda node: node["key_types"]["content"].__setitem__(0, text("0", 99)),
            lambda node: node["key_types"]["content"][0].update(
                __class__="float64", __module__="numpy"
            ),
            lambda node: node["content"].update({str(2**60): node["content"].pop("2")}),
            lambda node: node.update(content=[]),
        ],
        ids=range(7),
    )
    def test_dictionaries_have_the_type_of_each_key(
        self, changed: Path, tmp_path: Path, change: Callable[[Any], Any]
    ) -> None:
        mercer.save({"a": 1, 2: "b"}, tmp_path / "model.skops")
        with_schema(tmp_path / "model.skops", changed, lambda schema: change(schema) and None)
        with pytest.raises(ValueError, match=r"changed\.skops is not"):
            mercer.load(changed)

    def test_arrays_of_lists_have_one_dimension(self, changed: Path) -> None:
        """skops keeps an array of objects as nested lists, in which a tuple is one, too."""
        array = np.empty((2, 1), dtype=object)
        array[:, 0] = [(1, 2), (3, 4)]
        with pytest.raises(ValueError, match=r"of objects of shape \(2, 1\) cannot be saved"):
            mercer.save([array], changed)
        mercer.save([array[:, 0]], changed)
        assert mercer.load(changed)[0].tolist() == array[:, 0].tolist()


class TestCompactDescriptions:
    def test_objects_are_described_as_skops_does(self, saved: Path) -> None:
        """What is written without indentation is what `skops.io.dumps` writes."""
        from skops.io import dumps

        def anonymous(described: dict[str, Any]) -> dict[str, Any]:
            """Numbers of objects, after which files of arrays are named, differ between runs."""
            return {k: v for k, v in described.items() if k not in ("__id__", "file")}

        model = mercer.load(saved)
        with ZipFile(BytesIO(dumps(model))) as archive:
            expected = json.loads(archive.read("schema.json"), object_hook=anonymous)
            n_arrays = len(archive.namelist()) - 1
        content, description = _described(model)
        assert expected.pop("_skops_version")
        assert json.loads(description, object_hook=anonymous) == expected
        with ZipFile(content) as archive:
            assert len(archive.namelist()) == n_arrays

    def test_what_is_repeated_is_written_once(self, changed: Path) -> None:
        words, kernel = {f"word {number}": number for number in range(1000)}, Gaussian(2.0)
        mercer.save([(words, kernel), (words, kernel)], changed)
        assert changed.stat().st_size < 30_000
        (one, first), (other, second) = mercer.load(changed)
        assert one is other
        assert one == words
        assert first is second

    def test_skops_reads_it(self, changed: Path) -> None:
        from skops.io import load

        model = [{"a": [1, (None, 2)], "b": {"c": "d"}}, {True: "yes", False: "no"}, [], {}]
        mercer.save([model, model], changed)
        assert load(changed) == [model, model]


def depth(value: Any) -> int:
    """The most objects that stand within each other."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = isinstance(value, dict) and "__loader__" in value
    return own + max(map(depth, inner), default=0)
