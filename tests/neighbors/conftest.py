"""Programs that people run beside mercer; ``--write-page`` writes what was found to the guide."""

import datetime
import importlib.metadata
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from mercer import KernelStackingRegressor, TwoStageRegressor
from mercer.preprocessing import table_encoder

PAGE = Path(__file__).parents[2] / "docs/guide/neighbors.md"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-page", action="store_true", help=f"write the numbers of tests to {PAGE.name}"
    )


def pytest_configure(config: pytest.Config) -> None:
    """What the programs warn of is theirs."""
    config.addinivalue_line("filterwarnings", "ignore")


def _program(path: Path) -> str:
    """Return the distribution that a file tries, which it is named after."""
    return path.stem.removeprefix("test_")


INSTALLED = {re.sub("[-.]", "_", one.name).lower() for one in importlib.metadata.distributions()}
FILES = sorted(Path(__file__).parent.glob("test_*.py"))
collect_ignore = [one.name for one in FILES if _program(one) not in INSTALLED]


def pytest_report_header() -> str:
    return f"programs that are not installed: {', '.join(collect_ignore)}"


@pytest.fixture
def found(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Notes numbers, which the page shows.

    A text is added to the row of the program of the test's file. Cells are those of the row `row`
    of another table.
    """

    def note(*cells: str, row: str = "") -> None:
        request.node.user_properties.append((row or _program(request.path), cells))

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


@pytest.fixture
def models() -> tuple[Any, Any]:
    """An estimator of mercer, and a linear one for the same tables of numbers."""
    return TwoStageRegressor(), RidgeCV()


@pytest.fixture
def frame_models() -> tuple[Any, Any]:
    """An estimator of mercer, and a linear one for the same data frames."""
    return TwoStageRegressor(), make_pipeline(table_encoder(), RidgeCV())


@pytest.fixture
def penalized() -> tuple[Any, Any]:
    """An estimator of mercer, and a linear one, both with a penalty `alpha` to search for."""
    return TwoStageRegressor(), Ridge()


@pytest.fixture(scope="session")
def unsearched(numbers: tuple[pd.DataFrame, Any]) -> float:
    """R² in three folds of the estimator that chooses its penalty itself."""
    return float(cross_val_score(TwoStageRegressor(), *numbers, cv=3).mean())


@pytest.fixture(scope="session")
def share_inside() -> Callable[..., float]:
    """The share of responses inside of intervals, given both ends and the responses."""
    return lambda low, high, y: float(np.mean((low <= y) & (y <= high)))


@pytest.fixture(scope="session")
def largest_gap(patients: tuple[pd.DataFrame, Any]) -> Callable[[Any], float]:
    """The largest difference of predictions, in deviations, if the patients' frame is another."""
    X, y = patients

    def measured(frame: Any) -> float:
        gaps = []
        for model in (TwoStageRegressor(), KernelStackingRegressor(["rbf"])):
            expected = model.fit(X[:250], y[:250]).predict(X[250:])
            gaps.append(model.fit(frame[:250], y[:250]).predict(frame[250:]) - expected)
        return float(np.abs(gaps).max() / np.std(y))

    return measured


@pytest.fixture(scope="session")
def doses() -> tuple[Any, Any, Any]:
    """Columns, a response and a dose, which raises the response by a half, and depends on them."""
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 5))
    dose = np.cos(2 * X[:, 0]) + 0.5 * random.normal(size=300)
    return X, 0.5 * dose + 2 * np.cos(2 * X[:, 0]) + 0.5 * random.normal(size=300), dose


@pytest.fixture(scope="session")
def sunspots() -> pd.Series:
    """The yearly numbers of sunspots, 1700 to 2008."""
    statsmodels = pytest.importorskip("statsmodels.api")
    spots = statsmodels.datasets.sunspots.load_pandas().data["SUNACTIVITY"]
    return spots.rename("sunspots")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the rows of tests that passed, and write them to the page if that is asked for."""
    rows: dict[str, list[str]] = {}
    for report in terminalreporter.stats.get("passed", []):
        for name, cells in report.user_properties:
            rows.setdefault(name, []).extend(cells)
    page, today = PAGE.read_text(encoding="utf-8"), datetime.date.today().isoformat()
    for name, numbers in rows.items():
        cells = numbers
        if name in INSTALLED:  # The row of a program has its version, the date, and all numbers.
            cells = [importlib.metadata.version(name), today, "; ".join(numbers)]
        terminalreporter.write_line(" | ".join([name, *cells]))
        page = _replaced(page, name, cells) if config.option.write_page else page
    if config.option.write_page:
        PAGE.write_text(page, encoding="utf-8")


def _replaced(page: str, name: str, cells: list[str]) -> str:
    """Return the page with other cells after the first one of a row."""
    spelled = re.escape(name).replace("_", "[-_]")
    row = re.compile(rf"(?im)^(\| {spelled} \|)(?:[^|\n]*\|){{{len(cells)}}}")
    changed, n = row.subn(lambda found: found[1] + "".join(f" {one} |" for one in cells), page)
    if n != 1:
        raise ValueError(f"{PAGE.name} needs one row '| {name} |', not {n}.")
    return changed
