"""The loader of data sets: files of a folder, and OpenML without one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.utils import Bunch

from experiments import data_sets
from experiments.data_sets import load_data_set


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with a dense set, a sparse one and one of two views."""
    X, y = np.arange(12.0).reshape(4, 3), np.array(["a", "b", "a", "b"])
    sparse = csr_array(X)
    parts = {key: getattr(sparse, key) for key in ("data", "indices", "indptr", "shape")}
    np.savez(tmp_path / "dense.npz", X=X, y=y, feature_names=np.array(["u", "v", "w"]))
    np.savez(tmp_path / "sparse.npz", y=y, **parts)
    np.savez(tmp_path / "twofold.npz", X=X, y=y, views='{"left": [0, 2], "right": [2, 3]}')
    (tmp_path / "index.json").write_text('{"dense": {"source": "made up"}}')
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_load_reads_every_kind_of_file() -> None:
    dense, sparse, twofold = map(load_data_set, ("dense", "sparse", "twofold"))
    assert dense.feature_names == ["u", "v", "w"]
    assert dense.DESCR == "made up"
    assert sparse.feature_names is None
    assert issparse(sparse.data)
    np.testing.assert_array_equal(sparse.data.toarray(), dense.data)
    np.testing.assert_array_equal(twofold.data[:, twofold.views["right"]], dense.data[:, 2:])
    assert dense.target.tolist() == ["a", "b", "a", "b"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["absent", "../dense", ""])
def test_load_names_the_sets_there_are(name: str) -> None:
    with pytest.raises(ValueError, match="dense, sparse, twofold"):
        load_data_set(name)


def test_load_needs_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MERCER_DATA", str(folder / "nowhere"))
    with pytest.raises(FileNotFoundError, match="MERCER_DATA"):
        load_data_set("dense")


def test_without_folder_load_asks_openml(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def fetch(**options: Any) -> Bunch:
        asked.append(options)
        return Bunch(data=np.zeros((2, 1)), target=np.zeros(2))

    monkeypatch.delenv("MERCER_DATA", raising=False)
    monkeypatch.setattr(data_sets, "fetch_openml", fetch)
    load_data_set("sonar")
    assert asked[0]["data_id"] == 40
    with pytest.raises(ValueError, match="australian, banana"):
        load_data_set("absent")
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("name", "shape", "n_classes"),
    [
        ("sonar", (208, 60), 2),
        ("letter", (20_000, 16), 26),
        ("sentiment_books", (2000, 4000), None),
        ("mfeat", (2000, 649), 10),
    ],
)
def test_real_sets_load(
    data: Callable[[str], Bunch], name: str, shape: tuple[int, int], n_classes: int | None
) -> None:
    bunch = data(name)
    assert bunch.data.shape == shape
    assert bunch.target.shape == shape[:1]
    assert n_classes is None or len(set(bunch.target.tolist())) == n_classes
