"""Gives every example of the gallery the pictures' one style."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

STYLE = Path(__file__).parents[1] / "mercer.mplstyle"


def apply(gallery_conf: dict[str, Any], fname: str) -> None:
    """Set matplotlib's settings to its defaults and the style; called before each example."""
    mpl.rcdefaults()
    mpl.use("agg")
    mpl.style.use(STYLE)
