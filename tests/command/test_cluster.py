"""Fits on Dask clusters."""

from pathlib import Path

import numpy as np
import pytest
from command_cases import Run, call, error_line, response_table, write_folder

from mercer_command.files import load_model
from mercer_command.messages import InputError
from mercer_command.streaming import cluster_client

pytest.importorskip("pyarrow")
pytest.importorskip("distributed")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call the command beside a folder of Parquet files; more than 40 rows are approximated."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mercer._blocks.approximation.EXACT_ROWS", 40)
    write_folder(response_table(), Path("t"))
    return call


def test_workers_give_the_same_model(run: Run) -> None:
    arguments = ("fit", "t", "--target", "y", "--learner", "cka")
    assert run(*arguments, "--out", "here.skops").exit_code == 0
    result = run(*arguments, "--workers", 2, "--out", "workers.skops")
    assert result.exit_code == 0, result.output
    here, workers = (load_model(Path(f"{name}.skops")) for name in ("here", "workers"))
    frame = response_table()
    np.testing.assert_allclose(here.predict(frame), workers.predict(frame), rtol=1e-8)


def test_a_running_cluster_is_used_and_left_running_and_a_lost_one_is_an_error_in_one_line(
    run: Run,
) -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        result = run("fit", "t", "--target", "y", "--learner", "cka", "--cluster", address)
        assert result.exit_code == 0, result.output
        with pytest.raises(InputError, match="was lost"), cluster_client(address, None):
            raise RuntimeError("The Dask cluster was lost")
        with pytest.raises(RuntimeError, match="a defect"), cluster_client(address, None):
            raise RuntimeError("a defect")


def test_clusters_that_cannot_be_used(run: Run) -> None:
    Path("t.csv").write_text("a,y\n1,2\n")
    line = error_line(run("fit", "t.csv", "--target", "y", "--workers", 2))
    assert "are for Parquet files, and t.csv is none" in line
    line = error_line(run("fit", "t", "--target", "y", "--workers", 2, "--cluster", "tcp://a:1"))
    assert "exclude each other" in line
    address = "tcp://127.0.0.1:9"
    with (
        pytest.raises(InputError, match=f"there is no Dask cluster at {address}"),
        cluster_client(address, None, timeout="0.1s"),
    ):
        pass
