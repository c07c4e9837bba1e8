"""The page docs/trusted_scores.md, from the records of trusted_scores.py."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from textwrap import fill
from typing import Any

Cell = dict[str, Any]

HEAD = """# Scores, intervals and sets beside the truth

Written by `python benchmarks/trusted_scores.py page` from benchmarks/trusted_scores.jsonl, with the
package and, where it is installed, [MAPIE](https://mapie.readthedocs.io). Tables are synthetic, and
drawn anew for each draw: the collection of public tables that the project keeps has none with
groups, and of the data that scikit-learn ships only the digits have writers.
"Two kernels" are `candidates=[Gaussian("median"), Laplacian("median")]`, which fit much faster than
the default candidates; "Nyström" are the default candidates with `approximation="nystroem"`. "±"
precedes standard errors of means over draws, and a star stands beside differences beyond two of
them, of which one in twenty is to be expected by chance. How to pass what belongs together is in
[the guide](guide/trust.md).
"""

HONESTY = """
## Rows that belong together

What a score says, less what it is on rows that come after: rows of new subjects, the rows next in
time, or new rows. "Told" is `fit(groups=)` for subjects, `cv=TimeSeriesSplit(5)` for the series,
and the default for copies, which it finds; "not told" is the default for the others, and each row
as a group of its own for copies. Random folds are five, in a random order, with the same estimator.

* Subjects have ten rows each, or 150 where there are 6,000 rows, an effect of their own on the
  response, and features that tell them apart. Patients are the same, with the sign of the response
  as the class. From 3,000 rows on, fits are on 1,500 Nyström features, and folds of whole groups
  are left out.
* The level of the series is a random walk that the time, a feature, tells. The new rows are as many
  as a sixth of the others, and come next.
* Of the rows "a third copied", a quarter are copies of a third of the others.{digits}

Scores of responses are R², with the variance of the rows that are scored. Those of a series differ
in variance, since a walk goes further in all rows than in the next sixth. So the last column has
the difference on one scale, with both errors divided by the variance of the training responses:
where it is above zero, the stated error is too low. There, what 40 subjects and new ones differ in
by chance, how much their responses vary, is not divided out. A `loo_score_` of a series with drift
is to be compared with other scores of the same rows, and not with the R² of a short time.

{verdict}

| rows | n | candidates | score | draws | estimate | true | difference | on one scale |
| --- | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: |"""

DIGITS = """
* The digits are those of `sklearn.datasets.load_digits`, 1,797 in the order in which they were
  written: 12 forms begin with the same 30 digits. Two of them are as long as two others, and hold
  two writers. Six forms, drawn at random, are groups for training, and the others are new rows.
  Draws share forms, so that standard errors are too low."""

COPIES = """
## Equal rows: copies or data

Rows may be equal because a table was joined or oversampled, or because few categories have few
combinations. The score of the first is that of new rows if copies are left out together; that of
the second if they are not, since new rows equal them as well. Three columns of three categories
have 27 combinations, each with an effect of its own, and {n} rows.

{verdict}

Hence the rule of the default: rows are copies where most values of some column, or of the response,
occur once. It cannot tell where all columns and the labels are categories, so that copies of such
rows are left out one at a time: pass `groups` to leave them out together, by numbers that the rows
had before they were copied. Nor are equal features whose responses were measured twice told from
data where half of the rows are such pairs, as here: the values of no column mostly occur once. The
score is then somewhat too high, and `groups` that number the pairs mend it.

| rows | n | equal rows are left out | draws | estimate | true | difference |
| --- | ---: | --- | ---: | ---: | ---: | ---: |"""

COVERAGE = """
## Intervals

Share of new responses inside intervals that aim at 90 %, over all, and in the decile where it is
the least. Deciles are of the width of the scaled intervals, the same rows for all methods. "Scale"
is the share of draws in which `scale="auto"` took a scale. Subjects are ten of five rows or fifty
of ten, with groups given to both packages. MAPIE has the same estimator in five folds
(`CrossConformalRegressor`, `method="plus"`). All have two kernels but "two-stage", which is
`TwoStageRegressor()`; the sentence on all problems is of stacks.

With ten subjects, only their largest error is a quantile of 90 % over subjects, as an eleventh may
err more: such intervals are wider than they need be. Among 50 rows, a scale is seldom clear enough
to be taken, so that intervals are too narrow where noise is large.

{verdict}

| noise | n | intervals | draws | coverage | least of deciles | mean width | scale |
| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |"""

SETS = """
## Sets of classes

Share of new labels inside sets that aim at 90 %, over all and in the class where it is the least,
and the mean number of classes in a set. MAPIE has the same estimator in five folds
(`CrossConformalClassifier`). All have two kernels, and machines on them. Sets by class hold more
labels than they aim at where classes are small: of 17 rows, the quantile of 90 % is the largest,
which holds 17 of 18 new labels, and with fewer than nine rows of a class every set holds it.

{verdict}

| classes | n | sets | draws | coverage | least of classes | mean size | empty |
| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |"""

FAMILIES = """
## Sets of every classifier

The same of other classifiers, of 100 rows of two or seven equally frequent classes: noise, classes
that overlap, and classes that nothing confuses. Least ambiguous sets are empty where no class is as
probable as those of the held-out rows. Adaptive sets hold at least the most probable class, so that
those of classes that are surely apart hold 100 %, and more than 90 % where one class is right more
often. Classes of noise may be equally probable, and are in all sets then. "Sums" is
`MKLClassifier`.

{verdict}

| classes | n | classifier | sets | draws | coverage | least of classes | mean size | empty |
| --- | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: |"""

COST = """
## What groups cost

Processor time of a fit to 1,000 independent rows of three columns, in one thread, in seconds: the
median over as many tables as the table says, each fitted with and without groups in turns. In
brackets, that with groups relative to that without, with its standard error (bootstrap over
tables). All estimators have their defaults.

{verdict}

For each penalty that is tried, g samples of a group take the g (g + 1) / 2 different entries of
their block of the inverse, where as many single samples take g, each a sum over n eigenvectors: of
n samples and p penalties, n² p (g + 1) operations beside the O(n³) of the eigendecomposition. That
is most where only one kernel is learned. Machines try other values of C in folds of groups, which
take more or less time for that.

| estimator | tables | without | 40 groups of 25 | 250 groups of 4 |
| --- | ---: | ---: | ---: | ---: |"""


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


def _row(*entries: Any) -> str:
    return "| " + " | ".join(map(str, entries)) + " |"


def _honesty(cells: Sequence[Cell]) -> str:
    told = [c for c in cells if c["method"].endswith(", told")]
    beyond, known = _beyond(told, "difference")
    scaled, of_scaled = _beyond(told, "on one scale")
    others, of_others = _beyond([c for c in cells if c not in told], "difference")
    verdict = (
        f"Of {known} scores that were told, {beyond} differed from the truth by more than two "
        f"standard errors, and {scaled} of {of_scaled} on one scale; of {of_others} other scores, "
        f"{others} did."
    )
    digits = DIGITS if any(c["problem"].startswith("digits") for c in cells) else ""
    lines = [HONESTY.format(verdict=fill(verdict, 100), digits=digits)]
    for c in cells:
        numbers = f"{c['estimate']:.3f}", f"{c['true']:.3f}"
        differences = _with_error(c, "difference"), _with_error(c, "on one scale")
        setting = c["problem"], c["rows"], c["learner"], c["method"], c["draws"]
        lines.append(_row(*setting, *numbers, *differences))
    return "\n".join(lines)


NAMES = {
    "one at a time": "equal rows left out one at a time",
    "equal rows together": "equal rows left out together",
    "by default": "the default",
}


def _copies(cells: Sequence[Cell]) -> str:
    counts = []
    for method in ("one at a time", "equal rows together", "by default"):
        beyond, known = _beyond([c for c in cells if c["method"] == method], "difference")
        counts.append(f"{beyond} of {known} with {NAMES[method]}")
    verdict = f"Differences beyond two standard errors: {', '.join(counts)}."
    lines = [
        COPIES.format(
            verdict=fill(verdict, 100), n=" or ".join(sorted({str(c["rows"]) for c in cells}))
        )
    ]
    for c in cells:
        numbers = f"{c['estimate']:.3f}", f"{c['true']:.3f}", _with_error(c, "difference")
        lines.append(_row(c["problem"], c["rows"], c["method"], c["draws"], *numbers))
    return "\n".join(lines)


def _coverage(cells: Sequence[Cell]) -> str:
    own = [c for c in cells if c["method"] == "`scale='auto'`"]
    near = sum(0.88 <= c["coverage"] <= 0.92 for c in own)
    even = sum(c[_least(c, "decile")] >= 0.85 for c in own)
    verdict = (
        f'With `scale="auto"`, {near} of {len(own)} problems have 88 to 92 % over all, and {even} '
        "at least 85 % in every decile."
    )
    pairs = [(c, p) for c in own for p in cells if _same(c, p) and p["method"] == "MAPIE"]
    if pairs:
        narrow = sum(c["width"] <= p["width"] for c, p in pairs)
        verdict += f" Its intervals are no wider than MAPIE's on {narrow} of {len(pairs)} problems."
    else:
        verdict += " MAPIE was not installed."
    lines = [COVERAGE.format(verdict=fill(verdict, 100))]
    for c in cells:
        numbers = _percent(c, "coverage"), _percent(c, _least(c, "decile")), f"{c['width']:.3f}"
        share = f"{c['learned']:.0%}" if c["method"].endswith("`scale='auto'`") else ""
        lines.append(_row(c["problem"], c["rows"], c["method"], c["draws"], *numbers, share))
    return "\n".join(lines)


def _same(one: Cell, other: Cell) -> bool:
    return (one["problem"], one["rows"]) == (other["problem"], other["rows"])


def _sets(cells: Sequence[Cell]) -> str:
    own = [c for c in cells if not c["method"].startswith("MAPIE")]
    near = sum(0.88 <= c["coverage"] <= 0.92 for c in own)
    of_class = [c for c in own if c["method"].endswith("by class")]
    even = sum(c[_least(c, "class")] >= 0.88 for c in of_class)
    verdict = (
        f"Of {len(own)} kinds of sets, {near} hold 88 to 92 % of the labels over all; of "
        f"{len(of_class)} by class, {even} hold at least 88 % of those of every class."
    )
    pairs = [
        (c, p) for p in cells for c in own if p["method"] == f"MAPIE, {c['method']}" and _same(c, p)
    ]
    if pairs:
        small = sum(c["size"] <= p["size"] for c, p in pairs)
        verdict += f" Sets are no larger than MAPIE's on {small} of {len(pairs)} problems."
    else:
        verdict += " MAPIE was not installed."
    lines = [SETS.format(verdict=fill(verdict, 100))]
    for c in cells:
        numbers = _percent(c, "coverage"), _percent(c, _least(c, "class"))
        sizes = f"{c['size']:.3f}", f"{c['empty']:.1%}"
        lines.append(_row(c["problem"], c["rows"], c["method"], c["draws"], *numbers, *sizes))
    return "\n".join(lines)


def _families(cells: Sequence[Cell]) -> str:
    adaptive = [c for c in cells if c["method"].startswith("adaptive")]
    enough = sum(c["coverage"] + 2.0 * c["coverage, error"] >= 0.9 for c in cells)
    empty = sum(c["empty"] > 0.0 for c in adaptive)
    verdict = (
        f"Of {len(cells)} kinds of sets, {enough} hold 90 % of the labels or more, up to two "
        f"standard errors; of {len(adaptive)} kinds of adaptive ones, {empty} have empty sets."
    )
    lines = [FAMILIES.format(verdict=fill(verdict, 100))]
    for c in cells:
        setting = c["problem"], c["rows"], c["learner"], c["method"], c["draws"]
        numbers = _percent(c, "coverage"), _percent(c, _least(c, "class"))
        lines.append(_row(*setting, *numbers, f"{c['size']:.3f}", f"{c['empty']:.1%}"))
    return "\n".join(lines)


def _cost(cells: Sequence[Cell]) -> str:
    names = ("40 of 25", "250 of 4")
    ratios = [c[f"{name}, ratio"] for c in cells for name in names]
    dear = sum(ratio > 1.1 for ratio in ratios)
    verdict = f"Groups add more than a tenth to {dear} of {len(ratios)} fits."
    lines = [COST.format(verdict=fill(verdict, 100))]
    form = "{:.2f} ({:.2f} ± {:.2f})"
    for c in cells:
        ways = [form.format(c[name], c[f"{name}, ratio"], c[f"{name}, error"]) for name in names]
        lines.append(_row(f"`{c['problem']}`", c["draws"], f"{c['none']:.2f}", *ways))
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
    parts = [HEAD]
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
