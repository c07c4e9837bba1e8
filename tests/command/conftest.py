"""An empty folder to call the command in, and a model that several tests use."""

from pathlib import Path
from shutil import copy

import pytest
from command_cases import Run, class_table, done


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call the command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return done


@pytest.fixture(scope="session")
def fitted_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, `table.csv`, and a model of it, `m.skops`."""
    folder = tmp_path_factory.mktemp("model")
    class_table().to_csv(folder / "table.csv", index=False)
    options = "--target kind --learner uniform --no-refit"
    done(f"fit {folder}/table.csv {options} --out {folder}/m.skops")
    return folder


@pytest.fixture
def model(run: Run, fitted_folder: Path) -> str:
    """The model's name in the current folder, beside its table."""
    for path in fitted_folder.iterdir():
        copy(path, path.name)
    return "m.skops"
