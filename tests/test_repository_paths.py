"""Paths of files that pages of the site name: links, or words on where the files are."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

EXTENSIONS = Path(__file__).parents[1] / "docs" / "_ext"


@pytest.fixture
def extensions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Extensions can be imported, and are imported anew."""
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(EXTENSIONS)
    yield
    sys.modules.pop("repository_paths", None)


def built(folder: Path, text: str) -> str:
    """The page of a site of two pages."""
    from sphinx.application import Sphinx

    source = folder / "docs"
    source.mkdir()
    (source / "index.rst").write_text(f"T\n=\n\n{text}\n\n.. toctree::\n\n   glossary\n")
    (source / "glossary.rst").write_text("Glossary\n========\n\nWords.\n")
    settings = {"extensions": ["repository_paths"], "html_theme": "basic"}
    out, trees = folder / "html", folder / "trees"
    quiet: dict[str, Any] = {"status": None, "warning": None}
    Sphinx(source, None, out, trees, "html", confoverrides=settings, **quiet).build()
    return (folder / "html" / "index.html").read_text(encoding="utf-8")


TEXT = "See ``docs/glossary.md``, ``tests/reference.py``, ``pyproject.toml`` and ``no/such.py``."


@pytest.mark.usefixtures("extensions")
def test_without_an_address_the_place_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import repository_paths

    monkeypatch.setattr(repository_paths, "repository", lambda: None)
    page = built(tmp_path, TEXT)
    assert page.count(" in the repository") == 1
    assert "reference.py</span></code> in the repository, <code" in page
    assert 'href="glossary.html"><code' in page


@pytest.mark.usefixtures("extensions")
def test_with_an_address_files_are_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import repository_paths

    monkeypatch.setattr(repository_paths, "repository", lambda: "https://example.org/mercer/")
    page = built(tmp_path, TEXT)
    for name in ("tests/reference.py", "pyproject.toml"):
        assert f'href="https://example.org/mercer/blob/main/{name}"' in page
    assert "no/such.py</span></code>." in page
    assert "in the repository" not in page
