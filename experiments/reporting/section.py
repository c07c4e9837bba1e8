"""What an experiment contributes to the page: text, tables, figures and claims."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from inspect import getdoc
from pathlib import Path
from textwrap import fill
from types import ModuleType
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np
import pandas as pd

from experiments.problems import Array
from experiments.reporting.results import Axis, Results, deviation, standard_error
from experiments.reporting.verdicts import Conditions, Judgment, Verdict, judge

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# The numbers of the papers that experiments are compared with.
PUBLISHED: dict[str, dict[str, dict[str, Any]]] = json.loads(
    (Path(__file__).parents[1] / "records" / "published.json").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, and the evidence that was found.

    Attributes
    ----------
    statement : str
        What the paper says, close to its own words.
    source : str
        The place in the paper, such as "Afkanpour et al. 2013, section 3.2".
    measure : str
        What was computed to test the claim, and when it counts as true.
    result : str
        The numbers that were found.
    judgment : Judgment
    why : str
        A paragraph on a claim that is not shown, or only in part: the reason, as far as it is
        known, and the numbers of other settings that were tried.
    """

    statement: str
    source: str
    measure: str
    result: str
    judgment: Judgment
    why: str = ""

    @property
    def verdict(self) -> Verdict:
        """Whether the claim holds."""
        return self.judgment.verdict

    def __post_init__(self) -> None:
        unshown = (Verdict.FAILS, Verdict.UNMEASURED, Verdict.UNDECIDED)
        if self.verdict in unshown and not self.why:
            raise ValueError(
                f"a claim with the verdict {str(self.verdict)!r} needs a reason: {self.statement}"
            )


# The reason for a claim that cannot be judged, where a study gives none.
UNKNOWN = "There are too few repeats for a test, or no difference is significant."


def judged(
    statement: str,
    source: str,
    measure: str,
    conditions: Conditions,
    result: str,
    *,
    why: str = "",
    explained: bool = False,
) -> Claim | None:
    """Return a claim judged by its conditions; None without any, since records are missing.

    With `explained`, the claim gives its reasons only where it does not wholly hold.
    """
    if not conditions:
        return None
    judgment = judge(conditions)
    if explained and judgment.verdict is Verdict.HOLDS:
        why = ""
    if judgment.verdict is Verdict.UNDECIDED:
        why = why or UNKNOWN
    return Claim(statement, source, measure, result, judgment, why)


P = ParamSpec("P")
Claims = Sequence[Claim | None]
# What a test of a claim finds: its conditions, the numbers, and why.
Finding = tuple[Conditions, str, str]


def claim(
    source: str, measure: str, *, explained: bool = False
) -> Callable[[Callable[P, Finding | None]], Callable[P, Claim | None]]:
    """Turn the test of a claim, whose docstring is the claim, into a function that returns it.

    Where the test returns None or no condition, since records are missing, there is no claim.

    Parameters
    ----------
    source, measure : str
        See `Claim`.
    explained : bool, default=False
        Whether reasons are given only where the claim does not wholly hold.
    """

    def decorate(test: Callable[P, Finding | None]) -> Callable[P, Claim | None]:
        statement = " ".join((getdoc(test) or "").split()).rstrip(".")

        @wraps(test)
        def tested(*args: P.args, **kwargs: P.kwargs) -> Claim | None:
            found = test(*args, **kwargs)
            if found is None:
                return None
            conditions, result, why = found
            return judged(
                statement, source, measure, conditions, result, why=why, explained=explained
            )

        return tested

    return decorate


def along(
    places: Callable[[Results], Axis], test: Callable[[Results, Axis], Claim | None]
) -> Callable[[Results], Claim | None]:
    """Return the test of a claim along an axis."""
    return lambda results: test(results, places(results))


@dataclass(frozen=True)
class Section:
    """A section of the page.

    Attributes
    ----------
    body : str
        Markdown with what was done, tables, and figures as ``![caption](figure:NAME)``.
    made : sequence of Claim or None
        The claims; None where records of one are missing.
    figures : dict of str to Figure
        The figures by name, which is unique over all sections.
    """

    body: str
    made: Claims = ()
    figures: Mapping[str, Figure] = field(default_factory=dict)

    @property
    def claims(self) -> list[Claim]:
        """The claims that have records."""
        return [claim for claim in self.made if claim]


class _Shown(dict[str, Any]):
    """What the names in a text stand for: constants of a module, or its functions of evidence."""

    def __init__(self, module: ModuleType, evidence: Any) -> None:
        super().__init__()
        self.module, self.evidence = module, evidence

    def __missing__(self, name: str) -> Any:
        shown = getattr(self.module, name)
        return shown(self.evidence) if callable(shown) else shown


def named_texts(path: Path) -> dict[str, str]:
    """Return the texts of a Markdown file by name; each follows a line ``<!-- name -->``."""
    _, *parts = re.split(r"<!-- (\w+) -->\n", path.read_text(encoding="utf-8"))
    return {
        name: text.removesuffix("\n") for name, text in zip(parts[::2], parts[1::2], strict=True)
    }


def text_of(module: ModuleType, evidence: Any) -> str:
    """Return the text of the Markdown file beside a module, with its numbers and tables.

    A name in braces is that of a constant of the module, or of a function of the evidence.
    """
    template = Path(module.__file__ or "").with_suffix(".md").read_text(encoding="utf-8")
    return template.format_map(_Shown(module, evidence))


def section_of(study: ModuleType, results: Results) -> Section:
    """Return the section of a study: its text, its `CLAIMS` and its `FIGURES`.

    Parameters
    ----------
    study : module
        `EVIDENCE` makes of the results what its functions are given, by default the results
        themselves. `CLAIMS` are functions from that to a claim, to several or to none, and are
        tested once all methods have records; `FIGURES` are functions to a figure, or to None, by
        the name of the figure.
    results : Results
    """
    made: list[Claim | None] = []
    tests = getattr(study, "CLAIMS", ()) if results.complete else ()
    evidence = study.EVIDENCE(results) if hasattr(study, "EVIDENCE") else results
    for test in tests:
        found = test(evidence)
        made += found if isinstance(found, Sequence) else [found]
    figures = {name: draw(evidence) for name, draw in getattr(study, "FIGURES", {}).items()}
    known = {name: figure for name, figure in figures.items() if figure is not None}
    return Section(text_of(study, evidence), made, known)


def line(*cells: object) -> str:
    """Return a line of a Markdown table."""
    return f"| {' | '.join(map(str, cells))} |"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, text: bool = False) -> str:
    """Return a Markdown table; columns after the first are flush right unless they hold text."""
    marks = ["---", *["---" if text else "---:"] * (len(header) - 1)]
    return "\n".join(line(*cells) for cells in (header, marks, *rows)) + "\n"


def table_of(
    corner: str, rows: Iterable[str], columns: Sequence[str], cell: Callable[[str, str], str]
) -> str:
    """Return a Markdown table with a cell for each row and column, by their names."""
    lines = [[row, *(cell(row, column) for column in columns)] for row in rows]
    return table([corner, *columns], lines)


def mean_and_error(values: Array, scale: float = 1.0, digits: int = 1) -> str:
    """Format mean and standard error; of one value the mean alone, of none a hyphen."""
    numbers = _finite(values, scale)
    return _with_spread(numbers, standard_error(numbers), digits)


def mean_and_deviation(values: Array, scale: float = 1.0, digits: int = 1) -> str:
    """Format mean and standard deviation; of one value the mean alone, of none a hyphen."""
    numbers = _finite(values, scale)
    return _with_spread(numbers, deviation(numbers), digits)


def _finite(values: Array, scale: float) -> Array:
    """Return the values that are finite, in another unit."""
    numbers = scale * np.asarray(values, dtype=float)
    return numbers[np.isfinite(numbers)]


def _with_spread(numbers: Array, spread: float, digits: int) -> str:
    """Format a mean and, behind it, how much its values vary."""
    if numbers.size == 0:
        return "-"
    return f"{numbers.mean():.{digits}f}" + f" ± {spread:.{digits}f}" * (numbers.size > 1)


def rough(value: float) -> str:
    """Format a small number by its order of magnitude, and zero as 0."""
    return "0" if value == 0.0 else f"{value:.0e}"


def wrapped(text: str, bullet: str = "") -> str:
    """Break the lines of a paragraph, or of an item of a list behind its bullet."""
    return fill(
        text,
        120,
        initial_indent=bullet,
        subsequent_indent=" " * len(bullet),
        break_long_words=False,
        break_on_hyphens=False,
    )


def listed(items: Iterable[str], otherwise: str = "none") -> str:
    """Join items by commas."""
    return ", ".join(items) or otherwise


def by_name(values: Mapping[str, float] | pd.Series, form: str = ".1f", scale: float = 1.0) -> str:
    """Join names, each with its number behind it, by commas.

    Parameters
    ----------
    values : dict of str to float, or Series
    form : str, default=".1f"
        The format specification of a number.
    scale : float, default=1.0
        The factor of all numbers.
    """
    return ", ".join(f"{name} {scale * value:{form}}" for name, value in values.items())
