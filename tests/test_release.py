"""What a release consists of: the archive of the site, and the versions that were tested."""

import os
import re
import tomllib
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest
from docs_modules import docs_module

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def archive() -> ModuleType:
    return docs_module("archive.py")


def test_the_same_pages_give_the_same_archive(archive: ModuleType, tmp_path: Path) -> None:
    contents = []
    for folder, order in (("one", (0, 1)), ("two", (1, 0))):
        site = tmp_path / folder
        (site / ".doctrees").mkdir(parents=True)
        (site / ".doctrees" / "index.doctree").write_text(folder)
        for number in order:
            page = site / ("index.html", "guide.html")[number]
            page.write_text(f"page {number}")
            os.utime(page, (number * 1e6, 1e9 + number))
        path = tmp_path / f"{folder}.zip"
        archive.write_archive(site, path.with_name("mercer-docs.zip"))
        contents.append(path.with_name("mercer-docs.zip").read_bytes())
    assert contents[0] == contents[1]
    with ZipFile(tmp_path / "mercer-docs.zip") as found:
        assert found.namelist() == ["mercer-docs/guide.html", "mercer-docs/index.html"]


def test_a_folder_without_a_site_is_refused(archive: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="make -C docs html"):
        archive.write_archive(tmp_path, tmp_path / "mercer-docs.zip")
    assert not (tmp_path / "mercer-docs.zip").exists()


def test_tested_versions_are_those_that_the_package_allows() -> None:
    requirements = pytest.importorskip("packaging.requirements")
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if not line.startswith("#"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["cli"], *extras["dask"], *extras["onnx"]]
    for found in map(requirements.Requirement, needed):
        name = re.sub(r"[-_.]+", "-", found.name).lower()
        assert name == "mercer" or found.specifier.contains(tested[name])
