"""Tables, and their random splits."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.studies.tables import sizes_by_problem
from experiments.tabular import table_files
from experiments.tabular.table_files import (
    CLASSES,
    MIN_TEST,
    MIXED,
    SETS,
    SIZES,
    TABLES,
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


@pytest.mark.usefixtures("_made_up")
def test_classes_of_training_rows_have_the_first_codes() -> None:
    for repeat in range(5):
        split = table_split("fruit", 20, repeat)
        assert set(split.y_train) == set(range(split.y_train.max() + 1))
        assert split.n_classes == 3
    codes = table_files._codes(np.array([5, 2, 5]), np.array([1, 5, 2, 9]))
    np.testing.assert_array_equal(codes[0], [1, 0, 1])
    np.testing.assert_array_equal(codes[1], [2, 1, 0, 3])


@pytest.mark.usefixtures("_made_up")
def test_responses_have_the_deviation_of_the_whole_table_as_their_unit() -> None:
    split = table_split("weight", 40, 0)
    assert split.n_classes == 0
    assert split.scale == pytest.approx(load_table("weight").target.std())
    assert table_split("fruit", 40, 0).scale == 1.0


def test_an_unknown_table_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="no data set 'nothing'"):
        load_table("nothing")


@pytest.mark.parametrize("name", [*TABLES, *SETS])
def test_the_experiment_knows_rows_tasks_and_types(name: str, data: object) -> None:
    del data
    load_table.cache_clear()
    table = load_table(name)
    assert len(table.target) == {**TABLES, **SETS}[name]
    assert (table.task == "classification") == (name in CLASSES)
    if name in TABLES:
        assert table.plain == (name not in MIXED)


def test_every_problem_leaves_rows_for_a_test() -> None:
    problems = sizes_by_problem()
    for name, n_train in problems.values():
        left = {**TABLES, **SETS}[name] - n_train
        assert left >= (MIN_TEST if name in TABLES else n_train)
    assert [n for _, n in problems.values()][: len(TABLES)] == [SIZES[0]] * len(TABLES)
