"""Fits and predictions on Dask clusters."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_cases import Run, class_table, done, error_line, pd, response_table, write_folder

from mercer import ParquetSource
from mercer._blocks import tables
from mercer._estimators.stacking import drawn_views
from mercer._nystroem import second_stage
from mercer_command import predictions
from mercer_command.files import load_model
from mercer_command.messages import InputError
from mercer_command.outside import Outside
from mercer_command.streaming import cluster_client

pytest.importorskip("pyarrow")
pytest.importorskip("distributed")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call the command beside a folder of Parquet files; more than 40 rows are approximated."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mercer._blocks.approximation.EXACT_ROWS", 40)
    write_folder(response_table(), Path("t"))
    return done


def test_workers_give_the_same_model(run: Run) -> None:
    arguments = ("fit", "t", "--target", "y", "--learner", "cka")
    run(*arguments, "--out", "here.skops")
    run(*arguments, "--workers", 2, "--out", "workers.skops")
    here, workers = (load_model(Path(f"{name}.skops")) for name in ("here", "workers"))
    frame = response_table()
    np.testing.assert_allclose(here.predict(frame), workers.predict(frame), rtol=1e-8)


def test_a_running_cluster_is_used_and_left_running_and_a_lost_one_is_an_error_in_one_line(
    run: Run,
) -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        run("fit t --target y --learner cka --cluster", address)
        with pytest.raises(InputError, match="was lost"), cluster_client(address, None):
            raise RuntimeError("The Dask cluster was lost")
        with pytest.raises(RuntimeError, match="a defect"), cluster_client(address, None):
            raise RuntimeError("a defect")


def test_clusters_that_cannot_be_used(run: Run, model: str) -> None:
    Path("t.csv").write_text("a,y\n1,2\n")
    for words in ("fit t.csv --target y", f"predict {model} t.csv --out p.csv"):
        assert "are for Parquet files, and t.csv is none" in error_line(f"{words} --workers 2")
    assert "exclude each other" in error_line("fit t --target y --workers 2 --cluster tcp://a:1")
    address = "tcp://127.0.0.1:9"
    with (
        pytest.raises(InputError, match=f"there is no Dask cluster at {address}"),
        cluster_client(address, None, timeout="0.1s"),
    ):
        pass


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers take a row group each, of 20 rows at most."""
    pieces = ParquetSource.pieces
    monkeypatch.setattr(ParquetSource, "pieces", lambda self: pieces(self, 1))


@pytest.mark.usefixtures("small_pieces")
def test_workers_predict_all_rows_in_order(run: Run, model: str) -> None:
    frame = class_table().assign(color=np.resize(["violet", "red", "green", "black"], 80))
    write_folder(frame, Path("classes"))
    run("predict", model, "classes", "--out", "here.csv")
    result = run("predict", model, "classes", "--out", "p.parquet", "--workers", 2)
    assert "80 predictions in p.parquet" in result.stdout
    pd.testing.assert_frame_equal(pd.read_parquet("p.parquet"), pd.read_csv("here.csv"))
    notes = result.noted
    told = "40 of 80 rows have categories that the model did not learn from: 'color' 'violet'"
    assert told in notes
    assert "ignored: 'kind'" in notes


@dataclass(frozen=True)
class Dying:
    """A prediction, in which the worker of the last rows dies, once or each time."""

    mark: Path
    rows: int
    always: bool = False

    def __call__(self, frame: Any) -> tuple[Any, Any]:
        if frame["a"].iloc[-1] == self.rows and (self.always or not self.mark.exists()):
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return frame, Outside(len(frame))


@pytest.mark.usefixtures("small_pieces")
def test_workers_that_die_while_rows_are_predicted(
    run: Run, cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pd.DataFrame({"a": np.arange(70.0), "b": 0.0, "y": 0.0})
    write_folder(frame, Path("numbers"))
    run("fit t --target y --learner cka --out m")
    arguments = ("predict", "m", "numbers", "--out", "p.csv", "--cluster")
    dying = Dying(tmp_path / "died", 69)
    monkeypatch.setattr(predictions, "partial", lambda *_, **__: dying)
    run(*arguments, cluster.scheduler_address)
    assert dying.mark.exists()
    assert pd.read_csv("p.csv")["a"].tolist() == frame["a"].tolist()
    Path("p.csv").unlink()
    before = sorted(Path().iterdir())
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    monkeypatch.setattr(predictions, "partial", lambda *_, **__: Dying(dying.mark, 69, True))
    line = error_line(*arguments, cluster.scheduler_address)
    assert "Several workers of the Dask cluster died in the same task" in line
    assert sorted(Path().iterdir()) == before


@dataclass(frozen=True)
class DyingSums(second_stage.NormalEquations):
    """Sums of products of features, in which each worker dies."""

    def start(self) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.usefixtures("small_pieces")
def test_workers_that_die_while_products_are_summed_leave_no_model(
    run: Run, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = tables.drawn_rows
    monkeypatch.setattr(
        tables, "drawn_rows", lambda *args, **settings: drawn(*args, **settings, max_rows=40)
    )
    monkeypatch.setattr(drawn_views, "_MOST_ESTIMATOR_ROWS", 45)
    arguments = ("fit", "t", "--target", "y", "--out", "m.skops", "--cluster")
    run(*arguments, cluster.scheduler_address)
    Path("m.skops").unlink()
    before = sorted(Path().iterdir())
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    monkeypatch.setattr(second_stage, "NormalEquations", DyingSums)
    line = error_line(*arguments, cluster.scheduler_address)
    assert "Several workers of the Dask cluster died in the same task" in line
    assert sorted(Path().iterdir()) == before
