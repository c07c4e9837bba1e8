"""The pages of all experiments: the claims and their verdicts, and the details of each."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from experiments import catalog
from experiments.experiment import Experiment, Run
from experiments.fetching import PUBLIC, public_names
from experiments.reporting.choosing_page import NEEDED, choosing
from experiments.reporting.error_tables import grid_ends
from experiments.reporting.ranking import COLUMNS, table_2
from experiments.reporting.results import Results
from experiments.reporting.section import Claim, Section, section_of, table
from experiments.reporting.verdicts import Verdict
from experiments.running import Archive, Record

# The folder of the figures, relative to the page.
IMAGES = "images/reproduction"

# The page of details, which that of the claims leads to.
DETAILS = "reproduction_details.md"

# The beginning of the page of claims.
SUMMARY_HEAD = f"""# The papers' experiments, run again

What four papers on kernel learning claim, and whether experiments with `mercer` show it. Claims are
judged by the algorithm that the paper describes; what this package's own variant gives stands
beside. A claim holds if all of its conditions are met, in part if at least half of them are, and a
claim of several statements has the counts of each. "Clearly" means significant at the 5 % level,
and a tie is a difference that is not: it may be zero, or the runs may be too few to show it. A
claim on means of which no difference is significant cannot be judged, nor can one whose runs
stopped at their limit of steps. A claim is not measured if no run has the quantity that it is
about. The numbers lead to the measures, tables and pictures, all from records of runs:
[details]({DETAILS}).

"""

# The beginning of the page of details.
HEAD = """# The papers' experiments in detail

What four papers on kernel learning report, computed with `mercer`: the measures, tables and
pictures behind [the claims and their verdicts](reproduction.md). Every number on this page
comes from a record of a run; the page is written by

```bash
python -m experiments run all --jobs 2      # resumes where it was interrupted
python -m experiments run all --timing      # times: one run at a time
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
        """The declaration of the experiment."""
        return self.results.experiment


def write_page(archive: Archive, folder: Path, *, small: bool = False) -> Path:
    """Write the pages and their figures, and choosing.md if all its experiments have records.

    Parameters
    ----------
    archive : Archive
        The records; experiments without records are left out.
    folder : Path
        The folder of ``reproduction.md`` and its pictures.
    small : bool, default=False
        Whether the records are of experiments in sizes that take seconds.

    Returns
    -------
    Path
        The page of claims.

    Raises
    ------
    ValueError
        If there are no records.
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
    for chapter in chapters:
        if chapter.name in catalog.PAGES:
            write(folder / catalog.PAGES[chapter.name], own_page(chapter))
    write(folder / DETAILS, text(chapters, small=small))
    page = folder / "reproduction.md"
    write(page, summary_text(chapters))
    return page


def write(path: Path, content: str) -> None:
    """Write a file under another name first, so that it is never incomplete."""
    aside = path.with_suffix(".part")
    aside.write_text(content)
    aside.replace(path)


def read(archive: Archive, *, small: bool) -> list[Chapter]:
    """Return the chapters of all experiments that have records."""
    chapters = []
    for name in catalog.names():
        experiment = catalog.experiment(name, small=small)
        records = declared(name, experiment, archive.latest(name))
        if records:
            results = Results.of(experiment, records)
            section = section_of(catalog.study(name), results)
            chapters.append(Chapter(name, records, results, section))
    return chapters


def declared(name: str, experiment: Experiment, found: Mapping[Run, Record]) -> list[Record]:
    """Return the records of runs that the experiment declares, in its order."""
    repeats = 1 + max((run.repeat for run in found), default=-1)
    return [found[run] for run in experiment.runs(name, repeats) if run in found]


def save(figure: Figure, path: Path) -> None:
    """Write a picture under another name first; the same figure always gives the same bytes."""
    aside = path.with_suffix(".part.png")
    figure.savefig(aside, dpi=110, metadata={"Software": None})
    aside.replace(path)


def summary_text(chapters: Sequence[Chapter]) -> str:
    """Return the page of claims as Markdown: how many of each paper hold, and which."""
    claims = [(chapter, claim) for chapter in chapters for claim in chapter.section.claims]
    papers = list(dict.fromkeys(catalog.paper(chapter.name) for chapter, _ in claims))
    counts, listed = [], []
    for paper in papers:
        own = [pair for pair in enumerate(claims, 1) if catalog.paper(pair[1][0].name) == paper]
        verdicts = Counter(claim.verdict for _, (_, claim) in own)
        counts.append([paper, str(len(own)), *(str(verdicts.get(v, 0)) for v in Verdict)])
        rows = [
            [
                f"[{number}]({DETAILS}#{anchor(chapter.experiment.title)})",
                cell(claim.statement).rstrip("."),
                str(claim.judgment),
            ]
            for number, (chapter, claim) in own
        ]
        listed.append(f"## {paper}\n\n{table(['', 'The paper says', 'verdict'], rows, text=True)}")
    every = Counter(claim.verdict for _, claim in claims)
    counts.append(["all", str(len(claims)), *(str(every.get(v, 0)) for v in Verdict)])
    header = ["paper", "claims", *(str(verdict) for verdict in Verdict)]
    parts = [SUMMARY_HEAD, table(header, counts), *listed] if claims else [SUMMARY_HEAD]
    parts.append(data_note())
    named = [f"* [{c.experiment.title}]({DETAILS}#{anchor(c.experiment.title)})" for c in chapters]
    parts.append("## Experiments\n\n" + "\n".join(named))
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def data_note() -> str:
    """Say how the data sets can be fetched, and which have no public source."""
    missing = [
        f"{name} ({PUBLIC[name]['missing']})" for name in PUBLIC if "missing" in PUBLIC[name]
    ]
    return (
        f"## Data\n\nThe experiments use {len(PUBLIC)} data sets, and problems that are drawn. "
        f"`python -m experiments fetch --data FOLDER` fetches {len(public_names())} of them from "
        "OpenML and from the archive of Rätsch's benchmarks, checks their shapes and classes, and "
        "says whose values differ from those of the records; `MERCER_DATA=FOLDER` then names them "
        "to the experiments. Rows may come in another order, so that random divisions differ from "
        f"those of the records. Without a public source: {'; '.join(missing)}.\n"
    )


def text(chapters: Sequence[Chapter], *, small: bool = False) -> str:
    """Return the page of details as Markdown; verdicts of small experiments are not compared."""
    claims = [(chapter, claim) for chapter in chapters for claim in chapter.section.claims]
    parts = [HEAD, effort(chapters), claims_table(claims)]
    parts += [] if small else [verdict_changes([claim for _, claim in claims])]
    parts.append(median_ranks(chapters))
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
    """State the number of runs behind the page, and how long they took."""
    shared = [record for chapter in chapters for record in chapter.records if not record.alone]
    alone = [record for chapter in chapters for record in chapter.records if record.alone]
    cpu = sum(record.cpu_seconds for record in shared) / 60.0
    wall = sum(record.seconds for record in alone) / 60.0
    return (
        f"The page rests on {len(shared) + len(alone)} runs: {len(shared)} that shared the machine "
        f"with others and took {minutes(cpu)} of a processor core in all, and {len(alone)}, for "
        f"their times, one at a time, which took {minutes(wall)}.\n"
    )


def minutes(value: float) -> str:
    """Format a number of minutes."""
    return f"{value:.0f} minute{'s' * (round(value) != 1)}"


def claims_table(claims: Sequence[tuple[Chapter, Claim]]) -> str:
    """Return the claims in one table, with the number of each verdict; nothing without claims."""
    if not claims:
        return ""
    found = summary(Counter(claim.verdict for _, claim in claims))
    rows = [
        [
            f"[{number}](#{anchor(chapter.experiment.title)})",
            cell(claim.statement).rstrip("."),
            cell(claim.source),
            cell(claim.result),
            str(claim.judgment),
        ]
        for number, (chapter, claim) in enumerate(claims, start=1)
    ]
    header = ["", "The paper says", "where", "found", "verdict"]
    claims_and_verdicts = table(header, rows, text=True)
    return f"## Claims and verdicts\n\n{len(claims)} claims: {found}.\n\n{claims_and_verdicts}"


def median_ranks(chapters: Sequence[Chapter]) -> str:
    """Return Table 2 of Afkanpour et al. (2013), as far as there are records."""
    found = {chapter.name: chapter.results for chapter in chapters if chapter.name in COLUMNS}
    if not found:
        return ""
    return (
        "## Median ranks\n\nTable 2 of Afkanpour et al. 2013: the median over tasks of each "
        "method's rank by mean\nerror on test data, and mean seconds of one training, with the "
        "paper's figures in\nbrackets. CA takes this package's corrective steps; the claims give "
        f"the ranks with the\npublished ones.\n\n{table_2(found)}"
    )


def cell(content: str) -> str:
    """Return text that fits into a cell of a table."""
    return re.sub(r"\s+", " ", content).strip().replace("|", "\\|")


def anchor(title: str) -> str:
    """Return the link to a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def own_page(chapter: Chapter) -> str:
    """Return the page of an experiment that has one."""
    name = chapter.name
    command = f"`python -m experiments run {name}`"
    written = f"Written by `python -m experiments report` from the records of {command}.\n"
    return f"# {chapter.experiment.title}\n\n{written}\n{with_figures(chapter)}"


def with_figures(chapter: Chapter) -> str:
    """Return the body of a section, with the files of its figures."""
    return re.sub(r"\(figure:([\w-]+)\)", rf"({IMAGES}/\1.png)", chapter.section.body)


def chapter_text(chapter: Chapter, first: int) -> str:
    """Return the section of an experiment, with claims numbered from `first`."""
    if chapter.name in catalog.PAGES:
        page = catalog.PAGES[chapter.name]
        return (
            f"### {chapter.experiment.title}\n\nThey have a page of their own: [{page}]({page}).\n"
        )
    body = with_figures(chapter)
    parts = [
        f"### {chapter.experiment.title}\n",
        f"*{plain_year(chapter.experiment.source)}; `python -m experiments run {chapter.name}`; "
        f"{repeats(chapter)}.*\n",
        body,
    ]
    if ends := grid_ends(chapter.results):
        parts.append(f"{ends}\n")
    for number, claim in enumerate(chapter.section.claims, start=first):
        parts.append(
            f"**{number}. {claim.statement.rstrip('.')}.** ({claim.source}) *Measure:* "
            f"{claim.measure.rstrip('.')}. *Found:* {claim.result.rstrip('.')}. "
            f"*Verdict:* {claim.judgment}.\n"
        )
        if claim.why:
            parts.append(f"{claim.why.strip()}\n")
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def plain_year(source: str) -> str:
    """Return a source with its year as in claims, without brackets."""
    return re.sub(r"\((\d{4})\)", r"\1", source)


def repeats(chapter: Chapter) -> str:
    """State the number of repeats, and which pairs of method and problem have fewer."""
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
    """Return names of methods, with their problems unless these are all problems."""
    named = ", ".join(methods)
    return named if len(found) == len(problems) else f"{named} ({', '.join(found)})"


# Verdicts by statement, before claims were judged by shares of their conditions and tests were
# corrected for shared rows, and why a verdict has changed.
EARLIER = Path(__file__).parents[1] / "records" / "earlier_verdicts.json"


def summary(counts: Mapping[Verdict, int]) -> str:
    """Say how many claims have each verdict, without the last ones if there are none."""
    several = {
        Verdict.HOLDS: "hold",
        Verdict.IN_PART: "hold in part",
        Verdict.FAILS: "do not hold",
        Verdict.UNMEASURED: "are not measured",
        Verdict.UNDECIDED: "cannot be judged",
    }
    seen = [*several][:3] + [verdict for verdict in [*several][3:] if counts.get(verdict, 0)]
    return ", ".join(f"{counts.get(verdict, 0)} {several[verdict]}" for verdict in seen)


def statement_of(claim: Claim) -> str:
    """Return the statement of a claim in one line, without a full stop."""
    return " ".join(claim.statement.split()).rstrip(".")


def verdict_changes(claims: Sequence[Claim]) -> str:
    """Return the numbers of verdicts before and now, and a table of those that have changed.

    Raises
    ------
    ValueError
        If a verdict has changed and no reason is known.
    """
    known = json.loads(EARLIER.read_text())
    earlier = {text: Verdict(entry["verdict"]) for text, entry in known.items()}
    rows, added = [], 0
    for number, claim in enumerate(claims, start=1):
        statement = statement_of(claim)
        before = earlier.get(statement)
        added += before is None
        if before in (None, claim.verdict):
            continue
        if "reason" not in known[statement]:
            raise ValueError(
                f"no reason is known for the change from {before!r} to {str(claim.verdict)!r}: "
                f"{statement}"
            )
        rows.append([str(number), statement, before, claim.verdict, known[statement]["reason"]])
    body = (
        "## Verdicts that changed\n\nTests over random divisions of the same rows are corrected "
        "for the rows that they share (Nadeau & Bengio 2003). On an earlier page any condition "
        "sufficed for a claim to hold in part, all statements of a claim were counted together, "
        "some claims were judged by this package's variant of an algorithm or by another quantity, "
        "tests were not corrected, and the penalty of CA-nD was on a scale of its own. Then, "
        f"of {len(earlier)} claims, {summary(Counter(earlier.values()))}; now, of {len(claims)}, "
        f"{added} of them new, {summary(Counter(claim.verdict for claim in claims))}.\n\n"
    )
    return body + table(["", "claim", "before", "now", "why"], rows, text=True)
