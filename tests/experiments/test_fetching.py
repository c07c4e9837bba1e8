"""Data sets that are fetched from public sources, with sources that need no network."""

import json
import os
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pytest
from sklearn.utils import Bunch
from typer.testing import CliRunner

from experiments import __main__ as command
from experiments import fetching
from experiments.data_sets import load_data_set
from experiments.fetching import PUBLIC, digest, fetch_sets, labels, public_names


@pytest.fixture
def folder(data: Any) -> Path:
    """The folder of data sets; tests skip without one."""
    del data
    return Path(os.environ["MERCER_DATA"])


def bunch(name: str, folder: Path) -> Bunch:
    """A real set as OpenML would give it, with other names of its classes."""
    found = np.load(folder / f"{name}.npz")
    spelled = {-1: "absent", 1: "present"}
    y = np.array([spelled[int(label)] for label in found["y"]])
    return Bunch(data=found["X"], target=y, feature_names=found["feature_names"].tolist())


def test_a_fetched_set_is_read_like_the_one_of_the_records(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [line] = fetch_sets(tmp_path, ["heart"], openml=lambda identifier: bunch("heart", folder))
    assert line == "heart: fetched from OpenML 53"
    known = load_data_set("heart")
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    found = load_data_set("heart")
    np.testing.assert_array_equal(found.data, known.data)
    np.testing.assert_array_equal(found.target, known.target)
    assert found.target.dtype == known.target.dtype
    assert found.DESCR == "OpenML 53"
    assert {path.name for path in tmp_path.iterdir()} == {"heart.npz", "index.json"}
    assert list(fetch_sets(tmp_path, ["heart"])) == ["heart: there already"]


def test_other_values_are_noted_and_other_shapes_refused(folder: Path, tmp_path: Path) -> None:
    heart = bunch("heart", folder)
    heart.data = heart.data + 0.01
    [line] = fetch_sets(tmp_path / "other", ["heart"], openml=lambda _: heart)
    assert "its values differ from those that the records were made with" in line
    heart.data, heart.target = heart.data[1:], heart.target[1:]
    with pytest.raises(ValueError, match="classes have"):
        list(fetch_sets(tmp_path, ["heart"], openml=lambda _: heart))
    narrow = bunch("heart", folder)
    narrow.data, narrow.feature_names = narrow.data[:, 1:], narrow.feature_names[1:]
    with pytest.raises(ValueError, match="'heart' has the shape"):
        list(fetch_sets(tmp_path, ["heart"], openml=lambda _: narrow))
    assert not list(tmp_path.glob("*.npz"))


def test_without_a_network_the_command_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(address: str, timeout: float) -> bytes:
        raise URLError("no route to host")

    monkeypatch.setattr(fetching, "urlopen", unreachable)
    result = CliRunner().invoke(command.app, ["fetch", "banana", "--data", str(tmp_path)])
    assert result.exit_code == 1
    said = " ".join(result.stderr.split())
    assert "'banana' could not be fetched (no route to host); fetching needs a network" in said
    assert not list(tmp_path.iterdir())


def test_sets_without_a_source_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'sentiment_books' has no public source"):
        list(fetch_sets(tmp_path / "sets", ["banana", "sentiment_books"]))
    assert not list(tmp_path.iterdir())
    assert set(PUBLIC) - set(public_names()) == {"sentiment_books"}


def test_what_is_known_of_sets_is_true_of_the_folder(folder: Path) -> None:
    index = json.loads((folder / "index.json").read_text())
    assert set(index) == set(PUBLIC)
    for name in ("zoo", "german", "vehicle"):
        found = np.load(folder / f"{name}.npz")
        assert list(found["X"].shape) == PUBLIC[name]["shape"]
        assert digest(found["X"][::-1]) == PUBLIC[name]["digest"]


def test_labels_are_matched_by_name_by_frequency_or_by_order() -> None:
    assert labels(np.array([" b", "a", "a "]), {"a": 2, "b": 1}, "str").tolist() == ["b", "a", "a"]
    assert labels(np.array(["x", "y", "y"]), {"-1": 2, "1": 1}, "int64").tolist() == [1, -1, -1]
    tenth = labels(np.array(["10", "2", "1"]), {"0": 1, "1": 1, "2": 1}, "int64")
    assert tenth.tolist() == [2, 1, 0]
