"""Tables of many more columns than rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_cases import Run, call, pd

from mercer_command import models
from mercer_command.files import load_model
from mercer_command.importances import columns_that_matter, most_measured

N_COLUMNS = 1100


def wide() -> Any:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, N_COLUMNS)).round(4)).add_prefix("g")
    return frame.assign(y=np.where(frame["g7"] + 0.3 * rng.normal(size=60) > 0.0, "up", "down"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table and its model."""
    found = tmp_path_factory.mktemp("wide")
    wide().to_csv(found / "t.csv", index=False)
    told = call(f"fit {found}/t.csv --target y --out {found}/m.skops")
    (found / "told.txt").write_text(told.stdout)
    return found


def test_the_columns_that_are_shuffled_are_counted(folder: Path) -> None:
    told = " ".join((folder / "told.txt").read_text().split())
    assert f"{most_measured(N_COLUMNS)} of 1,100 columns were shuffled" in told
    reader = load_model(folder / "m.skops")["reader"]
    np.testing.assert_array_equal(reader.ranges_[:, 1], wide().iloc[:, :-1].max())


def test_a_few_columns_are_explained_one_by_one(run: Run, folder: Path) -> None:
    n_alone = most_measured(N_COLUMNS)
    wide().head(4).to_csv("new.csv", index=False)
    run("explain", folder / "m.skops", "new.csv", "--out", "why.csv")
    found = pd.read_csv("why.csv").filter(like="contribution_")
    assert found.shape == (4, n_alone + 1)
    assert f"contribution_the other {N_COLUMNS - n_alone:,} columns" in found


def test_without_a_target_columns_that_correlate_with_predictions_come_first(folder: Path) -> None:
    model = load_model(folder / "m.skops")
    found = columns_that_matter(model, model["reader"].transform(wide()), None)
    assert "g7" in [one.name for one in found[:3]]
    assert len({one.name for one in found}) == N_COLUMNS


def test_a_model_is_saved_if_a_later_step_fails(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*given: object, **settings: object) -> None:
        raise RuntimeError("no importances")

    monkeypatch.setattr(models, "columns_that_matter", failing)
    wide().iloc[:, -5:].to_csv("t.csv", index=False)
    call("fit t.csv --target y --learner uniform --out m.skops")
    model = load_model(Path("m.skops"))
    assert len(model["reader"].row_hashes_) < 60  # It is the tested one.
