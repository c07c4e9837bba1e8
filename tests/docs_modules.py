"""Imports modules of the folder docs, which are not on the path of the tests."""

import importlib.util
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).parents[1] / "docs"


def docs_module(path: str) -> ModuleType:
    """Return the module in a file, whose path begins in the folder docs."""
    file = DOCS / path
    found = importlib.util.spec_from_file_location(file.stem, file)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module
