"""Lets notebooks of JupyterLite install mercer before their first cell."""

from __future__ import annotations

from typing import Any


def install_wheel(notebook: dict[str, Any], name: str) -> None:
    """Add a cell that installs the wheel, which is part of the site; called for each example."""
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    notebook["cells"].insert(0, {**cell, "source": ["%pip install -q mercer[plot,tables]"]})
