"""The page docs/trusted_scores.md, from the records of trusted_scores.py."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.reporting.section import line, named_texts, wrapped

Cell = dict[str, Any]
TEXTS = named_texts(Path(__file__).with_suffix(".md"))


def _with_error(cell: Cell, name: str, form: str = "{:+.3f} ± {:.3f}", *, star: bool = True) -> str:
    if name not in cell:
        return ""
    value, error = cell[name], cell[f"{name}, error"]
    return form.format(value, error) + (" *" if star and abs(value) > 2.0 * error else "")


def _percent(cell: Cell, name: str) -> str:
    return f"{cell[name]:.1%} ± {cell[f'{name}, error']:.1%}"


def _least(cell: Cell, kind: str) -> str:
    names = [name for name in cell if name.startswith(f"{kind} ") and not name.endswith("error")]
    return min(names, key=cell.__getitem__)


def _beyond(cells: Sequence[Cell], name: str) -> tuple[int, int]:
    known = [c for c in cells if name in c]
    return sum(abs(c[name]) > 2.0 * c[f"{name}, error"] for c in known), len(known)


def _honesty(cells: Sequence[Cell]) -> str:
    declared = [c for c in cells if c["method"].endswith(", told")]
    beyond, known = _beyond(declared, "difference")
    scaled, of_scaled = _beyond(declared, "on one scale")
    others, of_others = _beyond([c for c in cells if c not in declared], "difference")
    verdict = (
        "Reported and true scores differ by more than two standard errors for "
        f"{beyond} of {known} declared scores, and for {others} of {of_others} other scores. The "
        f'"difference on one scale" exceeds two standard errors for {scaled} of {of_scaled} '
        "declared scores."
    )
    digits = TEXTS["digits"] if any(c["problem"].startswith("digits") for c in cells) else ""
    lines = [TEXTS["honesty"].format(verdict=wrapped(verdict), digits=digits)]
    for c in cells:
        numbers = f"{c['estimate']:.3f}", f"{c['true']:.3f}"
        differences = _with_error(c, "difference"), _with_error(c, "on one scale")
        method = c["method"].replace("told", "declared")
        setting = c["problem"], c["rows"], c["learner"], method, c["draws"]
        lines.append(line(*setting, *numbers, *differences))
    return "\n".join(lines)


NAMES = {
    "one at a time": "if equal rows are left out one at a time",
    "equal rows together": "if equal rows are left out together",
    "by default": "by default",
}


def _copies(cells: Sequence[Cell]) -> str:
    counts = []
    for method in ("one at a time", "equal rows together", "by default"):
        beyond, known = _beyond([c for c in cells if c["method"] == method], "difference")
        counts.append(f"{beyond} of {known} tables {NAMES[method]}")
    verdict = (
        "Reported and true scores differ by more than two standard errors in "
        f"{counts[0]}, in {counts[1]}, and in {counts[2]}."
    )
    lines = [
        TEXTS["copies"].format(
            verdict=wrapped(verdict), n=" or ".join(sorted({str(c["rows"]) for c in cells}))
        )
    ]
    for c in cells:
        numbers = f"{c['estimate']:.3f}", f"{c['true']:.3f}", _with_error(c, "difference")
        lines.append(line(c["problem"], c["rows"], c["method"], c["draws"], *numbers))
    return "\n".join(lines)


def _coverage(cells: Sequence[Cell]) -> str:
    own = [c for c in cells if c["method"] == "`scale='auto'`"]
    near = sum(0.88 <= c["coverage"] <= 0.92 for c in own)
    even = sum(c[_least(c, "decile")] >= 0.85 for c in own)
    verdict = (
        f'With `scale="auto"`, the intervals of stacks have a coverage of 88 to 92 % on {near} of '
        f"{len(own)} problems, and a coverage of at least 85 % in every decile on {even} problems."
    )
    pairs = [(c, p) for c in own for p in cells if _same(c, p) and p["method"] == "MAPIE"]
    if pairs:
        narrow = sum(c["width"] <= p["width"] for c, p in pairs)
        verdict += (
            f" On {narrow} of {len(pairs)} problems, the intervals of stacks are on average no "
            "wider than MAPIE's."
        )
    else:
        verdict += " MAPIE was not installed."
    lines = [TEXTS["coverage"].format(verdict=wrapped(verdict))]
    for c in cells:
        numbers = _percent(c, "coverage"), _percent(c, _least(c, "decile")), f"{c['width']:.3f}"
        share = f"{c['learned']:.0%}" if c["method"].endswith("`scale='auto'`") else ""
        lines.append(line(c["problem"], c["rows"], c["method"], c["draws"], *numbers, share))
    return "\n".join(lines)


def _same(one: Cell, other: Cell) -> bool:
    return (one["problem"], one["rows"]) == (other["problem"], other["rows"])


def _sets(cells: Sequence[Cell]) -> str:
    own = [c for c in cells if not c["method"].startswith("MAPIE")]
    near = sum(0.88 <= c["coverage"] <= 0.92 for c in own)
    of_class = [c for c in own if c["method"].endswith("by class")]
    even = sum(c[_least(c, "class")] >= 0.88 for c in of_class)
    verdict = (
        "The coverage over all labels is 88 to 92 % for "
        f"{near} of {len(own)} combinations of a problem and a kind of set. The coverage in every "
        f"class is at least 88 % for {even} of {len(of_class)} combinations with sets by class."
    )
    pairs = [
        (c, p) for p in cells for c in own if p["method"] == f"MAPIE, {c['method']}" and _same(c, p)
    ]
    if pairs:
        small = sum(c["size"] <= p["size"] for c, p in pairs)
        verdict += (
            " Sets are on average no larger than MAPIE's sets of the same kind on "
            f"{small} of {len(pairs)} problems."
        )
    else:
        verdict += " MAPIE was not installed."
    lines = [TEXTS["sets"].format(verdict=wrapped(verdict))]
    for c in cells:
        numbers = _percent(c, "coverage"), _percent(c, _least(c, "class"))
        sizes = f"{c['size']:.3f}", f"{c['empty']:.1%}"
        lines.append(line(c["problem"], c["rows"], c["method"], c["draws"], *numbers, *sizes))
    return "\n".join(lines)


CLASSIFIERS = {
    "two-stage": "TwoStageClassifier()",
    "logistic": "KernelLogisticRegression()",
    "sums": "MKLClassifier()",
}
"""What the names of learners in the table of sets of other classifiers stand for."""


def _families(cells: Sequence[Cell]) -> str:
    adaptive = [c for c in cells if c["method"].startswith("adaptive")]
    enough = sum(c["coverage"] + 2.0 * c["coverage, error"] >= 0.9 for c in cells)
    empty = sum(c["empty"] > 0.0 for c in adaptive)
    verdict = (
        "The coverage is at least 90 %, or lower by at most two standard errors, for "
        f"{enough} of {len(cells)} combinations of a problem and a kind of set. No set is empty in "
        f"{len(adaptive) - empty} of {len(adaptive)} combinations with adaptive sets."
    )
    used = [name for name in CLASSIFIERS if any(c["learner"] == name for c in cells)]
    names = "".join(f'\n* The classifier "{name}" is `{CLASSIFIERS[name]}`.' for name in used)
    lines = [TEXTS["families"].format(verdict=wrapped(verdict), names=names)]
    for c in cells:
        setting = c["problem"], c["rows"], c["learner"], c["method"], c["draws"]
        numbers = _percent(c, "coverage"), _percent(c, _least(c, "class"))
        lines.append(line(*setting, *numbers, f"{c['size']:.3f}", f"{c['empty']:.1%}"))
    return "\n".join(lines)


def _cost(cells: Sequence[Cell]) -> str:
    names = ("40 of 25", "250 of 4")
    ratios = [c[f"{name}, ratio"] for c in cells for name in names]
    dear = sum(ratio > 1.1 for ratio in ratios)
    verdict = f"Groups lengthen {dear} of {len(ratios)} fits by more than a tenth."
    lines = [TEXTS["cost"].format(verdict=wrapped(verdict))]
    form = "{:.2f} ({:.2f} ± {:.2f})"
    for c in cells:
        ways = [form.format(c[name], c[f"{name}, ratio"], c[f"{name}, error"]) for name in names]
        lines.append(line(f"`{c['problem']}`", c["draws"], f"{c['none']:.2f}", *ways))
    return "\n".join(lines)


SECTIONS: dict[str, Callable[[Sequence[Cell]], str]] = {
    "honesty": _honesty,
    "copies": _copies,
    "coverage": _coverage,
    "sets": _sets,
    "families": _families,
    "cost": _cost,
}


def page(records: Sequence[Cell]) -> str:
    """The text of the page.

    Parameters
    ----------
    records : sequence of dict
        One for each method on each problem.
    """
    parts = [TEXTS["head"]]
    for name, section in SECTIONS.items():
        cells = [c for c in records if c["part"] == name]
        if cells:
            order = list(dict.fromkeys(c["problem"] for c in cells))
            learners = ["two kernels", "default", "Nyström", "two-stage"]
            learners += sorted({c.get("learner", "default") for c in cells} - set(learners))
            cells.sort(
                key=lambda c: (
                    learners.index(c.get("learner", "default")),
                    c.get("rows", 0),
                    order.index(c["problem"]),
                )
            )
            parts.append(section(cells) + "\n")
    return "".join(parts)


def pooled(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Means and standard errors of the draws of two cells of the same method."""
    n, m = first["draws"], second["draws"]
    cell = {**first, "draws": n + m}
    for name in (name for name in first if f"{name}, error" in first):
        difference, mean = second[name] - first[name], (n * first[name] + m * second[name])
        squares = n * (n - 1) * first[f"{name}, error"] ** 2
        squares += m * (m - 1) * second[f"{name}, error"] ** 2 + n * m / (n + m) * difference**2
        cell[name] = round(mean / (n + m), 4)
        cell[f"{name}, error"] = round(math.sqrt(squares / (n + m - 1) / (n + m)), 4)
    return cell
