"""Links the calls that a page recommends to the reference."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

import mercer

PAGES = {"start/which_estimator"}
"""Pages whose calls are links."""
_CALL = re.compile(r"(?:inspection\.)?(\w+)\(")


class LinkedCalls(SphinxTransform):
    """Links inline code that calls a public name of mercer to the page of this name."""

    default_priority = 450

    def apply(self, **kwargs: Any) -> None:
        """Wrap such code in a reference, which Sphinx resolves."""
        if self.env.docname not in PAGES:
            return
        for code in list(self.document.findall(nodes.literal)):
            call = _CALL.match(code.astext())
            if call is None:
                continue
            module = "mercer" if call[1] in mercer.__all__ else "mercer.inspection"
            reference = addnodes.pending_xref(
                reftype="obj",
                refdomain="py",
                reftarget=f"{module}.{call[1]}",
                refdoc=self.env.docname,
                refwarn=True,
            )
            code.replace_self(reference)
            reference += code


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform."""
    app.add_transform(LinkedCalls)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
