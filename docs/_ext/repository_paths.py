"""Makes paths of files that pages name links: to pages, to sources, or to the repository."""

from __future__ import annotations

from importlib.metadata import metadata
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.osutil import relative_uri

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "mercer"
PLACE = " in the repository"
"""What is said of a file that no address leads to."""


def repository() -> str | None:
    """Return the address of the repository, if the package states one."""
    stated = dict(entry.split(", ", 1) for entry in metadata("mercer").get_all("Project-URL") or [])
    named = {name.lower(): url for name, url in stated.items()}
    return next((named[name] for name in ("repository", "source", "code") if name in named), None)


class LinkedPaths(SphinxPostTransform):
    """Links code that is the path of a file of the repository."""

    default_priority = 300
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Link the paths; of those without an address, the first on a page has its place named."""
        if "/_modules/" in self.env.docname:
            return
        unsaid = True
        for node in list(self.document.findall(nodes.literal)):
            path = node.astext()
            if isinstance(node.parent, nodes.reference) or not ({"/", "."} & {*path}):
                continue
            if address := self.address(path):
                link = nodes.reference("", "", refuri=address, internal="://" not in address)
                node.replace_self(link)
                link += node
            elif unsaid and (ROOT / path).is_file():
                unsaid = False
                if not follows(node).startswith(PLACE):
                    node.parent.insert(node.parent.index(node) + 1, nodes.Text(PLACE))

    def address(self, path: str) -> str | None:
        """Return where a path leads; None if there is no such file, or nothing to lead to."""
        if path.startswith("docs/") and (ROOT / path).is_file():
            page = path.removeprefix("docs/").rpartition(".")[0]
            if page in self.env.found_docs:
                return relative_uri(f"{self.env.docname}.html", f"{page}.html")
        module = path.removesuffix(".py").replace("/", ".")
        sources = getattr(self.env, "_viewcode_modules", {})
        if path.endswith(".py") and (PACKAGE / path).is_file() and sources.get(f"mercer.{module}"):
            page = f"_modules/mercer/{path.removesuffix('.py')}"
            return relative_uri(f"{self.env.docname}.html", f"{page}.html")
        if (ROOT / path).is_file() and (url := repository()):
            return f"{url.rstrip('/')}/blob/main/{path}"
        return None


def follows(node: nodes.Node) -> str:
    """Return the text that follows a node in one line."""
    after = node.next_node(nodes.Text, descend=False, siblings=True)
    return " ".join(after.astext().split("\n")) if after is not None else ""


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the step, after references were resolved."""
    app.add_post_transform(LinkedPaths)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
