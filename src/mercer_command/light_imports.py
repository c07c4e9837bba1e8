"""Imports of packages without their parts that predictions never use."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import version
from importlib.util import LazyLoader, find_spec
from types import ModuleType
from typing import Any


class _Postponed(MetaPathFinder):
    """Finder of one module, which is loaded when an attribute of it is first read.

    Parameters
    ----------
    name : str
        Full name of the module.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: Any = None
    ) -> ModuleSpec | None:
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        found = find_spec(name)
        if found is not None and found.loader is not None:
            found.loader = LazyLoader(found.loader)
        return found


def import_skops() -> None:
    """Import skops without its lists of types that it trusts by itself.

    For these lists, it imports all modules of scikit-learn, and searches all modules for functions
    of NumPy and SciPy. Nothing depends on them, because mercer passes the names of all types of a
    file, after it has checked them.
    """
    name = "skops.io._trusted_types"
    if name not in sys.modules and version("skops").startswith("0.16."):
        lists: Any = ModuleType(name)
        lists.__getattr__ = lambda _: []
        sys.modules[name] = lists
    import skops.io  # noqa: F401


import_skops()
# skrub imports it for its reports.
sys.meta_path.insert(0, _Postponed("matplotlib.pyplot"))
