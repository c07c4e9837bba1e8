"""The package as a whole: its names, and what its README promises."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mercer

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
MODULES = [module.name for module in pkgutil.walk_packages(mercer.__path__, "mercer.")]
PUBLIC = [name for name in MODULES if not any(part.startswith("_") for part in name.split("."))]


def test_readme_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    namespace: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), namespace)
    accuracy = re.search(r"accuracy (\d\.\d+)", capsys.readouterr().out)
    assert accuracy is not None
    assert float(accuracy[1]) > 0.93
    assert len(example.splitlines()) <= 12


@pytest.mark.parametrize("end", ["mercer demo", "pytest -n auto"])
def test_readme_has_one_command_that_ends_with(end: str) -> None:
    lines = [line for line in README.splitlines() if line.endswith(f"/{end}")]
    assert len(lines) == 1
    assert lines[0].startswith("python3 -m venv .venv && .venv/bin/pip install ")


def test_readme_links_lead_to_files() -> None:
    root = Path(__file__).parents[1]
    targets = re.findall(r"\]\(([^)]+)\)", README)
    assert targets
    assert [target for target in targets if not (root / target).is_file()] == []


def test_readme_names_what_exists() -> None:
    calls = re.findall(r"`([A-Z]\w+)\(", README)
    kernels = importlib.import_module("mercer.kernels")
    assert [n for n in calls if not (hasattr(mercer, n) or hasattr(kernels, n) or n == "SVC")] == []


def test_every_listed_name_exists() -> None:
    assert sorted(mercer.__all__) == sorted(set(mercer.__all__))
    assert [name for name in mercer.__all__ if not hasattr(mercer, name)] == []


@pytest.mark.parametrize("module", PUBLIC)
def test_public_things_have_docstrings(module: str) -> None:
    members = vars(importlib.import_module(module)).items()
    own = [
        (name, thing)
        for name, thing in members
        if not name.startswith("_") and getattr(thing, "__module__", None) == module
    ]
    assert [name for name, thing in own if callable(thing) and not inspect.getdoc(thing)] == []


def test_the_core_needs_no_optional_package() -> None:
    """With the optional packages out of reach, all but the command can be imported and used."""
    script = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        optional = ("matplotlib", "pandas", "polars", "pyarrow", "rich", "skops", "typer")
        if name.split(".")[0] in optional:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import mercer, mercer.datasets, mercer.inspection, mercer.kernels, mercer.metrics
X, y = mercer.datasets.make_sine(40, random_state=0)
model = mercer.TwoStageClassifier(C=1.0).fit(X, y)
try:
    mercer.KernelWeightsDisplay.from_estimator(model)
except ImportError as error:
    print(error)
"""
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert run.stderr == ""
    assert 'pip install "mercer[plot]"' in run.stdout
