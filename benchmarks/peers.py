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
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from common import THREADS, command_line
from peer_comparisons import COMPARISONS, gpml_values
from peer_problems import REACHED, Comparison
from threadpoolctl import threadpool_limits

from experiments.reporting.section import named_texts, table, wrapped

PAGE = Path(__file__).parents[1] / "docs" / "peers.md"

PACKAGES = {
    "MKLpy": "mklpy",
    "himalaya": "himalaya",
    "pyHSICLasso": "pyhsiclasso",
    "scikit-learn": "scikit-learn",
    "xRFM": "xrfm",
}
"""Peers, and the names of their distributions."""

LIBRARIES = (
    *("skrub", "pyarrow", "dask", "skops", "skl2onnx", "scikit-learn", "shap", "pandas"),
    *("jinja2", "typer", "rich"),
)
"""Distributions of libraries that mercer builds on."""

_LIBRARIES_TITLE = "## Libraries that mercer builds on"

TEXTS = named_texts(Path(__file__).with_suffix(".md"))


def versions(distributions: Mapping[str, str] = PACKAGES) -> dict[str, str | None]:
    """Return the installed version of each package, None where it is absent."""
    found: dict[str, str | None] = {}
    for package, distribution in distributions.items():
        try:
            found[package] = version(distribution)
        except PackageNotFoundError:
            found[package] = None
    return found


def libraries() -> str:
    """Return the section on libraries that mercer builds on, with their versions."""
    found = versions({name: name for name in LIBRARIES})
    named = {name: number or "absent" for name, number in found.items()}
    return TEXTS["libraries"].format(versions=named).strip()


def times_table(comparisons: Sequence[Comparison]) -> str:
    """Return the table of one package's comparisons."""
    header = [
        "problem",
        "other package's method",
        "same problem?",
        "mercer, s",
        "other package, s",
        "other package's time / mercer's time",
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
    return table(header, rows).removesuffix("\n")


def summary(comparisons: Sequence[Comparison]) -> str:
    """Count the problems on which mercer takes no longer, and list the others."""
    same = [c for c in comparisons if c.same and c.reached]
    slower = [c for c in same if c.own_time > c.peer_time]
    inexact = [c for c in comparisons if c.same and not c.reached]
    text = (
        f"On {len(same)} problems, mercer and the other package both come within {REACHED:.1%} of "
        f"the optimum, or agree with each other. On {len(same) - len(slower)} of these problems, "
        "mercer takes no longer than the other package."
    )
    text = wrapped(text)
    if slower:
        named = [
            f"{c.problem} ({c.own_time / c.peer_time:.2g} times as long as {c.peer})"
            for c in slower
        ]
        text += "\n\nmercer takes longer on these problems:\n\n" + _bullets(named)
    if inexact:
        named = [f"{c.problem} ({c.peer})" for c in inexact]
        text += "\n\nOn these problems, the other package stops more than "
        text += f"{REACHED:.1%} from the optimum:\n\n"
        text += _bullets(named)
    return text


def _bullets(texts: Sequence[str]) -> str:
    return "\n".join(wrapped(text, "* ") for text in texts)


def page(
    found: dict[str, str | None], comparisons: dict[str, list[Comparison]], repeats: int
) -> str:
    """Return the page."""
    chapters = [
        f"## {package}\n\n"
        + (times_table(rows) if found.get(package) else f"{package} was absent from this run.")
        for package, rows in comparisons.items()
    ]
    folder, gpml = (
        os.environ.get("MERCER_REFERENCE"),
        "GPML's values were absent from this run (`MERCER_REFERENCE`).",
    )
    if folder:
        header = ["objective", "GPML's value", "mercer's value", "relative difference"]
        gpml = table(header, gpml_values(Path(folder)))
    return TEXTS["page"].format(
        python=platform.python_version(),
        own=", ".join(f"{name} {version(name)}" for name in ("mercer", "numpy", "scipy")),
        threads=THREADS,
        machine=platform.machine(),
        system=platform.system(),
        repeats=repeats,
        versions={name: number or "absent" for name, number in found.items()}
        | {"GPML": "values only"},
        summary=summary([c for rows in comparisons.values() for c in rows]),
        chapters="\n\n".join(chapters),
        gpml=gpml.removesuffix("\n"),
        libraries=libraries(),
    )


def main() -> None:
    """Compare with the packages that the command line names, and write the page."""

    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--repeats", type=int, default=5, help="timings of each fit")
        parser.add_argument("--page", type=Path, default=PAGE, help="file to write")
        parser.add_argument(
            "--libraries", action="store_true", help="write only the section on libraries"
        )

    names, options = command_line(__doc__, COMPARISONS, add_options)
    if options.libraries:
        before = options.page.read_text(encoding="utf-8").partition(_LIBRARIES_TITLE)[0]
        text = f"{before.rstrip()}\n\n{libraries()}\n"
        options.page.write_text(text, encoding="utf-8")
        return
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
