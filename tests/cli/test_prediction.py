"""Predictions of Parquet files, part by part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_cases import Run, call, class_table, error_line, pd, write_folder

from mercer import ParquetSource
from mercer._cli.models import load_model

pytest.importorskip("pyarrow")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call the command in a folder with a model, and read Parquet files 16 rows at a time."""
    monkeypatch.chdir(tmp_path)
    class_table().to_csv("table.csv", index=False)
    call("fit", "table.csv", "--target", "kind", "--learner", "uniform", "--out", "m.skops")
    monkeypatch.setattr(ParquetSource, "rows_together", lambda self, n_columns: 16)
    return call


def interrupt(*arguments: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize("out", ["p.csv", "p.parquet"])
def test_all_rows_of_a_folder_are_predicted_in_order(
    run: Run, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    frame = class_table()
    frame.loc[[0, 40, 79], "kind"] = None
    write_folder(frame.assign(color=frame["color"].replace("red", "violet")), Path("t"))
    monkeypatch.setattr(ParquetSource, "take_raw", interrupt)
    result = run("predict", "m.skops", "t", "--out", out)
    assert result.exit_code == 0, result.output
    assert "80 predictions" in result.stdout
    found = pd.read_csv(out) if out == "p.csv" else pd.read_parquet(out)
    model, table = load_model(Path("m.skops")), pd.read_parquet("t")
    assert found["prediction"].tolist() == model.predict(table).tolist()
    np.testing.assert_allclose(found.iloc[:, 1], model.decision_function(table))
    notes = " ".join(result.stderr.split())
    n_violet = int((table["color"] == "violet").sum())
    assert f"{n_violet} rows hold categories of 'color' that the model was not fitted on" in notes
    assert "ignored: 'kind'" in notes


def test_an_interruption_leaves_no_incomplete_file(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(class_table(), Path("t"))
    before = sorted(Path().iterdir())
    parts = iter(range(2))

    def check(*arguments: Any) -> None:
        if next(parts, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr("mercer._cli.prediction._count_new_categories", check)
    result = run("predict", "m.skops", "t", "--out", "p.csv")
    assert result.exit_code == 130
    assert result.stderr.strip() == "mercer: interrupted"
    assert sorted(Path().iterdir()) == before


def test_text_in_a_later_part_is_an_error_without_a_file(run: Run) -> None:
    frame = class_table().assign(height="1.5")
    frame.loc[70, "height"] = "tall"
    write_folder(frame, Path("t"))
    line = error_line(run("predict", "m.skops", "t", "--out", "p.csv"))
    assert "Column 'height' holds text, but the model needs numbers: 'tall'" in line
    assert not Path("p.csv").exists()


def test_tables_without_rows_or_columns_are_errors(run: Run) -> None:
    class_table()[:0].to_parquet("none.parquet")
    assert "has no rows" in error_line(run("predict", "m.skops", "none.parquet", "--out", "p.csv"))
    class_table()[["flag"]].to_parquet("few.parquet")
    line = error_line(run("predict", "m.skops", "few.parquet", "--out", "p.csv"))
    assert "lacks columns of the model: 'height', 'width of it', 'color'" in line
