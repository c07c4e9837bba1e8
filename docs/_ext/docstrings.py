"""Fits docstrings to the reference: escapes formulas, and leaves scikit-learn's members out."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_LITERAL = re.compile(r"(:math:`[^`]*`|``.+?``|`[^`]*`_?)")
"""Parts of a line that reStructuredText takes as they are."""
_TRAILING_UNDERSCORE = re.compile(r"(?<![\w\\`:])([A-Za-z]\w*)_(?![\w`])")
"""A name such as alpha_, which would be read as a link."""
_VERBATIM_DIRECTIVE = re.compile(r"\s*\.\. (math|autosummary|index|code-block|plot)::")
"""Directives whose content is not text."""


def escape(line: str) -> str:
    """Escape |x - y|, which would be a substitution, and names that end with an underscore."""
    parts = _LITERAL.split(line)
    for i in range(0, len(parts), 2):
        text = parts[i].replace("|", r"\|")
        parts[i] = _TRAILING_UNDERSCORE.sub(r"\1\\_", text)
    return "".join(parts)


def escape_formulas(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Escape the text of a docstring in place, but not its examples and displayed formulas."""
    in_example, directive_indent = False, None
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            in_example = False
            continue
        if directive_indent is not None and indent > directive_indent:
            continue
        directive_indent = indent if _VERBATIM_DIRECTIVE.match(line) else None
        in_example = in_example or line.lstrip().startswith(">>>")
        if directive_indent is None and not in_example:
            lines[i] = escape(line)


def skip_members_of_sklearn(
    app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Say that autodoc leaves a member out; None leaves the decision to autodoc."""
    module = getattr(obj, "__module__", None) or type(obj).__module__
    return True if module.startswith("sklearn.") else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register both with Sphinx, the first after numpydoc, whose priority is 500."""
    app.connect("autodoc-process-docstring", escape_formulas, priority=600)
    app.connect("autodoc-skip-member", skip_members_of_sklearn)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
