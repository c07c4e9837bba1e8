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
from experiments.reporting.section import Claim, Section, named_texts, section_of, table
from experiments.reporting.verdicts import Verdict
from experiments.running import Archive, Record

# The folder of the figures, relative to the page of claims.
IMAGES = "images/reproduction"

# The folder of the pages of experiments, to which the page of claims leads.
DETAILS = "reproduction_details"

# The beginnings of the page of claims and of the page of verdicts that changed.
TEXTS = named_texts(Path(__file__).with_suffix(".md"))

# The commands that measure and write the pages.
COMMANDS = """```bash
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
    (folder / DETAILS).mkdir(exist_ok=True)
    for name, content in details(chapters, small=small).items():
        write(folder / DETAILS / f"{name}.md", content)
    page = folder / "reproduction.md"
    write(page, claims_page(chapters, small=small))
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


def claims_page(chapters: Sequence[Chapter], *, small: bool = False) -> str:
    """Return the page of claims as Markdown: how many of each paper hold, which, and the pages."""
    claims = [(chapter, claim) for chapter in chapters for claim in chapter.section.claims]
    papers = list(dict.fromkeys(catalog.paper(chapter.name) for chapter, _ in claims))
    counts, listed = [], []
    for paper in papers:
        own = [pair for pair in enumerate(claims, 1) if catalog.paper(pair[1][0].name) == paper]
        verdicts = Counter(claim.verdict for _, (_, claim) in own)
        counts.append([paper, str(len(own)), *(str(verdicts.get(v, 0)) for v in Verdict)])
        rows = [
            [
                f"[{number}]({page_of(chapter)}#claims)",
                cell(claim.statement).rstrip("."),
                str(claim.judgment),
            ]
            for number, (chapter, claim) in own
        ]
        listed.append(f"## {paper}\n\n{table(['', 'The paper says', 'verdict'], rows, text=True)}")
    every = Counter(claim.verdict for _, claim in claims)
    counts.append(["all", str(len(claims)), *(str(every.get(v, 0)) for v in Verdict)])
    header = ["paper", "claims", *(str(verdict) for verdict in Verdict)]
    head = f"{TEXTS['head']}\n"
    parts = [head, table(header, counts), *listed] if claims else [head]
    parts += [data_note(), experiments_list(chapters), further(chapters, small=small)]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts if part)


def data_note() -> str:
    """Say how the data sets can be fetched, and which have no public source."""
    missing = [
        f" The data set {name} has no public source: {PUBLIC[name]['missing']}."
        for name in PUBLIC
        if "missing" in PUBLIC[name]
    ]
    return (
        f"## Data\n\nThe experiments use {len(PUBLIC)} data sets and synthetic data. The command "
        f"`python -m experiments fetch --data FOLDER` downloads {len(public_names())} of the data "
        "sets from OpenML and from the archive of Rätsch's benchmarks. The command checks shapes "
        "and classes, and names each data set whose values differ from the values that the "
        "experiments used. Before you run the experiments, set the environment variable "
        "`MERCER_DATA` to the folder. The rows of a downloaded data set may have another order, so "
        f"random splits may differ from the recorded ones.{''.join(missing)}\n"
    )


def experiments_list(chapters: Sequence[Chapter]) -> str:
    """Return the section that leads to the pages of experiments, by the paper that they repeat."""
    parts = [f"## Experiments\n\n{effort(chapters)}", COMMANDS]
    for paper in dict.fromkeys(catalog.paper(chapter.name) for chapter in chapters):
        own = [chapter for chapter in chapters if catalog.paper(chapter.name) == paper]
        named = [f"* [{chapter.experiment.title}]({page_of(chapter)})" for chapter in own]
        parts.append(f"{paper}:\n\n" + "\n".join(named) + "\n")
    return "\n".join(parts)


def further(chapters: Sequence[Chapter], *, small: bool) -> str:
    """Return the links to pages on several experiments, and the contents for the side bar."""
    several = {
        name: content.partition("\n")[0].lstrip("# ")
        for name, content in overviews(chapters, small=small).items()
    }
    links = [f"* [{title}]({DETAILS}/{name}.md)\n" for name, title in several.items()]
    named = "".join(["Several experiments together:\n\n", *links, "\n"]) if links else ""
    pages = [page_of(c) for c in chapters if c.name not in catalog.PAGES]
    pages += [f"{DETAILS}/{name}.md" for name in several]
    listed = "".join(f"{page.removesuffix('.md')}\n" for page in pages)
    return f"{named}```{{toctree}}\n:hidden:\n\n{listed}```\n"


def page_of(chapter: Chapter) -> str:
    """Return the address of the page of an experiment, relative to the page of claims."""
    return catalog.PAGES.get(chapter.name, f"{DETAILS}/{file_of(chapter)}.md")


def file_of(chapter: Chapter) -> str:
    """Return the name of the file of an experiment's page, without its ending."""
    return f"{chapter.name}_in_detail"


def details(chapters: Sequence[Chapter], *, small: bool = False) -> dict[str, str]:
    """Return the pages of experiments as Markdown, by file, and those on several of them."""
    pages, number = {}, 1
    for chapter in chapters:
        if chapter.name not in catalog.PAGES:
            pages[file_of(chapter)] = chapter_page(chapter, number)
        number += len(chapter.section.claims)
    return pages | overviews(chapters, small=small)


def overviews(chapters: Sequence[Chapter], *, small: bool) -> dict[str, str]:
    """Return the pages on several experiments; small experiments have no verdicts to compare."""
    claims = [claim for chapter in chapters for claim in chapter.section.claims]
    pages = {} if small else {"verdicts_that_changed": verdict_changes(claims)}
    return pages | ({"median_ranks": ranks} if (ranks := median_ranks(chapters)) else {})


def effort(chapters: Sequence[Chapter]) -> str:
    """State the number of runs behind the page, and how long they took."""
    shared = [record for chapter in chapters for record in chapter.records if not record.alone]
    alone = [record for chapter in chapters for record in chapter.records if record.alone]
    cpu = sum(record.cpu_seconds for record in shared) / 60.0
    wall = sum(record.seconds for record in alone) / 60.0
    return (
        f"All numbers come from the records of {len(shared) + len(alone)} runs. To measure times, "
        f"{len(alone)} runs ran one at a time, and took {minutes(wall)}. The other {len(shared)} "
        f"runs shared the machine, and took {minutes(cpu)} of processor time. The following "
        "commands run the experiments and write the pages:\n"
    )


def minutes(value: float) -> str:
    """Format a number of minutes."""
    return f"{value:.0f} minute{'s' * (round(value) != 1)}"


def median_ranks(chapters: Sequence[Chapter]) -> str:
    """Return Table 2 of Afkanpour et al. (2013), as far as there are records."""
    found = {chapter.name: chapter.results for chapter in chapters if chapter.name in COLUMNS}
    if not found:
        return ""
    return (
        "# Median ranks\n\nThis table repeats Table 2 of Afkanpour et al. 2013, whose numbers are "
        "in brackets. On each task, the methods are\nranked by mean test error; the table shows "
        "each method's median rank over tasks, and the mean time of one training\nrun. Here, CA "
        "takes mercer's corrective steps; the claims on the pages of the experiments state the "
        f"ranks with the\npublished steps.\n\n{table_2(found)}"
    )


def cell(content: str) -> str:
    """Return text that fits into a cell of a table."""
    return re.sub(r"\s+", " ", content).strip().replace("|", "\\|")


def own_page(chapter: Chapter) -> str:
    """Return the page of an experiment that has one."""
    name = chapter.name
    written = (
        "The command `python -m experiments report` writes this page from the records of "
        f"`python -m experiments run {name}`.\n"
    )
    return f"# {chapter.experiment.title}\n\n{written}\n{with_figures(chapter, IMAGES)}"


def with_figures(chapter: Chapter, images: str) -> str:
    """Return the body of a section, with the files of its figures in a folder."""
    return re.sub(r"\(figure:([\w-]+)\)", rf"({images}/\1.png)", chapter.section.body)


def chapter_page(chapter: Chapter, first: int) -> str:
    """Return the page of an experiment, with claims numbered from `first`."""
    parts = [
        f"# {chapter.experiment.title}\n",
        f"*Source: {plain_year(chapter.experiment.source)}. Command: `python -m experiments run "
        f"{chapter.name}`. Repeats: {repeats(chapter)}. "
        "[All claims and verdicts](../reproduction.md)*\n",
        with_figures(chapter, f"../{IMAGES}"),
    ]
    if ends := grid_ends(chapter.results):
        parts.append(f"{ends}\n")
    if chapter.section.claims:
        parts.append("## Claims\n")
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
    most, every = max(counts.values()), {method for _, method in counts}
    fewer: dict[int, dict[str, list[str]]] = {}
    for (problem, method), number in sorted(counts.items(), key=lambda entry: entry[0]):
        if number < most:
            fewer.setdefault(number, {}).setdefault(method, []).append(problem)
    said = f"{most}{', except' * bool(fewer)}"
    problems = list(chapter.experiment.problems)
    for number, methods in sorted(fewer.items(), reverse=True):
        together: dict[tuple[str, ...], list[str]] = {}
        for method, found in methods.items():
            together.setdefault(tuple(found), []).append(method)
        named = [
            methods_on(["all methods"] if every <= {*each} else each, found, problems)
            for found, each in together.items()
        ]
        said += f" {number} for {'; '.join(named)};"
    return said.rstrip(";")


def methods_on(methods: Sequence[str], found: Sequence[str], problems: Sequence[str]) -> str:
    """Return names of methods, with their problems unless these are all problems."""
    named = ", ".join(methods)
    return named if len(found) == len(problems) else f"{named} ({', '.join(found)})"


# Verdicts by statement, before claims were judged by shares of their conditions and tests were
# corrected for shared rows, and why a verdict has changed.
EARLIER = Path(__file__).parents[1] / "records" / "earlier_verdicts.json"


def statement_of(claim: Claim) -> str:
    """Return the statement of a claim in one line, without a full stop."""
    return " ".join(claim.statement.split()).rstrip(".")


def verdict_changes(claims: Sequence[Claim]) -> str:
    """Return the page of verdicts that changed: their numbers before and now, and the reasons.

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
    header = ["verdicts", "claims", *(str(verdict) for verdict in Verdict)]
    counts = [
        [when, str(len(judged)), *(str(judged.count(verdict)) for verdict in Verdict)]
        for when, judged in (
            ("before", [*earlier.values()]),
            (f"now, with {added} more claims", [claim.verdict for claim in claims]),
        )
    ]
    changed = table(["", "claim", "before", "now", "why"], rows, text=True)
    return f"{TEXTS['changes']}\n{table(header, counts)}\n{changed}"
