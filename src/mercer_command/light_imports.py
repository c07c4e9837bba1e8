"""Imports of packages without their parts that predictions never use."""

import sys
from importlib.util import LazyLoader, find_spec, module_from_spec

import sklearn.utils


def import_skops() -> None:
    """Import skops without a walk through all modules of scikit-learn.

    skops imports them to list the estimators that it trusts by itself. mercer passes the names of
    all types of a file, after it has checked them, so that nothing depends on this list.
    """
    listed = sklearn.utils.all_estimators
    try:
        sklearn.utils.all_estimators = list
        import skops.io  # noqa: F401
    finally:
        sklearn.utils.all_estimators = listed


def postpone_pyplot() -> None:
    """Let `matplotlib.pyplot`, which skrub imports for its reports, be loaded at its first use."""
    name = "matplotlib.pyplot"
    if name in sys.modules or find_spec("matplotlib") is None:
        return
    spec = find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    spec.loader = LazyLoader(spec.loader)
    sys.modules[name] = pyplot = module_from_spec(spec)
    # Where the package lacks the attribute, an import looks into the module, which loads it.
    vars(sys.modules["matplotlib"])["pyplot"] = pyplot
    spec.loader.exec_module(pyplot)


import_skops()
postpone_pyplot()
