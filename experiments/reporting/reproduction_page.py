"""The page of all experiments: the ledger of claims first, then a section for each experiment."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from experiments import catalog
from experiments.experiment import Experiment, Run
from experiments.reporting.choosing_page import NEEDED, choosing
from experiments.reporting.ranking import COLUMNS, table_2
from experiments.reporting.results import Results
from experiments.reporting.section import Claim, Section, Verdict, table
from experiments.running.records import Archive, Record

IMAGES = "images/reproduction"
"""Where the figures go, from the page."""

HEAD = """# The papers' experiments, run again

What four papers on kernel learning report, computed with `mercer` today. Every number on this page
comes from a record of a run; the page is written by

```bash
python -m experiments run all --jobs 2      # resumes where it was interrupted
python -m experiments run all --timing      # times: one run at a time, nothing beside it
python -m experiments report
```

"""


@dataclass(frozen=True)
class Chapter:
    """An experiment, its records and its section."""

    name: str
    records: Sequence[Record]
    results: Results
    section: Section

    @property
    def experiment(self) -> Experiment:
        """What was declared."""
        return self.results.experiment


def write_page(archive: Archive, folder: Path, *, small: bool = False) -> Path:
    """Write the page and its figures, and where all is there that it argues from, choosing.md.

    Parameters
    ----------
    archive : Archive
        The records; experiments without any are left out.
    folder : Path
        Where ``reproduction.md`` and its pictures go.
    small : bool, default=False
        Whether the records are of the experiments that take seconds.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    ValueError
        If there are no records at all.
    """
    chapters = read(archive, small=small)
    if not chapters:
        raise ValueError(f"no records in {archive.folder}")
    images = folder / IMAGES
    images.mkdir(parents=True, exist_ok=True)
    for chapter in chapters:
        for name, figure in chapter.section.figures.items():
            save(figure, images / f"{name}.png")
    results = {chapter.name: chapter.results for chapter in chapters}
    if not small and results.keys() >= set(NEEDED):
        write(folder / "choosing.md", choosing(results))
    page = folder / "reproduction.md"
    write(page, text(chapters))
    return page


def write(path: Path, words: str) -> None:
    """Write a file aside, then in place."""
    aside = path.with_suffix(".part")
    aside.write_text(words)
    aside.replace(path)


def read(archive: Archive, *, small: bool) -> list[Chapter]:
    """Sections of the experiments of which there are records."""
    chapters = []
    for name in catalog.names():
        experiment = catalog.experiment(name, small=small)
        records = declared(name, experiment, archive.latest(name))
        if records:
            results = Results.of(experiment, records)
            chapters.append(Chapter(name, records, results, catalog.section(name)(results)))
    return chapters


def declared(name: str, experiment: Experiment, found: Mapping[Run, Record]) -> list[Record]:
    """Records of runs that the experiment has, in its order."""
    repeats = 1 + max((run.repeat for run in found), default=-1)
    return [found[run] for run in experiment.runs(name, repeats) if run in found]


def save(figure: Figure, path: Path) -> None:
    """Write a picture aside, then in place; the same figure gives the same bytes."""
    aside = path.with_suffix(".part.png")
    figure.savefig(aside, dpi=110, metadata={"Software": None})
    aside.replace(path)


def text(chapters: Sequence[Chapter]) -> str:
    """The page as Markdown."""
    claims = [(chapter, claim) for chapter in chapters for claim in chapter.section.claims]
    parts = [HEAD, effort(chapters), ledger(claims), median_ranks(chapters)]
    paper = ""
    number = 0
    for chapter in chapters:
        if catalog.paper(chapter.name) != paper:
            paper = catalog.paper(chapter.name)
            parts.append(f"## {paper}\n")
        parts.append(chapter_text(chapter, number + 1))
        number += len(chapter.section.claims)
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def effort(chapters: Sequence[Chapter]) -> str:
    """How many runs the page rests on, and how long they took."""
    beside = [record for chapter in chapters for record in chapter.records if not record.alone]
    alone = [record for chapter in chapters for record in chapter.records if record.alone]
    cpu = sum(record.cpu_seconds for record in beside) / 60.0
    wall = sum(record.seconds for record in alone) / 60.0
    return (
        f"It rests on {len(beside) + len(alone)} runs: {len(beside)} that shared the machine with "
        f"others and took {minutes(cpu)} of a processor core in all, and {len(alone)}, for "
        f"their times, alone, which took {minutes(wall)}.\n"
    )


def minutes(value: float) -> str:
    """A number of minutes in words."""
    return f"{value:.0f} minute{'s' * (round(value) != 1)}"


def ledger(claims: Sequence[tuple[Chapter, Claim]]) -> str:
    """The claims in one table, and how many hold; nothing without claims."""
    if not claims:
        return ""
    counts = Counter(claim.verdict for _, claim in claims)
    several = {Verdict.HOLDS: "hold", Verdict.IN_PART: "hold in part", Verdict.FAILS: "do not hold"}
    summary = ", ".join(f"{counts[verdict]} {words}" for verdict, words in several.items())
    rows = [
        [
            f"[{number}](#{anchor(chapter.experiment.title)})",
            cell(claim.statement).rstrip("."),
            cell(claim.source),
            cell(claim.result),
            f"**{claim.verdict}**",
        ]
        for number, (chapter, claim) in enumerate(claims, start=1)
    ]
    header = ["", "The paper says", "where", "found", "verdict"]
    return f"## The ledger\n\n{len(claims)} claims: {summary}.\n\n{table(header, rows, text=True)}"


def median_ranks(chapters: Sequence[Chapter]) -> str:
    """Table 2 of Afkanpour et al. (2013), if there is something of it."""
    found = {chapter.name: chapter.results for chapter in chapters if chapter.name in COLUMNS}
    if not found:
        return ""
    return (
        "## Median ranks\n\n"
        "Table 2 of Afkanpour et al. 2013: the median over tasks of each method's rank by mean\n"
        "error on test data, and mean seconds of one training, with the paper's figures in\n"
        "brackets.\n\n"
        f"{table_2(found)}"
    )


def cell(words: str) -> str:
    """Words that fit a cell of a table."""
    return re.sub(r"\s+", " ", words).strip().replace("|", "\\|")


def anchor(title: str) -> str:
    """The link to a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def chapter_text(chapter: Chapter, first: int) -> str:
    """The section of an experiment, its claims numbered from `first`."""
    body = re.sub(r"\(figure:([\w-]+)\)", rf"({IMAGES}/\1.png)", chapter.section.body)
    parts = [
        f"### {chapter.experiment.title}\n",
        f"*{plain_year(chapter.experiment.source)}; `python -m experiments run {chapter.name}`; "
        f"{repeats(chapter)}.*\n",
        body,
    ]
    for number, claim in enumerate(chapter.section.claims, start=first):
        parts.append(
            f"**{number}. {claim.statement.rstrip('.')}.** ({claim.source}) *Measure:* "
            f"{claim.measure.rstrip('.')}. *Found:* {claim.result.rstrip('.')}. "
            f"*Verdict:* **{claim.verdict}**.\n"
        )
        if claim.why:
            parts.append(f"{claim.why.strip()}\n")
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def plain_year(source: str) -> str:
    """A source with its year as claims have it, without brackets."""
    return re.sub(r"\((\d{4})\)", r"\1", source)


def repeats(chapter: Chapter) -> str:
    """How many repeats there are, and which pairs have fewer."""
    counts = Counter((record.run.problem, record.run.method) for record in chapter.records)
    most = max(counts.values())
    fewer: dict[int, dict[str, list[str]]] = {}
    for (problem, method), number in sorted(counts.items(), key=lambda entry: entry[0]):
        if number < most:
            fewer.setdefault(number, {}).setdefault(method, []).append(problem)
    said = f"{most} repeat{'s' * (most > 1)}"
    problems = list(chapter.experiment.problems)
    for number, methods in sorted(fewer.items(), reverse=True):
        together: dict[tuple[str, ...], list[str]] = {}
        for method, found in methods.items():
            together.setdefault(tuple(found), []).append(method)
        named = [methods_on(each, found, problems) for found, each in together.items()]
        said += f"; {number} of {'; '.join(named)}"
    return said


def methods_on(methods: Sequence[str], found: Sequence[str], problems: Sequence[str]) -> str:
    """Methods, and the problems that are meant if not all are."""
    named = ", ".join(methods)
    return named if len(found) == len(problems) else f"{named} ({', '.join(found)})"
