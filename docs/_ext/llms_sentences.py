"""Gives each page in llms.txt the first sentence that stands on it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

_ENTRY = re.compile(r"^(- \[.*\]\((.+\.md)\))$", flags=re.MULTILINE)
"""A page in llms.txt, by the file of its Markdown twin."""
_NO_TEXT = re.compile(r"[#>|!:\-]|\* |\d+\. |\*\*|<")
"""How paragraphs begin that are headings, lists, tables, pictures or other blocks."""
_END = re.compile(r"(?<=[.?!])(?<!al\.)\s+(?=[A-Z0-9`\"*])")
"""The end of a sentence, but not of "et al."."""
_OF_THE_PAGE = re.compile(r"Written by |.* writes this page")
"""Sentences on how a page is made, which say nothing of what stands on it."""


def first_sentence(page: str) -> str:
    """Return the question that a page in Markdown answers, or else its first sentence."""
    text = re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n", text):
        line = plain(" ".join(paragraph.split()))
        if not line or _NO_TEXT.match(line):
            continue
        if question := re.match(r"\*([^*`]+[.?])\*", line):
            return question[1]
        said = [] if line.startswith("*") else _END.split(line)
        for sentence in said:
            if not _OF_THE_PAGE.match(sentence):
                return re.sub(r":$", ".", sentence)
    return ""


def plain(text: str) -> str:
    """Return text with the texts of links in place of links, without escapes."""
    without_links = re.sub(r"(?<!!)\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"\\([_*|\[\]])", r"\1", without_links)


def add_sentences(app: Sphinx, exception: Exception | None) -> None:
    """Add the sentences to llms.txt after it was written."""
    index = Path(app.outdir, "llms.txt")
    if exception is not None or app.builder.name != "html" or not index.exists():
        return

    def with_sentence(entry: re.Match[str]) -> str:
        sentence = first_sentence(Path(app.outdir, entry[2]).read_text(encoding="utf-8"))
        return f"{entry[1]}: {sentence}" if sentence else entry[1]

    listed = index.read_text(encoding="utf-8")
    index.write_text(_ENTRY.sub(with_sentence, listed), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the step after the index is written, whose priority is 500."""
    app.connect("build-finished", add_sentences, priority=600)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
