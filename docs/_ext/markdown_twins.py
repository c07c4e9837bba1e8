"""Keeps types of parameters and references in the Markdown twin of each page, and its anchors."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

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


class AnchorsOfContent(SphinxPostTransform):
    """Hands anchors of content for HTML only, such as the downloads, to what is written of it."""

    default_priority = 48
    """Before the twins replace such content, at 49, by nodes that write no anchors."""

    def run(self, **kwargs: Any) -> None:
        """Move the anchors to the first part of the content."""
        for node in self.document.findall(addnodes.only):
            if node["ids"] and isinstance(node[0], nodes.Element):
                node[0]["ids"] += node["ids"]
                node["ids"] = []


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the changes before the twin is written, whose priority is 500."""
    app.add_post_transform(AnchorsOfContent)
    app.connect("html-page-context", simplify, priority=400)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
