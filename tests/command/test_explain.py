"""Reasons of predictions: in words, as numbers and as cards, and the columns that matter."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_cases import Elements, Run, class_table, done, error_line, pd

from mercer.inspection import shapley_values
from mercer_command.files import load_model

N = 60


def weights() -> Any:
    """A response in kilograms, a number with decimal commas, and missing cells."""
    rng = np.random.default_rng(0)
    height = rng.normal(1.7, 0.1, N).round(2)
    age = rng.integers(20, 80, N)
    town = rng.choice(["Bern", "Basel"], N)
    y = 25.0 * height**2 + 0.2 * age + 3.0 * (town == "Bern") * (height > 1.7)
    cells = [f"{h:.2f}".replace(".", ",") for h in height]
    cells[4] = "n/a"
    return pd.DataFrame(
        {"height (m)": cells, "age": age, "town": town, "weight (kg)": y.round(1).astype(str)}
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, its model of products, and a stack."""
    found = tmp_path_factory.mktemp("weights")
    table = found / "table.csv"
    weights().to_csv(table, index=False, sep=";")
    for learner, name in (("uniform", "m.skops"), ("stacking", "s.skops")):
        options = f"--target 'weight (kg)' --learner {learner} --no-refit"
        done(f"fit {table} {options} --out {found / name}")
    return found


def typed(folder: Path, name: str = "m.skops") -> tuple[Any, Any]:
    """A model and its table, as text and as it is read."""
    model = load_model(folder / name)
    return model, pd.read_csv(folder / "table.csv", sep=";", dtype=str, keep_default_na=False)


@pytest.mark.parametrize("name", ["m.skops", "s.skops"])
def test_reasons_of_all_rows_are_written(run: Run, folder: Path, name: str) -> None:
    run("explain", folder / name, folder / "table.csv", "--out", "why.csv")
    found = pd.read_csv("why.csv")
    model, cells = typed(folder, name)
    assert len(found) == N
    run("predict", folder / name, folder / "table.csv", "--out", "p.csv")
    assert found["prediction"].tolist() == pd.read_csv("p.csv")["prediction"].tolist()
    values = shapley_values(model[1:], model["reader"].transform(cells)[:10])
    columns = [f"contribution_{column}" for column in ("height (m)", "age", "town")]
    assert list(found) == ["prediction", "why_1", "why_2", "why_3", *columns]
    sums = found[columns].sum(axis=1) + values.base_value
    # Predictions have one decimal, as the responses have.
    np.testing.assert_allclose(sums, model.predict(cells), atol=2e-3)
    if name == "m.skops":
        np.testing.assert_allclose(found[columns][:10], values.values, atol=5.1e-4)
    # The largest contribution has five digits.
    largest = found[columns].abs().max(axis=None)
    assert 1.0 <= largest < 100.0
    assert (found[columns].round(4 if largest < 10.0 else 3) == found[columns]).all(axis=None)
    row = cells.iloc[0]
    phrases = {phrase.split(":")[0] for phrase in found.loc[0, ["why_1", "why_2", "why_3"]]}
    # Cells are as they were written.
    assert phrases == {f"{column} {row[column]}" for column in ("height (m)", "age", "town")}
    assert found["why_1"].str.contains(r": [\d.]+ kg (?:above|below) the average row$").all()
    reasons = found.loc[4, ["why_1", "why_2", "why_3"]]
    assert reasons.str.startswith("height (m) missing: ").sum() == 1


def test_the_error_comes_first_where_the_target_is_known(run: Run, folder: Path) -> None:
    result = run("explain", folder / "m.skops", folder / "table.csv", "--details")
    titles = ["Error (RMSE) of 15 held-out rows", "Why: ", "Columns that matter", "Kernels found"]
    places = [result.stdout.index(title) for title in titles]
    assert places == sorted(places)


def test_rows_without_their_target_are_explained(run: Run, folder: Path) -> None:
    weights().assign(**{"weight (kg)": [""] * 30 + ["70.5"] * 30}).to_csv("t.csv", sep=";")
    result = run("explain", folder / "m.skops", "t.csv", "--out", "why.csv")
    assert "Error (RMSE) of 30" in result.stdout
    assert len(pd.read_csv("why.csv")) == N


def test_few_rows_have_no_error(run: Run, folder: Path) -> None:
    weights()[:3].to_csv("t.csv", sep=";", index=False)
    assert "RMSE" not in run("explain", folder / "m.skops", "t.csv", "--report", "e.html").stdout


def test_a_page_explains_fifty_rows(run: Run, folder: Path) -> None:
    run("explain", folder / "m.skops", folder / "table.csv", "--report", "e.html")
    page = Elements("e.html")
    assert page.text.count(" kg, average row ") == 50
    assert page.text.count("the average row") >= 100
    assert "script" not in page.tags


def test_contributions_to_classes_are_factors_of_odds(run: Run, model: str) -> None:
    run("explain", model, "table.csv", "--report", "e.html")
    told = " ".join(Elements("e.html").text.split())
    assert "multiplies the odds of cat & dog by" in told
    assert "log-odds" not in told


def test_contributions_to_counts_are_factors(run: Run) -> None:
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 80))
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "y": rng.poisson(np.exp(1.0 + a * b))})
    run("fit t.csv --target y --task count --out m.skops --report f.html", table=frame)
    frame[:20].drop(columns="y").to_csv("new.csv", index=False)
    result = run("explain m.skops new.csv --report e.html --out why.csv")
    predicted = pd.read_csv("why.csv")["prediction"]
    shown = re.search(r"Expected count ([\d.]+), average row", result.said)
    assert shown is not None
    assert float(shown[1]) == pytest.approx(predicted[0], abs=0.051)
    told = " ".join((Elements("e.html").text + Elements("f.html").text).split())
    assert "multiplies the expected count by" in told
    assert "Count x 2: the column doubles or halves the count" in told
    assert "log rate" not in told.lower()


def test_the_page_draws_the_columns_in_their_order(run: Run, folder: Path) -> None:
    weights().drop(columns="weight (kg)").to_csv("t.csv", sep=";", index=False)
    run("explain", folder / "m.skops", "t.csv", "--report", "e.html")
    page = Path("e.html").read_text(encoding="utf-8")
    assert "Mean absolute contribution to the" in page
    matter = page[page.index("<h2>Columns that matter") :]
    table, curves = matter.split("How predictions depend on columns")
    cells = re.findall(r"<tr><td>([^<]*)</td>", table)[:3]
    assert re.findall(r"had this value of ([^<]*)\.<", curves) == cells


def test_predicted_classes_are_explained(run: Run, model: str) -> None:
    assert "Predicted <none>." in run("explain", model, "table.csv", "--out", "why.csv").stdout
    assert pd.read_csv("why.csv")["contribution_flag"].notna().all()
    other = class_table()
    other.loc[:3, "kind"] = "bird"
    other.to_csv("t.csv", index=False)
    result = run("explain", model, "t.csv", "--report", "e.html")
    assert "Error (share misclassified) of 18 held-out rows" in result.stdout
    told = "of classes that the model was not fitted to are left out: 2"
    assert told in Elements("e.html").text
    other["kind"] = "bird"
    other.to_csv("t.csv", index=False)
    result = run("explain", model, "t.csv", "--report", "e.html")
    assert "classes that the model was not fitted to are left out" in result.said


def test_dates_are_explained_in_days(run: Run) -> None:
    frame = weights()
    days = pd.to_timedelta(pd.to_numeric(frame["weight (kg)"]).round(), "D")
    frame["weight (kg)"] = (pd.Timestamp("2024-01-01") + days).dt.strftime("%Y-%m-%d")
    frame.to_csv("t.csv", index=False, sep=";")
    run("fit t.csv --target", "weight (kg)", "--learner", "uniform", "--out", "m.skops")
    result = run("explain m.skops t.csv --out why.csv")
    found = pd.read_csv("why.csv")
    assert found["prediction"].str.startswith("2024-").all()
    assert found["why_1"].str.contains(" days (?:above|below) the average row").all()
    assert "Prediction 2024-" in result.stdout


def test_bad_options(run: Run, folder: Path) -> None:
    model, table = folder / "m.skops", folder / "table.csv"
    assert "would overwrite" in error_line("explain", model, table, "--out", table)
    weights().drop(columns="age").to_csv("t.csv", index=False, sep=";")
    line = error_line("explain", model, "t.csv", "--out", "why.csv")
    assert "lacks columns of the model: 'age'" in line
    assert not Path("why.csv").exists()


def test_saved_models_are_explained_in_python(folder: Path) -> None:
    """The reader of tables handles each column by itself."""
    model, cells = typed(folder)
    found = shapley_values(model, cells[:5])
    expected = shapley_values(model[1:], model["reader"].transform(cells)[:5])
    np.testing.assert_allclose(found.values, expected.values)
    assert found.data[0].tolist() == cells.iloc[0, :3].tolist()


@pytest.mark.parametrize("name", ["m.skops", "s.skops"])
def test_columns_matter_by_contributions_where_no_target_is_known(
    run: Run, folder: Path, name: str
) -> None:
    model, cells = typed(folder, name)
    cells[:6].drop(columns="weight (kg)").to_csv("t.csv", index=False)
    result = run("explain", folder / name, "t.csv", "--report", "r.html")
    told = result.stdout[result.stdout.index("Columns that matter") :]
    assert "how far they move predictions" in told
    values = shapley_values(model[1:], model["reader"].transform(cells[:6]))
    sizes = dict(zip(values.feature_names, np.abs(values.values).mean(axis=0), strict=True))
    shown = [re.search(rf"{re.escape(column)} +([\d.]+)", told) for column in sizes]
    assert [float(one[1]) for one in shown if one] == pytest.approx([*sizes.values()], rel=0.01)


def test_reasons_name_the_cells_of_their_columns(run: Run) -> None:
    """The most important column is not the first, and the table has its target."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"small": rng.integers(10, 90, N), "large": rng.integers(1000, 9000, N)})
    table["y"] = 0.01 * table["large"] + 0.1 * table["small"]
    table.to_csv("t.csv", index=False)
    run("fit t.csv --target y --learner uniform --no-refit --out m.skops")
    run("explain m.skops t.csv --out why.csv")
    found = pd.read_csv("why.csv")
    told = found[["why_1", "why_2"]].astype(str).agg(" ".join, axis=1)
    for words, small, large in zip(told, table["small"], table["large"], strict=True):
        assert re.findall(r"large (\d+)", words) in ([], [str(large)])
        assert re.findall(r"small (\d+)", words) in ([], [str(small)])


def test_targets_are_read_like_the_columns_of_their_table(run: Run, folder: Path) -> None:
    _, cells = typed(folder)
    point = cells.apply(lambda column: column.str.replace(",", ".", regex=False))
    comma = point.apply(lambda column: column.str.replace(".", ",", regex=False))
    said = []
    for table, separator in ((cells, ";"), (comma, ";"), (point, ",")):
        table.to_csv("t.csv", index=False, sep=separator)
        # Cells are told as they are written.
        said.append(run("explain", folder / "m.skops", "t.csv").said.replace(",", "."))
    assert "tried on 15 rows with their targets" in said[0]
    assert said[0] == said[1] == said[2]


def test_an_empty_target_is_to_be_predicted(run: Run, folder: Path) -> None:
    _, cells = typed(folder)
    cells.assign(**{"weight (kg)": ""}).to_csv("t.csv", index=False, sep=";")
    empty = run("explain", folder / "m.skops", "t.csv").said
    cells.drop(columns="weight (kg)").to_csv("t.csv", index=False, sep=";")
    assert run("explain", folder / "m.skops", "t.csv").said == empty
