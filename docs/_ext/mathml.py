"""Writes formulas as MathML, which browsers show without scripts and without a network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    """Write a displayed formula."""
    translator.body.append('<div class="formula">')
    translator.body.append(tex2mathml(node.astext(), as_block=True))
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer, which `html_math_renderer` chooses."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_block, None)
    )
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
