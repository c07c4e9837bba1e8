"""Keeps types of parameters and references in the Markdown twin of each page."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LINKED_CODE = "code_links_block"
"""Class of nodes of sphinx-gallery: code whose names are links."""

PICTURE = "imgsgnode"
"""Class of nodes of sphinx-gallery: a picture in several resolutions."""


def simplify(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: nodes.document | None
) -> None:
    """Replace nodes that have no Markdown, after the page itself was written."""
    if tree is None:
        return
    for node in [node for node in tree.findall() if type(node).__name__ == LINKED_CODE]:
        code = node.astext()
        node.replace_self(nodes.literal_block(code, code, language=node["lang"].lower()))
    for node in [node for node in tree.findall() if type(node).__name__ == PICTURE]:
        uri = f"{'../' * page.count('/')}_images/{PurePosixPath(node['uri']).name}"
        node.replace_self(nodes.paragraph("", "", nodes.image(uri=uri, alt=node["alt"])))
    for classifier in list(tree.findall(nodes.classifier)):
        item = classifier.parent
        term = item[item.first_child_matching_class(nodes.term)]
        term += [nodes.Text(" : "), *classifier.children]
        item.remove(classifier)
    for citation in list(tree.findall(nodes.citation)):
        label, *body = citation.children
        citation.replace_self([nodes.paragraph("", f"[{label.astext()}]"), *body])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the changes before the twin is written, whose priority is 500."""
    app.connect("html-page-context", simplify, priority=400)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
