"""The page that runs a compressed model, in headless Chromium; it needs Node and npm's packages.

npm install --prefix examples/browser
pytest tests/deployment/test_browser_page.py

`MERCER_NODE_MODULES` names another folder of npm's packages, and `CHROMIUM` another browser.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("skl2onnx")

EXAMPLE = Path(__file__).parents[2] / "examples" / "browser"
PACKAGES = Path(os.environ.get("MERCER_NODE_MODULES", EXAMPLE / "node_modules"))
CHROMIUM = os.environ.get("CHROMIUM", shutil.which("chromium"))
NEEDED = ("onnxruntime-web", "puppeteer-core", "axe-core")
N_ROWS = 10


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page with npm's packages beside it, as users have it."""
    missing = [name for name in NEEDED if not (PACKAGES / name).exists()]
    if shutil.which("node") is None or missing:
        pytest.skip(f"node or its packages are absent: {', '.join(missing) or 'node'}")
    if CHROMIUM is None:
        pytest.skip("chromium is absent")
    found = tmp_path_factory.mktemp("page")
    for name in ("index.html", "page.mjs", "style.css"):
        (found / name).write_bytes((EXAMPLE / name).read_bytes())
    (found / "node_modules").symlink_to(PACKAGES.resolve())
    return found


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def made(folder: Path) -> tuple[dict[str, Any], Any, Any]:
    """The description, the compressed model, and a table of ten rows with a gap in every column."""
    sys.path.insert(0, str(EXAMPLE))
    try:
        from make_model import make
    finally:
        sys.path.remove(str(EXAMPLE))
    graph, description, small, others = make()
    (folder / "model.onnx").write_bytes(graph.SerializeToString())
    (folder / "model.json").write_text(json.dumps(description), encoding="utf-8")
    table = others[:N_ROWS].copy()
    for row, name in zip(table.index, table, strict=True):
        table.loc[row, name] = None if name == "sex" else np.nan
    table.loc[table.index[0], "bmi"] = 50.0
    return description, small, table


@pytest.fixture(scope="module")
def shown(folder: Path, address: str, made: Any) -> dict[str, Any]:
    """What the page shows for each row, with another coverage from row to row."""
    description, _, table = made
    coverages = np.resize([*description["half_widths"]], N_ROWS)
    cells = table.astype(object).where(table.notna(), "").astype(str).to_numpy().tolist()
    rows = [{"cells": one, "coverage": name} for one, name in zip(cells, coverages, strict=True)]
    (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    script = Path(__file__).with_name("browser_page.mjs")
    pictures = [os.environ["MERCER_PICTURES"]] if "MERCER_PICTURES" in os.environ else []
    command = ["node", script, PACKAGES, CHROMIUM, address, folder / "rows.json", *pictures]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_predictions_and_intervals_are_those_of_the_model(shown: Any, made: Any) -> None:
    description, small, table = made
    expected = small.predict(table)
    found = np.array([row["prediction"] for row in shown["rows"]])
    assert_allclose(found, expected, rtol=0.0, atol=1e-9 * expected.std())
    widths = np.resize(list(description["half_widths"].values()), N_ROWS)
    assert_array_equal([row["lower"] for row in shown["rows"]], found - widths)
    assert_array_equal([row["upper"] for row in shown["rows"]], found + widths)


def test_the_form_starts_from_typical_values_and_returns_to_them(shown: Any, made: Any) -> None:
    description, small, table = made
    typical = {one["name"]: one["typical"] for one in description["columns"]}
    expected = small.predict(table[:1].assign(**typical))
    assert_allclose(shown["typical"]["prediction"], expected[0], rtol=1e-9)
    assert shown["reset"]["prediction"] == shown["typical"]["prediction"]
    assert shown["said"].startswith(f"Predicted {expected[0]:.0f}, between ")


def test_values_outside_of_the_range_are_named(shown: Any, made: Any) -> None:
    description, _, table = made
    ranges = [one for one in description["columns"] if "low" in one]
    notices = []
    for _, cells in table.iterrows():
        far = [
            one["label"]
            for one in ranges
            if cells[one["name"]] < one["low"] or cells[one["name"]] > one["high"]
        ]
        text = f"Outside of the range of the fitted rows: {', '.join(far)}."
        notices.append(text if far else "")
    assert any(notices)
    assert [found["notice"] for found in shown["rows"]] == notices


def test_every_control_is_reached_by_the_keyboard(shown: Any, made: Any) -> None:
    fields = [f"column-{position}" for position in range(len(made[0]["columns"]))]
    assert shown["reached"] == [*fields, "typical", "coverage"]


def test_the_page_is_accessible_in_light_dark_and_narrow_windows(shown: Any) -> None:
    for one in shown["audits"]:
        assert (one["rules"], one["sideways"]) == ([], False), one
    assert shown["errors"] == []


def test_nothing_leaves_the_page(shown: Any, address: str) -> None:
    assert {url for url in shown["requests"] if not url.startswith((address, "data:"))} == set()
