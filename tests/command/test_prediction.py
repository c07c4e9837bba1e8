"""Predictions of Parquet files, part by part."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_cases import Run, call, class_table, error_line, pd, response_table, write_folder

from mercer import ParquetSource
from mercer_command.files import load_model
from mercer_command.outside import Outside, rows_outside
from mercer_command.pipelines import make_model
from mercer_command.predictions import predict, rounded
from mercer_command.problem import as_problem

pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def _parts(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    """A folder with a model, and Parquet files that are read 16 rows at a time."""
    monkeypatch.setattr(ParquetSource, "rows_together", lambda self, n_columns: 16)


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
    result = run("predict m.skops t --out", out)
    assert "80 predictions" in result.stdout
    found = pd.read_csv(out) if out == "p.csv" else pd.read_parquet(out)
    model, table = load_model(Path("m.skops")), pd.read_parquet("t")
    assert found["prediction"].tolist() == model.predict(table).tolist()
    names = ["decision_cat & dog", "probability_<none>", "probability_cat & dog"]
    assert list(found) == ["prediction", *names]
    decisions = model.decision_function(table)
    np.testing.assert_allclose(found.iloc[:, 1], decisions, atol=5.1e-5)
    assert (np.sign(found.iloc[:, 1]) == np.sign(decisions)).all()
    assert found.iloc[:, 1].astype(str).str.len().median() <= 7
    notes = result.noted
    n_violet = int((table["color"] == "violet").sum())
    told = "80 rows have categories that the model did not learn from: 'color' 'violet'"
    assert f"some of {told} ({n_violet} rows)" in notes
    assert "ignored: 'kind'" in notes


def fitted(learner: str, table: Any, target: str) -> Any:
    problem = as_problem(table, target)
    model = make_model(learner, problem, np.arange(len(problem.target)))
    return model.fit(problem.features, problem.target)


def test_predictions_have_the_digits_of_the_target(run: Run) -> None:
    frame, rng = response_table(), np.random.default_rng(0)
    values = 100.0 * frame["y"] + rng.normal(size=len(frame))
    for decimals, expected in ((2, 2), (0, 1), (9, None)):
        frame["y"] = values.round(decimals)
        run("fit t.csv --target y --learner uniform --out r.skops", table=frame)
        run("predict r.skops t.csv --out p.csv")
        cells = pd.read_csv("p.csv", dtype=str)["prediction"]
        written = cells.str.split(".").str[1].str.len().max()
        model = load_model(Path("r.skops"))
        exact = model.predict(pd.read_csv("t.csv"))
        if expected is None:
            assert written > 9
        else:
            assert written == expected
            np.testing.assert_allclose(cells.astype(float), exact, atol=0.501 * 0.1**expected)


def test_small_probabilities_keep_two_digits() -> None:
    given = np.array([[0.123456, 0.876544], [3.14159e-7, 1.0 - 3.14159e-7], [0.0, 1.0]])
    found = rounded(pd.DataFrame(given, columns=["probability_a", "probability_b"]), None)
    assert found["probability_a"].tolist() == [0.1235, 3.1e-7, 0.0]
    assert found["probability_b"].tolist() == [0.8765, 1.0 - 3.1e-7, 1.0]
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-15)


def test_one_row_is_one_prediction(run: Run) -> None:
    class_table()[:1].assign(color="violet").to_csv("one.csv", index=False)
    result = run("predict m.skops one.csv --out p.csv")
    assert "1 prediction in p.csv" in result.stdout
    assert "the row has categories that the model did not learn from" in result.noted


def test_deviations_are_those_of_new_responses() -> None:
    frame = response_table()
    frame["y"] += np.random.default_rng(0).normal(size=len(frame))
    model = fitted("bayes", frame, "y")
    found = predict(model, model["reader"].transform(frame), None)
    noise = np.sqrt(np.mean(model[-1].noise_variance_))
    assert noise > 0.5
    assert (found["std"] > noise).all()


def test_missing_categories_are_not_new() -> None:
    frame = class_table()
    known = frame[frame["color"].notna()]
    changed = frame.assign(color=frame["color"].where(frame.index != 7, "violet"))
    model = fitted("uniform", known, "kind")
    found = rows_outside(model, model["reader"].transform(changed))
    assert found.new == {("color", "violet"): 1}


def test_an_interruption_leaves_no_incomplete_file(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(class_table(), Path("t"))
    before = sorted(Path().iterdir())
    parts = iter(range(2))

    def check(*arguments: Any) -> Outside:
        if next(parts, None) is None:
            raise KeyboardInterrupt
        return Outside()

    monkeypatch.setattr("mercer_command.predictions.rows_outside", check)
    result = call("predict m.skops t --out p.csv")
    assert result.exit_code == 130
    assert result.stderr.strip() == "mercer: interrupted"
    assert sorted(Path().iterdir()) == before


def test_text_in_a_later_part_is_an_error_without_a_file(run: Run) -> None:
    frame = class_table().assign(height="1.5")
    frame.loc[70, "height"] = "tall"
    write_folder(frame, Path("t"))
    line = error_line("predict m.skops t --out p.csv")
    assert "Column 'height' holds text, but the model needs numbers: 'tall'" in line
    assert not Path("p.csv").exists()


def test_kept_numbers_have_no_apostrophe_and_formulas_have_one(run: Run) -> None:
    cells = ["-0.032", "+7", "-1e-3", "=1+1", "-2+3", "@x", "--", "a"]
    frame = class_table().assign(nr=[cells[k % 8] for k in range(80)])
    frame.to_csv("new.csv", index=False)
    run("predict m.skops new.csv --out p.csv --keep nr")
    found = pd.read_csv("p.csv", dtype=str)["nr"].tolist()[:8]
    assert found == ["-0.032", "+7", "-1e-3", "'=1+1", "'-2+3", "'@x", "'--", "a"]


def test_columns_are_kept(run: Run) -> None:
    frame = class_table().assign(nr=[f"row {k}" for k in range(80)], prediction="old")
    frame.to_csv("new.csv", index=False)
    result = run("predict m.skops new.csv --out p.csv --keep", "nr, prediction")
    found = pd.read_csv("p.csv")
    assert list(found)[:3] == ["nr", "prediction (kept)", "prediction"]
    assert found["nr"].tolist() == frame["nr"].tolist()
    assert "'nr'" not in result.stderr
    write_folder(frame, Path("t"))
    run("predict m.skops t --out q.csv --keep nr")
    assert pd.read_csv("q.csv")["nr"].tolist() == frame["nr"].tolist()
    line = error_line("predict m.skops new.csv --out p.csv --keep id")
    assert (
        "--keep names 'id', which cannot be chosen (did you mean 'kind'?); choose from 'height'"
        in line
    )


def test_absent_columns_are_suggested(run: Run, model: str) -> None:
    frame = pd.read_csv("table.csv")
    frame.rename(columns={"flag": "Flag"}).to_csv("new.csv", index=False)
    told = error_line("predict", model, "new.csv", "--out", "p.csv")
    assert "lacks columns of the model: 'flag' (did you mean 'Flag'?)" in told


def test_empty_lines_are_predicted_or_named(run: Run) -> None:
    rows = class_table().drop(columns="kind")[:3]
    text = rows.to_csv(index=False) + "," * (rows.shape[1] - 1) + "\n"
    Path("new.csv").write_text(text, encoding="utf-8")
    result = run("predict m.skops new.csv --out p.csv")
    assert "the last line is empty and is left out" in " ".join(result.stderr.split())
    assert len(pd.read_csv("p.csv")) == 3


@pytest.mark.parametrize("share", [0.02, 0.5])
def test_words_among_numbers_are_missing_in_any_number_of_rows(run: Run, share: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=120).round(3)
    cells = np.where(rng.uniform(size=120) < share, "unknown", x.astype(str))
    table = pd.DataFrame({"x": cells, "z": rng.normal(size=120), "y": 2.0 * x})
    table.to_csv("t.csv", index=False)
    run("fit t.csv --target y --learner uniform --no-refit --out own.skops")
    run("predict own.skops t.csv --out p.csv")
    table[cells == "unknown"][:1].to_csv("one.csv", index=False)
    run("predict own.skops one.csv --out one_p.csv")
    expected = pd.read_csv("p.csv")["prediction"][cells == "unknown"].iloc[0]
    assert pd.read_csv("one_p.csv")["prediction"].tolist() == [expected]
