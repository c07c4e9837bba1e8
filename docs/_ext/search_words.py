"""Makes words that people search for entries of the index, which the search shows first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

WORDS: dict[str, str] = json.loads(
    (Path(__file__).parents[1] / "search_words.json").read_text(encoding="utf-8")
)
"""The page, and the section after a "#", that answers a word."""


class IndexedWords(SphinxTransform):
    """Adds the entries of a page to the section that answers them."""

    default_priority = 700
    """Before Sphinx collects the entries of the index, at 850."""

    def apply(self, **kwargs: Any) -> None:
        """Add the entries; a section that does not exist is a warning."""
        sections = {
            name: node for node in self.document.findall(nodes.section) for name in node["ids"]
        }
        for word, place in WORDS.items():
            page, _, anchor = place.partition("#")
            if page != self.env.docname:
                continue
            if anchor and anchor not in sections:
                logging.getLogger(__name__).warning("%s has no section %r", page, anchor)
                continue
            parent = sections[anchor] if anchor else self.document.next_node(nodes.section)
            entry = ("single", word, anchor, "main", None)
            parent.insert(1, addnodes.index(entries=[entry]))


def pages_with_words(app: Sphinx, env: BuildEnvironment) -> set[str]:
    """Return the pages to write in each build: the search forgets entries of those that are not."""
    return {place.partition("#")[0] for place in WORDS.values()} & env.found_docs


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform, and which pages each build writes."""
    app.add_transform(IndexedWords)
    app.connect("env-updated", pages_with_words)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
