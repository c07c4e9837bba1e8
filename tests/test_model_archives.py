"""Archives of models: lists of members and arrays that no model has are refused."""

import io
import pickle
import struct
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZipFile

import numpy as np
import pytest
from model_file_cases import (
    members_of,
    refusal,
    saved_and_loaded,
    saved_array,
    with_checksum,
    write_members,
)
from scipy.sparse import csr_matrix, save_npz

import mercer
from mercer._files import model_archives, model_files


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


def compressed(members: dict[str, bytes], method: int = ZIP_DEFLATED) -> bytes:
    """A sparse matrix as it is saved: an archive of compressed arrays."""
    file = io.BytesIO()
    with ZipFile(file, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


POINTERS = saved_array(np.array([None, None], dtype=object))
RECORDS = saved_array(np.zeros(2, dtype=[("a", "f8")]))
REFUSED_ARRAYS = [
    (POINTERS, "an array of a type that models lack"),
    (RECORDS, "an array of a type that models lack"),
    (saved_array(np.zeros(2, dtype=complex)), "an array of a type that models lack"),
    (pickle.dumps([1]), "the magic string is not correct"),
    (b"\x93NUMPY\2\0", "in another format than NumPy's first"),
    (b"", "EOF: reading magic string"),
    *(
        (saved_array(np.zeros(3), shape), "not as long as its header says")
        for shape in ((10**12,), (2, 2), (10**9, 0), (2,), ())
    ),
    (saved_array(np.zeros(0), (10**9, 0)), "not as long as its header says"),
    (saved_array(np.zeros(0, dtype="U1"), (10**9,)), "not as long as its header says"),
    (
        saved_array(np.zeros(0, dtype="U1"), (50, 50)).replace(b"<U1", b"<U0"),
        "an array of a type that models lack",
    ),
    *(
        (
            saved_array(np.array([[97, 0], [98, code]], kind)).replace(f"'{kind}'".encode(), text),
            told,
        )
        for code, told in ((0x110000, "no characters"), (0xFFFFFFFF, "no characters"))
        for kind, text in (("<u4", b"'<U1'"), (">u4", b"'>U1'"))
    ),
    (saved_array(np.zeros(3), (-1,)), "not as long as its header says"),
    (saved_array(np.zeros(3), (2**64,)), "not as long as its header says"),
]
MATRIX = csr_matrix(np.eye(4))


def with_array(model: Any, content: bytes, path: Path) -> None:
    """Write a model with another content of its only array."""
    mercer.save(model, path)
    members = members_of(path)
    (name,) = members.keys() - {"schema.json"}
    write_members(members | {name: content}, path)


def inflated_from(path: Path) -> int:
    """The mean size of the sparse matrices of a file."""
    sizes = [len(content) for name, content in members_of(path).items() if name.endswith("z")]
    return sum(sizes) // len(sizes)


def parts_of(matrix: Any) -> dict[str, bytes]:
    """The members of the archive of a sparse matrix."""
    file = io.BytesIO()
    save_npz(file, matrix)
    with ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


class TestLists:
    """The list of an archive's members."""

    @pytest.mark.parametrize("name", ["run.py", "../up.npy", "a.npy", "b.npz"])
    def test_members_of_no_object_are_refused(self, saved: Path, changed: Path, name: str) -> None:
        write_members(members_of(saved) | {name: saved_array(np.zeros(1))}, changed)
        assert f"holds one that is no array, '{name}'" in refusal(changed)

    def test_missing_members_are_refused(self, saved: Path, changed: Path) -> None:
        for name in members_of(saved):
            members = members_of(saved)
            del members[name]
            write_members(members, changed)
            refusal(changed)

    def test_compressed_members_are_refused(self, saved: Path, changed: Path) -> None:
        members = members_of(saved) | {"bomb.npy": saved_array(np.zeros(10**7))}
        write_members(members, changed, ZIP_DEFLATED)
        assert changed.stat().st_size < 10**6
        assert "encrypted or compressed" in refusal(changed)

    @pytest.mark.parametrize("n_copies", [1, 5000])
    def test_members_that_overlap_are_refused(
        self, saved: Path, changed: Path, n_copies: int
    ) -> None:
        changed.write_bytes(saved.read_bytes())
        add_members_of_the_same_bytes(changed, n_copies)
        model_files.add_checksum(changed)
        refusal(changed)

    def test_two_members_of_a_name_are_refused(self, saved: Path, changed: Path) -> None:
        changed.write_bytes(saved.read_bytes())
        with ZipFile(changed, "a") as archive:
            archive.comment = b""
            with pytest.warns(UserWarning, match="Duplicate name"):
                archive.writestr("schema.json", b"{}")
        model_files.add_checksum(changed)
        assert "two members of one name" in refusal(changed)

    def test_many_members_are_refused_before_they_are_listed(
        self, saved: Path, changed: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        changed.write_bytes(saved.read_bytes())
        n_members = len(members_of(saved))
        monkeypatch.setattr(model_archives, "_MAX_MEMBERS", n_members)
        mercer.load(changed)
        monkeypatch.setattr(model_archives, "_MAX_MEMBERS", n_members - 1)
        monkeypatch.setattr(model_archives, "ZipFile", None)
        assert "too many members" in refusal(changed)

    def test_long_names_of_members_are_refused_before_they_are_listed(
        self, saved: Path, changed: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(model_archives, "_MAX_MEMBERS", 200)
        write_members(members_of(saved) | {"a" * 40_000 + ".npy": b""}, changed)
        assert "too many members" in refusal(changed)

    def test_a_second_list_of_members_is_refused(self, saved: Path, changed: Path) -> None:
        """The end of a long archive announces another list, which takes the place of this one."""
        end = saved.read_bytes().rindex(b"PK\5\6")
        data, locator = saved.read_bytes(), b"PK\6\7" + bytes(16)
        changed.write_bytes(data[:end] + locator + data[end:-64])
        with_checksum(changed)
        assert "too many members" in refusal(changed)

    @pytest.mark.parametrize(
        ("flags", "method"), [(1, 0), (8, 0), (0x20, 0), (0, 12), (0, 14), (0, 99)]
    )
    def test_encrypted_members_and_other_compressions_are_refused(
        self, saved: Path, changed: Path, flags: int, method: int
    ) -> None:
        data = bytearray(saved.read_bytes())
        at = data.index(b"PK\1\2")
        data[at + 8 : at + 12] = struct.pack("<HH", flags, method)
        changed.write_bytes(data[:-64])
        with_checksum(changed)
        assert "encrypted or compressed" in refusal(changed)

    def test_sums_of_members_are_checked(self, saved: Path, changed: Path) -> None:
        """A changed byte of an array that its own sum does not tell of, but the file's does."""
        data = bytearray(saved.read_bytes()[:-64])
        data[data.index(b"PK\1\2") - 1] ^= 1
        changed.write_bytes(data)
        with_checksum(changed)
        assert "Bad CRC-32" in refusal(changed)


class TestArrays:
    @pytest.mark.parametrize(
        ("content", "message"),
        REFUSED_ARRAYS,
        ids=range(len(REFUSED_ARRAYS)),
    )
    def test_arrays_that_no_model_has_are_refused(
        self, changed: Path, content: bytes, message: str
    ) -> None:
        with_array([np.arange(3.0)], content, changed)
        assert message in refusal(changed)

    @pytest.mark.parametrize(
        "array",
        [
            np.arange(6.0).reshape(2, 3),
            np.asfortranarray(np.arange(6).reshape(2, 3)),
            np.array(["a", "long text"]),
            np.array(["\U0010ffff", "\ud800", "é" * 300_000]),
            np.array(["é", "\U0010ffff"], dtype=">U2"),
            np.array(["2020-01-01"], dtype="M8[ns]"),
            np.array(3.5),
            np.zeros((4, 0)),
            np.array([True, False]),
            np.arange(3, dtype=">i2"),
        ],
    )
    def test_arrays_are_loaded_as_they_are(self, array: np.ndarray) -> None:
        (found,) = saved_and_loaded([array])
        assert found.dtype == array.dtype
        assert found.flags.writeable
        assert found.flags.c_contiguous == array.flags.c_contiguous
        np.testing.assert_array_equal(found, array)

    @pytest.mark.parametrize("number", [np.float64(0.5), np.int32(3), np.bool_(1), np.str_("a")])
    def test_numbers_are_of_the_type_of_their_object(self, changed: Path, number: Any) -> None:
        (found,) = saved_and_loaded([number])
        assert type(found) is type(number)
        assert found == number
        for other in (np.array([number]), np.float32(1.0)):
            with_array([number], saved_array(other), changed)
            assert "of another type than its object" in refusal(changed)

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("dtype", ["f2", "f4", ">f8"])
    def test_missing_and_infinite_values_are_refused(
        self, tmp_path: Path, value: float, dtype: str
    ) -> None:
        array = np.zeros(300_000, dtype)
        array[-1] = value
        with pytest.raises(ValueError, match="'weights' in it are missing or infinite"):
            mercer.save({"weights": array}, tmp_path / "model.skops")
        with pytest.raises(ValueError, match="'weights' in it are missing or infinite"):
            mercer.save({"X_fit_": array, "weights": array}, tmp_path / "model.skops")
        found = saved_and_loaded({"X_fit_": array, "of": np.float64(value)})
        np.testing.assert_array_equal(found["X_fit_"], array)

    def test_missing_values_of_sparse_matrices_are_refused(self, tmp_path: Path) -> None:
        matrix = csr_matrix(np.array([[0.0, np.nan]]))
        with pytest.raises(ValueError, match="'weights' in it are missing or infinite"):
            mercer.save({"weights": matrix}, tmp_path / "model.skops")


class TestSparseMatrices:
    def test_a_matrix_is_loaded_as_it_is(self) -> None:
        (found,) = saved_and_loaded([MATRIX])
        assert type(found) is csr_matrix
        np.testing.assert_array_equal(found.toarray(), MATRIX.toarray())

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"shape.npy": None}, "other parts"),
            ({"data.npy": POINTERS}, "an array of a type that models lack"),
            ({"data.npy": saved_array(np.zeros(4), (10**9,))}, "not as long as its header"),
            ({"format.npy": saved_array(np.array(b"csc"))}, "does not consist of rows"),
            ({"indices.npy": saved_array(np.arange(4) * 10**6)}, "must be < 4"),
        ],
        ids=range(5),
    )
    def test_parts_that_no_matrix_has_are_refused(
        self, changed: Path, change: dict[str, bytes | None], message: str
    ) -> None:
        parts = parts_of(MATRIX) | change
        kept = {name: content for name, content in parts.items() if content is not None}
        with_array([MATRIX], compressed(kept), changed)
        assert message in refusal(changed)

    def test_overlapping_parts_are_refused(self, changed: Path, tmp_path: Path) -> None:
        (tmp_path / "parts.npz").write_bytes(compressed(parts_of(MATRIX)))
        add_members_of_the_same_bytes(tmp_path / "parts.npz", 1)
        with_array([MATRIX], (tmp_path / "parts.npz").read_bytes(), changed)
        assert "too many members" in refusal(changed)

    def test_other_compressions_are_refused(self, changed: Path) -> None:
        with_array([MATRIX], compressed(parts_of(MATRIX), ZIP_LZMA), changed)
        assert "compressed in other ways" in refusal(changed)

    def test_one_allowance_is_for_all_matrices(
        self, changed: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        matrices = [csr_matrix(np.ones((1, 10**5))) for _ in range(5)]
        mercer.save(matrices, changed)
        inflated = sum(map(len, parts_of(matrices[0]).values()))
        held = 5 * model_archives._INFLATION * inflated_from(changed)
        monkeypatch.setattr(model_archives, "_SMALL", 5 * inflated - held)
        assert len(mercer.load(changed)) == 5
        monkeypatch.setattr(model_archives, "_SMALL", 5 * inflated - held - 1)
        assert "sparse matrices inflate to many times their size" in refusal(changed)

    def test_what_matrices_inflate_to_has_to_fit_into_memory(
        self, changed: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        mercer.save([csr_matrix(np.ones((1, 10**5)))], changed)
        inflated = sum(map(len, parts_of(csr_matrix(np.ones((1, 10**5)))).values()))
        needed = 2 * (inflated + changed.stat().st_size)
        monkeypatch.setattr(model_archives, "available_memory", lambda: needed)
        mercer.load(changed)
        monkeypatch.setattr(model_archives, "available_memory", lambda: needed - 1)
        with pytest.raises(MemoryError, match="takes more memory than there is"):
            mercer.load(changed)
