"""Names that options of the command take, apart from what they name, so that help is fast."""

from __future__ import annotations

DESCRIPTIONS = {
    "stacking": "compared and stacked",
    "ca": "searched widths",
    "ca-nd": "searched, per feature",
    "auto": "per feature if better",
    "alignf": "fixed, max alignment",
    "align": "fixed, own alignment",
    "hsic-w": "fixed, own HSIC",
    "uniform": "fixed, equal weights",
    "hsic": "one width, HSIC",
    "cka": "one width, alignment",
    "ka": "one width, uncentered",
    "mkl": "fixed, one-stage, l1",
    "mkl-2": "fixed, one-stage, l2",
    "cr": "searched, one-stage",
    "bayes": "fixed, evidence",
    "l1-svm": "mkl, for classes",
    "l2-krr": "mkl-2, for responses",
    "grid": "RBF, grid search",
}
"""A few words on how each method finds kernels, their widths and their weights."""

LEARNERS = tuple(name for name in DESCRIPTIONS if name != "grid")
"""The methods that learn a kernel."""

COMPARED = tuple(name for name in DESCRIPTIONS if name not in ("ca-nd", "l1-svm", "l2-krr"))
"""The methods that are compared by default. Left out are `ca-nd`, which `auto` tries too in the
same time, and two methods that solve the same problems as `mkl` and `mkl-2`."""

DEMONSTRATED = ("stacking", "ca", "alignf", "uniform", "hsic", "cka", "grid")
"""The methods of the demonstration: one of each kind, as far as they are fast."""

CHOICES = ("number", "category", "date", "time", "text", "ignored")
"""Roles that a file of columns may give."""

FEW = 20
"""Whole numbers of at most this many distinct values are classes."""

TASK_RULE = (
    "Text, booleans and categories are classes; dates and numbers with fractions are a response; "
    f"whole numbers are classes if they have at most {FEW} distinct values, and else a response."
)
"""How the task is recognized."""
