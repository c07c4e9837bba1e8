"""Fits docstrings to the reference: escapes formulas, and shows the members that users call."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_LITERAL = re.compile(r"(:math:`[^`]*`|``.+?``|`[^`]*`_?)")
"""Parts of a line that reStructuredText takes as they are."""
_TRAILING_UNDERSCORE = re.compile(r"(?<![\w\\`:])([A-Za-z]\w*)_(?![\w`])")
"""A name such as alpha_, which would be read as a link."""
_PAGE = re.compile(r"\bdocs/((?:\w+/)*)(\w+)\.md\b")
"""The file of a page of the site."""
_VERBATIM_DIRECTIVE = re.compile(r"\s*\.\. (math|autosummary|index|code-block|plot)::")
"""Directives whose content is not text."""


def escape(line: str) -> str:
    """Escape |x - y|, which would be a substitution, and names that end with an underscore.

    Files of pages become links.
    """
    parts = _LITERAL.split(line)
    for i in range(0, len(parts), 2):
        text = parts[i].replace("|", r"\|")
        text = _TRAILING_UNDERSCORE.sub(r"\1\\_", text)
        parts[i] = _PAGE.sub(r":doc:`the \2 </\1\2>`", text)
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


SHOWN = {
    "mercer.kernels.Kernel": {
        *("values", "diagonal", "theta", "with_theta", "log_bounds", "contract", "starts"),
        *("accepts_missing", "accepts_sparse", "bind", "describe", "diag", "relevance", "vjp"),
    },
    "mercer.kernels.": {"bind", "describe", "diag", "relevance", "theta", "with_theta", "apply"},
    "mercer.losses.Loss": {
        *("value", "conjugate", "conjugate_curvature", "feasible", "boxes", "fit", "objective"),
    },
    "mercer.losses.": {"value", "conjugate", "fit", "objective"},
    "mercer.probabilistic.FixedPosterior": {"predict"},
    "mercer.probabilistic.": {"value", "bound", "best_bound", "tight_width", "probability"},
    "mercer.ParquetSource": {
        *("count_rows", "head", "n_features", "targets"),
        *("with_encoder", "without_rows", "without_target"),
    },
}
"""Members that pages show, by the beginning of the name of their class; the first that fits counts.

What only the package calls is left out. The pages of base classes show what a subclass defines."""
UNSHOWN = {"as_input"}
"""Members of estimators that only the package calls."""


def skip_inner_members(
    app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what users do not call; None leaves the decision to autodoc."""
    module = getattr(obj, "__module__", None) or type(obj).__module__
    if module.startswith("sklearn."):
        return True
    return None if is_shown(app.env.docname.removeprefix("reference/generated/"), name) else True


def is_shown(owner: str, member: str) -> bool:
    """Return whether the page of a class shows a member."""
    for beginning, shown in SHOWN.items():
        if owner.startswith(beginning):
            return member in shown
    return member not in UNSHOWN


def setup(app: Sphinx) -> dict[str, Any]:
    """Register both with Sphinx, the first after numpydoc, whose priority is 500."""
    app.connect("autodoc-process-docstring", escape_formulas, priority=600)
    app.connect("autodoc-skip-member", skip_inner_members)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
