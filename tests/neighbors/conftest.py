"""Programs that people run beside mercer; ``--write-page`` writes what was found to the guide."""

import datetime
import importlib.metadata
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sklearn.datasets import load_diabetes

PAGE = Path(__file__).parents[2] / "docs/guide/neighbors.md"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-page", action="store_true", help=f"write the numbers of tests to {PAGE.name}"
    )


def pytest_configure(config: pytest.Config) -> None:
    """What the programs warn of is theirs."""
    config.addinivalue_line("filterwarnings", "ignore")


@pytest.fixture
def found(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Notes numbers, which the page shows.

    A text is added to the row of the program that the test's file names. Cells are those of the row
    `row` of another table.
    """

    def note(*cells: str, row: str = "") -> None:
        request.node.user_properties.append((row or request.module.DISTRIBUTION, cells, bool(row)))

    return note


@pytest.fixture(scope="session")
def patients() -> tuple[pd.DataFrame, Any]:
    """The 442 patients of scikit-learn, with text, dates, truth values and gaps."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return X.assign(
        sex=X["sex"].map({1.0: "female", 2.0: "male"}),
        visit=pd.Timestamp("2024-01-01") + pd.to_timedelta(7 * X["age"].to_numpy(), "D"),
        old=X["age"] > 50,
        s6=X["s6"].where(X.index % 9 != 4),
    ), y.to_numpy()


@pytest.fixture(scope="session")
def numbers() -> tuple[pd.DataFrame, Any]:
    """The same patients, with numbers only."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return X, y.to_numpy()


@pytest.fixture(scope="session")
def sunspots() -> pd.Series:
    """The yearly numbers of sunspots, 1700 to 2008."""
    statsmodels = pytest.importorskip("statsmodels.api")
    spots = statsmodels.datasets.sunspots.load_pandas().data["SUNACTIVITY"]
    return spots.rename("sunspots")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the rows of tests that passed, and write them to the page if that is asked for."""
    passed = terminalreporter.stats.get("passed", [])
    rows = dict(_rows(one for report in passed for one in report.user_properties))
    page = PAGE.read_text(encoding="utf-8")
    for name, cells in rows.items():
        terminalreporter.write_line(" | ".join([name, *cells]))
        page = _replaced(page, name, cells) if config.option.write_page else page
    if config.option.write_page:
        PAGE.write_text(page, encoding="utf-8")


def _rows(noted: Iterable[tuple[str, tuple[str, ...], bool]]) -> Iterator[tuple[str, list[str]]]:
    """Yield names and cells of rows; a program's are its version, the date and its numbers."""
    numbers: dict[str, list[str]] = {}
    for name, cells, other_table in noted:
        if other_table:
            yield name, list(cells)
        else:
            numbers.setdefault(name, []).extend(cells)
    today = datetime.date.today().isoformat()
    for name, texts in numbers.items():
        yield name, [importlib.metadata.version(name), today, "; ".join(texts)]


def _replaced(page: str, name: str, cells: list[str]) -> str:
    """Return the page with other cells after the first one of a row."""
    row = re.compile(rf"^(\| {re.escape(name)} \|)(?:[^|\n]*\|){{{len(cells)}}}", re.MULTILINE)
    changed, n = row.subn(lambda found: found[1] + "".join(f" {one} |" for one in cells), page)
    if n != 1:
        raise ValueError(f"{PAGE.name} needs one row '| {name} |', not {n}.")
    return changed
