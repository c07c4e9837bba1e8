"""A page on other packages for kernel learning: what each offers, agreement with it, and times.

    pip install -e ".[peers]"
    MERCER_DATA=/path/to/sets [MERCER_REFERENCE=/path/to/values] python benchmarks/peers.py

Writes docs/peers.md from one run on two threads, with the versions of all packages; a package that
is absent is named there and skipped. `MERCER_REFERENCE` names a folder with `probabilistic.json`,
values that GPML (for Octave and MATLAB) computed. Each fit runs `--repeats` times, in turn with the
other side's, and the least time counts. The comparisons themselves are in `peer_comparisons.py`.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from common import THREADS, command_line
from peer_comparisons import COMPARISONS, gpml_values
from peer_problems import REACHED, Comparison
from threadpoolctl import threadpool_limits

PAGE = Path(__file__).parents[1] / "docs" / "peers.md"

PACKAGES = {
    "MKLpy": "mklpy",
    "himalaya": "himalaya",
    "pyHSICLasso": "pyhsiclasso",
    "scikit-learn": "scikit-learn",
    "xRFM": "xrfm",
}
"""Peers, and the names of their distributions."""

OFFERS = {
    "MKLpy": (
        "Weights of a finite dictionary for classifiers of large margin (EasyMKL, MEMO, RMKL, "
        "GRAM, CKA), on torch tensors. No lp-norms other than these algorithms', no regression, no "
        "search of parameters, no duality gap."
    ),
    "himalaya": (
        "Ridge and kernel ridge regression of many responses, with one penalty for each group of "
        "features or each kernel chosen by cross-validation; sparse group lasso; GPUs by torch. "
        "Its weights minimize a cross-validation error, and mercer's a regularized risk. No "
        "classifiers, no search of kernel parameters."
    ),
    "pyHSICLasso": (
        "Selection of features by HSIC lasso, also in blocks of samples. `HSICLasso` solves the "
        "same problem from factors, without an n x n matrix for each feature."
    ),
    "scikit-learn": (
        "Support vector machines and kernel ridge regression on one given kernel; Gaussian "
        "processes whose kernel parameters maximize the marginal likelihood, from a gradient "
        "tensor of shape (n, n, parameters). Weights of kernels as parameters of these alone."
    ),
    "xRFM": (
        "Recursive feature machines: one kernel on features that the average gradient outer "
        "product of kernel ridge regression scales, in a tree of splits; regression and "
        "classification of tables, GPUs by torch. `GradientOuterProduct` learns such a scaling of "
        "one table."
    ),
    "GPML": (
        "Gaussian processes in Octave and MATLAB, with many likelihoods and approximations. Here "
        "its values test mercer's objectives; its times are not measured."
    ),
}
"""What each package offers beside mercer."""


def versions() -> dict[str, str | None]:
    """Return the installed version of each peer, None where it is absent."""
    found: dict[str, str | None] = {}
    for package, distribution in PACKAGES.items():
        try:
            found[package] = version(distribution)
        except PackageNotFoundError:
            found[package] = None
    return found


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; all columns but the first are flush right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def times_table(comparisons: Sequence[Comparison]) -> str:
    """Return the table of one package's comparisons."""
    header = [
        "problem",
        "peer",
        "same problem?",
        "mercer, s",
        "peer, s",
        "peer / mercer",
        "agreement",
    ]
    rows = [
        [
            c.problem,
            c.peer,
            "yes" if c.same else "no",
            f"{c.own_time:.3g}",
            f"{c.peer_time:.3g}",
            f"{c.peer_time / c.own_time:.2g}",
            c.agreement,
        ]
        for c in comparisons
    ]
    return markdown(header, rows)


def summary(comparisons: Sequence[Comparison]) -> str:
    """Say on how many problems, the same for both, mercer takes no longer, and where it does."""
    same = [c for c in comparisons if c.same and c.reached]
    slower = [c for c in same if c.own_time > c.peer_time]
    inexact = [c for c in comparisons if c.same and not c.reached]
    text = (
        f"On {len(same)} problems both sides solve the same problem to within {REACHED:.1%} of its "
        f"optimum, or to the same numbers; mercer takes no longer on {len(same) - len(slower)} of "
        "them. "
    )
    if slower:
        named = "; ".join(
            f"{c.problem} ({c.peer}: {c.own_time / c.peer_time:.2g} times its time)" for c in slower
        )
        text += f"It takes longer on: {named}. "
    if inexact:
        named = "; ".join(f"{c.problem} ({c.peer})" for c in inexact)
        text += f"The other package does not come that near to the optimum on: {named}."
    return text.strip()


def page(
    found: dict[str, str | None], comparisons: dict[str, list[Comparison]], repeats: int
) -> str:
    """Return the page."""
    every = [c for rows in comparisons.values() for c in rows]
    own = {name: version(name) for name in ("mercer", "numpy", "scipy")}
    parts = [
        "# Other packages",
        "`benchmarks/peers.py` writes this page from one run; no number on it is written by hand. "
        f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {number}" for name, number in own.items())
        + f"; {THREADS} threads, {platform.machine()}, {platform.system()}. Each time is the least "
        f"of {repeats} runs, which take turns with the other side's.",
        markdown(
            ["package", "version", "what it offers"],
            [
                [name, found.get(name) or ("values only" if name == "GPML" else "absent"), text]
                for name, text in OFFERS.items()
            ],
        ).replace("| ---: | ---: |", "| --- | --- |"),
        "## Summary",
        summary(every),
    ]
    for package, rows in comparisons.items():
        parts.append(f"## {package}")
        if found.get(package) is None:
            parts.append(f"{package} was absent from this run.")
        else:
            parts.append(times_table(rows))
    parts.append("## GPML")
    folder = os.environ.get("MERCER_REFERENCE")
    if folder is None:
        parts.append("GPML's values were absent from this run (`MERCER_REFERENCE`).")
    else:
        header = ["objective", "GPML's value", "mercer's value", "relative difference"]
        parts.append(markdown(header, gpml_values(Path(folder))))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Compare with the packages that the command line names, and write the page."""

    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--repeats", type=int, default=5, help="timings of each fit")
        parser.add_argument("--page", type=Path, default=PAGE, help="file to write")

    names, options = command_line(__doc__, COMPARISONS, add_options)
    found = versions()
    comparisons: dict[str, list[Comparison]] = {}
    with threadpool_limits(THREADS):
        for name in names:
            comparisons[name] = []
            if found[name] is None:
                print(f"{name}: absent (pip install {PACKAGES[name]})", flush=True)
                continue
            for comparison in COMPARISONS[name](options.repeats):
                print(comparison.problem, comparison.peer, comparison.agreement, flush=True)
                comparisons[name].append(comparison)
        options.page.write_text(page(found, comparisons, options.repeats), encoding="utf-8")


if __name__ == "__main__":
    main()
