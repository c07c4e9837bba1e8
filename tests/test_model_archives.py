"""Archives of models: members and described objects that no model has are refused."""

import io
import pickle
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
from model_file_cases import members_of, nodes, refusal, saved_array, with_schema, write_members

import mercer
from mercer import _model_archives, _model_files

skops = pytest.importorskip("skops")
pytest.importorskip("skops.io")


def add_members_of_the_same_bytes(path: Path, n_copies: int) -> None:
    """Name the bytes of the largest array of an archive anew, so that members overlap."""
    with ZipFile(path, "a") as archive:
        archive.comment = b""
        array = max(
            (m for m in archive.infolist() if m.filename.endswith(".npy")),
            key=lambda member: member.file_size,
        )
        for number in range(n_copies):
            copy = type(array)(f"{number}.npy")
            for name in ("header_offset", "file_size", "compress_size", "compress_type", "CRC"):
                setattr(copy, name, getattr(array, name))
            archive.filelist.append(copy)
        archive.writestr("one.npy", saved_array(np.zeros(1)))


def compressed(members: dict[str, bytes]) -> bytes:
    """A sparse array as it is saved: an archive of compressed arrays."""
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


POINTERS = saved_array(np.array([None, None], dtype=object))
REFUSED_MEMBERS = [
    ("bomb.npz", compressed({"data.npy": saved_array(np.zeros(10**7))}), "inflate"),
    ("pointers.npy", POINTERS, "an array in it"),
    ("pointers.npz", compressed({"data.npy": POINTERS}), "an array in it"),
    ("pickled.npy", pickle.dumps([1]), "magic string is not correct"),
    *((name, b"", "a member that is no array") for name in ("run.py", "../up.bin", "a.pkl")),
    *(
        ("long.npy", saved_array(np.zeros(3), shape), "not as long as its header says")
        for shape in ((10**12,), (-1,), (2, 2), (10**9, 0), (2**64,))
    ),
]


NEWER = pytest.param(
    99,
    marks=pytest.mark.skipif(
        skops.__version__.startswith("0.11."), reason="This skops reads them as its own."
    ),
)
"""A protocol that no skops writes yet."""


class TestMembers:
    # Archives hold the time at which they were made, which names of cases must not.
    @pytest.mark.parametrize(
        ("name", "content", "message"),
        REFUSED_MEMBERS,
        ids=[f"{name}-{number}" for number, (name, _, _) in enumerate(REFUSED_MEMBERS)],
    )
    def test_members_that_no_model_has_are_refused(
        self, saved: Path, changed: Path, name: str, content: bytes, message: str
    ) -> None:
        assert len(content) < 10**5
        write_members(members_of(saved) | {name: content}, changed)
        assert message in refusal(changed)

    def test_compressed_members_are_refused(self, saved: Path, changed: Path) -> None:
        members = members_of(saved) | {"bomb.npy": saved_array(np.zeros(10**7))}
        write_members(members, changed, ZIP_DEFLATED)
        assert changed.stat().st_size < 10**6
        assert "members are compressed" in refusal(changed)

    @pytest.mark.parametrize("n_copies", [1, 5000])
    def test_members_that_overlap_are_refused(
        self, saved: Path, changed: Path, n_copies: int
    ) -> None:
        write_members(members_of(saved) | {"large.npy": saved_array(np.zeros(10**5))}, changed)
        add_members_of_the_same_bytes(changed, n_copies)
        _model_files.add_checksum(changed)
        assert "members are longer than the file" in refusal(changed)

    def test_overlapping_members_of_sparse_arrays_are_refused(
        self, saved: Path, changed: Path, tmp_path: Path
    ) -> None:
        noise = np.random.default_rng(0).random(1000)
        np.savez_compressed(tmp_path / "noise.npz", data=noise)
        add_members_of_the_same_bytes(tmp_path / "noise.npz", 1)
        members = members_of(saved) | {"noise.npz": (tmp_path / "noise.npz").read_bytes()}
        write_members(members, changed)
        assert "its members overlap" in refusal(changed)

    def test_two_members_of_a_name_are_refused(self, saved: Path, changed: Path) -> None:
        changed.write_bytes(saved.read_bytes())
        with ZipFile(changed, "a") as archive:
            archive.comment = b""
            with pytest.warns(UserWarning, match="Duplicate name"):
                archive.writestr("schema.json", b"{}")
        _model_files.add_checksum(changed)
        assert "list of members" in refusal(changed)


LIST = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}


def many_objects() -> dict[str, Any]:
    """A list of 2^60 objects, described by sixty."""
    inner: dict[str, Any] = {**LIST, "__id__": 1, "content": []}
    for number in range(2, 60):
        again = {**LIST, "__id__": number - 1, "content": []}
        inner = {**LIST, "__id__": number, "content": [inner, again]}
    return {**inner, "protocol": 2}


def given_in_part() -> dict[str, Any]:
    """A list that holds another one twice, the second time with one value less."""
    whole, part = ({**LIST, "__id__": 1, "content": content} for content in ([0], []))
    return {**LIST, "__id__": 2, "content": [whole, part], "protocol": 2}


class TestObjects:
    def test_types_are_trusted_by_name(self, saved: Path, changed: Path) -> None:
        for name in (
            "posix.system",
            "builtins.eval",
            "numpy.load",
            "sklearn.tree._tree.Tree",
            "sklearn.feature_extraction.text.TfidfVectorizer",
            "mercer_command.commands.fit",
        ):
            module, _, called = name.rpartition(".")
            new = {"__class__": called, "__module__": module}

            def change(schema: Any, new: dict[str, str] = new) -> None:
                for loader in ("ObjectNode", "TypeNode"):
                    next(n for n in nodes(schema) if n["__loader__"] == loader).update(new)

            with_schema(saved, changed, change)
            with pytest.raises(ValueError, match=f"types that are not trusted, '{name}'"):
                mercer.load(changed)

    @pytest.mark.parametrize("described", [many_objects, given_in_part])
    def test_objects_that_are_described_in_part_are_refused(
        self, saved: Path, changed: Path, described: Any
    ) -> None:
        with_schema(saved, changed, lambda schema: described())
        assert "described in part" in refusal(changed)

    def test_objects_that_contain_themselves_are_refused(self, saved: Path, changed: Path) -> None:
        with_schema(
            saved, changed, lambda schema: schema["content"].update(__id__=schema["__id__"])
        )
        assert "contains itself" in refusal(changed)

    def test_arrays_of_several_objects_are_refused(self, saved: Path, changed: Path) -> None:
        def shared(schema: dict[str, Any]) -> None:
            first, second, *_ = (node for node in nodes(schema) if "file" in node)
            second["file"] = first["file"]

        with_schema(saved, changed, shared)
        assert "share an array" in refusal(changed)

    @pytest.mark.parametrize("limit", ["_MAX_SCHEMA", "_MAX_VALUES", "_MAX_OBJECTS"])
    def test_too_many_objects_are_refused(
        self, saved: Path, changed: Path, monkeypatch: pytest.MonkeyPatch, limit: str
    ) -> None:
        changed.write_bytes(saved.read_bytes())
        monkeypatch.setattr(_model_archives, limit, 100)
        assert "too" in refusal(changed)

    @pytest.mark.parametrize("protocol", [0, 1, "2", None, True, NEWER])
    def test_other_protocols_are_refused(
        self, saved: Path, changed: Path, protocol: object
    ) -> None:
        with_schema(saved, changed, lambda schema: schema.update(protocol=protocol))
        refusal(changed)

    def test_deep_descriptions_are_refused(self, saved: Path, changed: Path) -> None:
        text = b'{"protocol": 2, "a": ' + b"[" * 10**5 + b"]" * 10**5 + b"}"
        write_members(members_of(saved) | {"schema.json": text}, changed)
        assert "RecursionError" in refusal(changed)
