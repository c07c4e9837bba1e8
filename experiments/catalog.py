"""The experiments by name, in the order of the report.

The file of its name in `studies` declares and reports an experiment.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from experiments import studies

if TYPE_CHECKING:
    from types import ModuleType

    from experiments.experiment import Experiment


# The names of the experiments, grouped by the paper that they reproduce.
PAPERS = {
    "Cortes, Mohri, Rostamizadeh 2010: two-stage kernel learning": (
        "class_balance",
        "gaussian_combinations",
        "bigrams",
        "concentration",
        "learning_costs",
    ),
    "Afkanpour, Szepesvari, Bowling 2013: continuous dictionaries": (
        "sine_scan",
        "sine",
        "relevance",
        "scalability",
        "digits",
        "letters",
        "miscellany",
        "search_objective",
        "corrective",
    ),
    "Nickisch, Seeger 2011: probabilistic kernel learning": (
        "taxonomy",
        "objectives",
        "covariances",
        "newton",
    ),
    "Wang, Li 2018: dependence maximization": (
        "dependence",
        "dependence_times",
        "output_kernels",
        "starts",
        "second_order",
        "partitions",
    ),
    "Beyond the papers": ("defaults", "tables"),
}

# The experiments whose section is a page of its own, and the name of the page.
PAGES = {"tables": "tables.md"}


def names() -> list[str]:
    """Return the names of all experiments."""
    return [name for names in PAPERS.values() for name in names]


def paper(name: str) -> str:
    """Return the paper that an experiment reproduces."""
    return next(paper for paper, names in PAPERS.items() if name in names)


def experiment(name: str, *, small: bool = False) -> Experiment:
    """Return an experiment, in the size of the paper or in one that takes seconds.

    Raises
    ------
    ValueError
        If no experiment has that name.
    """
    known = names()
    if name not in known:
        raise ValueError(f"no experiment {name!r}; there are: {', '.join(known)}")
    found: Experiment = study(name).experiment(small)
    return found


def study(name: str) -> ModuleType:
    """Return the module that declares and reports an experiment."""
    return import_module(f"{studies.__name__}.{name}")
