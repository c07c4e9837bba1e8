"""Files of data sets and of tables, and random splits of tables."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, issparse

from experiments.data_sets import load_data_set
from experiments.tabular import table_files
from experiments.tabular.table_files import (
    load_table,
    table_split,
)

N_ROWS = 60


@pytest.fixture
def _made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder with a table of classes, one of which has two rows, and one of responses."""
    rng = np.random.default_rng(0)
    color = rng.choice(["red", "green", ""], N_ROWS)
    frame = pd.DataFrame({"size": rng.random(N_ROWS), "color": color, "level": np.arange(N_ROWS)})
    frame["level"] = frame["level"] % 3
    labels = np.array(["rare"] * 2 + ["no"] * 30 + ["yes"] * 28)
    entries = {}
    (tmp_path / "tables").mkdir()
    for name, target in (("fruit", labels), ("weight", 7.0 * rng.random(N_ROWS))):
        path = tmp_path / "tables" / f"{name}.csv.gz"
        frame.assign(target=target).to_csv(path, index=False)
        task = "classification" if name == "fruit" else "regression"
        categories = ["color", "level"]
        entries[name] = {"task": task, "target": "target", "categories": categories}
    (tmp_path / "tables" / "index.json").write_text(json.dumps(entries))
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    load_table.cache_clear()
    yield
    load_table.cache_clear()


@pytest.mark.usefixtures("_made_up")
def test_categories_and_missing_values_are_kept() -> None:
    table = load_table("fruit")
    assert [str(kind) for kind in table.frame.dtypes] == ["float64", "category", "category"]
    assert set(table.frame["color"].cat.categories) == {"red", "green"}
    assert table.frame["color"].isna().any()
    assert set(table.frame["level"].cat.categories) == {"0", "1", "2"}
    assert not table.plain
    assert set(table.target) == {0, 1, 2}
    assert load_table("weight").target.dtype == np.float64


@pytest.mark.usefixtures("_made_up")
def test_splits_are_disjoint_stratified_and_repeatable(monkeypatch: pytest.MonkeyPatch) -> None:
    first, again, other = (table_split("fruit", 40, repeat) for repeat in (0, 0, 1))
    assert first.X_train.equals(again.X_train)
    assert first.X_test.equals(again.X_test)
    assert not first.X_train.equals(other.X_train)
    assert len(first.y_train) == 40
    assert len(first.y_test) == N_ROWS - 40
    sizes = set(first.X_train["size"]) & set(first.X_test["size"])
    assert not sizes
    counts = np.sort(np.bincount(first.y_train))
    np.testing.assert_allclose(counts[-2:], [19, 20], atol=1)
    monkeypatch.setattr(table_files, "MAX_TEST", 15)
    assert len(table_split("fruit", 40, 0).y_test) == 15


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
