"""Ten tables as people have them are read, learned from and predicted by the command."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_cases import Elements, done, pd
from ten_tables import BAD_TABLES, LONG_NAME, N_ROWS, BadTable

from mercer_command.columns import Column
from mercer_command.files import load_model
from mercer_command.problem import Problem, as_problem, unit_of
from mercer_command.table_files import read_cells

ROLES: dict[str, dict[str, str]] = {
    "decimal_comma.csv": {"Fläche": "number", "Zimmer": "number"},
    "unicode.txt": {"größe": "number", "miasto": "category"},
    "latin1.csv": {"Urteil über uns": "text", "Rechnung": "number"},
    "thousands.csv": {"people": "number", "rate": "number"},
    "dates.csv": {"day": "date", "time": "time"},
    "date_target.csv": {"ordered": "date", "km": "number"},
    "odd_names.csv": {LONG_NAME: "number", "two\nlines": "number"},
    "lonely_class.csv": {
        "nr": "identifier",
        "uuid": "identifier",
        "x": "number",
        "region": "constant",
        "remark": "empty",
    },
    "leak.csv": {"income": "number", "age": "number", "closing fee": "number"},
    "excel.csv.gz": {"shop": "category", "units": "number"},
}
"""The roles of columns that the tables were made for."""

REPORTED = {"thousands.csv", "odd_names.csv"}
"""Tables of which a report is written, one of each task."""

READ_ALIKE = {"decimal_comma", "unicode", "latin1", "leak"}
"""Tables whose columns have only roles that the other tables have as well."""

MOST_ERROR = 0.5
"""The error relative to that of the constant; each table's columns explain most of its target."""


def problem_of(table: BadTable, folder: Path) -> Problem:
    path = folder / table.name
    path.write_bytes(table.content)
    return as_problem(read_cells(path), table.target)


@pytest.mark.parametrize("make", BAD_TABLES, ids=lambda make: make.__name__)
def test_columns_are_recognized(make: Callable[[], BadTable], tmp_path: Path) -> None:
    table = make()
    problem = problem_of(table, tmp_path)
    roles = {column.name: column.role for column in problem.columns}
    assert roles.items() >= ROLES[table.name].items()
    assert len(problem.target) == N_ROWS - (table.name == "lonely_class.csv")


def column_of(name: str, table: BadTable, folder: Path) -> tuple[Column, Any]:
    problem = problem_of(table, folder)
    [column] = [column for column in problem.columns if column.name == name]
    return column, problem.features[name]


def test_notations_are_told(tmp_path: Path) -> None:
    tables = {make.__name__: make() for make in BAD_TABLES}
    column, _ = column_of("people", tables["thousands"], tmp_path)
    assert column.describe() == "commas between thousands; 4.2% missing"
    column, values = column_of("rate", tables["thousands"], tmp_path)
    assert column.describe() == "in %"
    assert values.between(0, 40).all()
    column, values = column_of("Fläche", tables["decimal_comma"], tmp_path)
    assert column.describe() == "decimal comma"
    assert values.between(20, 150).all()
    column, values = column_of("units", tables["excel"], tmp_path)
    assert column.describe() == "spaces between thousands"
    assert values.between(500, 9000).all()
    column, values = column_of("day", tables["dates"], tmp_path)
    assert column.describe().startswith("day/month/year")
    assert values.dt.year.isin([2023, 2024]).all()
    problem = problem_of(tables["latin1"], tmp_path)
    assert "read as Windows-1252" in problem.notes[0]
    problem = problem_of(tables["lonely_class"], tmp_path)
    assert "one row only of class 'perhaps'" in problem.notes[0]
    assert set(problem.target) == {"yes", "no"}
    problem = problem_of(tables["date_target"], tmp_path)
    assert (problem.task, unit_of(problem.target_column.role)) == ("regression", "days")


def predictions_in_python(report: Path) -> Any:
    """Run the lines by which a report says that its model is loaded."""
    blocks = re.findall("<pre><code>(.*?)</code>", report.read_text(encoding="utf-8"), re.DOTALL)
    [lines] = [unescape(block) for block in blocks if "import mercer" in block]
    names: dict[str, Any] = {}
    exec(lines, names)
    return names["predictions"]


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(make, marks=pytest.mark.campaign if make.__name__ in READ_ALIKE else ())
        for make in BAD_TABLES
    ],
    ids=lambda make: make.__name__,
)
def test_they_are_learned_from_and_predicted(
    make: Callable[[], BadTable], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = make()
    problem = problem_of(table, tmp_path)
    report = ("--report", "r.html") if table.name in REPORTED else ()
    arguments = ("--target", table.target, "--learner", "uniform", "--out", "m.skops", *report)
    done("fit", table.name, *arguments)
    done("predict m.skops", table.name, "--out", "p.csv")
    found = pd.read_csv("p.csv")["prediction"]
    assert len(found) == N_ROWS
    if problem.task == "classification":
        # Labels that begin like formulas are written as text.
        assert ("'=1+1" in set(found)) == (table.name == "odd_names.csv")
        found = found.str.removeprefix("'")
    if report:
        loaded = predictions_in_python(Path("r.html"))
        if problem.task == "regression":
            loaded = np.round(loaded, load_model(Path("m.skops")).decimals_)
        np.testing.assert_array_equal(loaded.astype(object), found.astype(object))
    if table.name == "odd_names.csv":
        page = Elements("r.html")
        assert not {"script", "b!", "img"} & set(page.tags)
        for name in ("<script>alert(1)</script>", "cost $ in_$x_1$", "two↵lines", "$x_1^$"):
            assert name in page.text
        assert "\N{BANANA} price" in page.text
        assert LONG_NAME[:100] not in page.text
    if problem.task == "classification":
        truth = pd.Series(problem.target.astype(str))
        if len(truth) < N_ROWS:
            found = found.drop(17).reset_index(drop=True)
        constant = 1.0 - truth.value_counts(normalize=True).iloc[0]
        assert (found != truth).mean() < MOST_ERROR * constant
    else:
        if unit_of(problem.target_column.role) == "days":
            assert found.str.fullmatch(r"202[45]-\d\d-\d\d").all()
            found = (pd.to_datetime(found) - pd.Timestamp(0)).dt.days
        error = np.sqrt(np.mean((found - problem.target) ** 2))
        assert error < MOST_ERROR * problem.target.std()
