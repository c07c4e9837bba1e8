"""Run the code of pages of the site, and write what it prints and draws into them.

    python docs/printed_output.py                       # all pages
    python docs/printed_output.py guide/tables.md

The Python blocks of a page run one after the other, in one namespace and in a folder of their own.
A block of text below a block of code holds what the code prints; a picture below it is what it
draws. Commands that have such a block of text run as well.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

DOCS = Path(__file__).parent
BLOCK = re.compile(
    r"```(?P<kind>python|bash)\n(?P<code>.*?)```\n"
    r"(?P<shown>\n```text\n(?P<text>.*?)```\n)?"
    r"(?P<drawn>\n!\[[^\]]*\]\((?P<picture>[^)]+\.svg)\)\n)?",
    flags=re.DOTALL,
)
"""A block of code, what it prints, and the picture that it draws."""


def pages() -> list[Path]:
    """Return the README and the pages of the site that show what their code prints."""
    found = [*(DOCS / "start").glob("*.md"), *(DOCS / "guide").glob("*.md")]
    found += [DOCS / "index.md", DOCS.parent / "README.md"]
    return sorted(path for path in found if "\n```text\n" in path.read_text(encoding="utf-8"))


def run_page(text: str, folder: Path, pictures: Path | None = None) -> str:
    """Run the code of a page, and return the page with what it prints.

    Parameters
    ----------
    text : str
        The page.
    folder : Path
        The code runs in it, and may write files.
    pictures : Path or None
        The folder that links of pictures start from; None to draw none.
    """
    names: dict[str, Any] = {"__name__": "page"}

    def replaced(block: re.Match[str]) -> str:
        printed = ""
        if block["kind"] == "python":
            printed = _run_python(block["code"], names)
        elif block["shown"]:
            printed = _run_commands(block["code"])
        found = f"```{block['kind']}\n{block['code']}```\n"
        if block["shown"]:
            lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
            found += "\n```text\n" + "\n".join(lines) + "\n```\n"
        if block["drawn"]:
            found += block["drawn"]
        _draw(None if pictures is None or not block["drawn"] else pictures / block["picture"])
        return found

    with chdir(folder):
        return BLOCK.sub(replaced, text)


def _run_python(code: str, names: dict[str, Any]) -> str:
    printed = StringIO()
    with redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(code, "page", "exec"), names)
    return printed.getvalue()


def _run_commands(code: str) -> str:
    """Run commands in a shell whose path begins with the programs of this Python.

    Progress, which is told by lines of standard error, depends on the time that it takes.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "COLUMNS": "96", "TERM": "dumb", "NO_COLOR": "1"}
    ended = subprocess.run(
        ["bash", "-ec", code], env=environment, check=False, capture_output=True, text=True
    )
    if ended.returncode:
        raise RuntimeError(f"{code}{ended.stdout}{ended.stderr}")
    return ended.stdout


def _draw(path: Path | None) -> None:
    """Save the last picture, and close all."""
    if "matplotlib.pyplot" not in sys.modules:
        return
    import matplotlib.pyplot as plt

    if path is not None:
        plt.gcf().savefig(path, metadata={"Date": None}, bbox_inches="tight")
    plt.close("all")


def main() -> None:
    """Write the pages that the command line names."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    import matplotlib as mpl

    chosen = [DOCS / name for name in sys.argv[1:]] or pages()
    for path in chosen:
        text = path.read_text(encoding="utf-8")
        with TemporaryDirectory() as folder, mpl.rc_context(fname=DOCS / "mercer.mplstyle"):
            mpl.rcParams["svg.hashsalt"] = path.name
            found = run_page(text, Path(folder), path.parent)
        path.write_text(found, encoding="utf-8")
        change = "unchanged" if found == text else "written"
        sys.stdout.write(f"{path.relative_to(DOCS)} {change}\n")


if __name__ == "__main__":
    main()
