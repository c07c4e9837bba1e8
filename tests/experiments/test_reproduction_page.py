"""The page that is written from the committed records."""

from __future__ import annotations

import re

from experiments import catalog
from experiments.__main__ import DOCS, RECORDS
from experiments.reporting.reproduction_page import anchor, read, text
from experiments.running.records import Archive


def test_the_page_is_what_the_records_say() -> None:
    chapters = read(Archive(RECORDS), small=False)
    page = (DOCS / "reproduction.md").read_text()
    assert text(chapters) == page
    assert {chapter.name for chapter in chapters} == set(catalog.names())
    assert sum(len(chapter.section.claims) for chapter in chapters) >= 24
    headings = {anchor(line.lstrip("# ")) for line in page.splitlines() if line.startswith("#")}
    assert set(re.findall(r"\]\(#([^)]*)\)", page)) <= headings
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]*)\)", page):
        assert (DOCS / picture).exists()
