"""Pages of the site that run the command say what it prints."""

import re
from pathlib import Path

import pytest
from docs_modules import DOCS, docs_module


@pytest.mark.parametrize("page", ["index.md", "guide/command.md"])
def test_pages_say_what_their_commands_print(page: str, tmp_path: Path) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    shown = docs_module("printed_output.py").run_page(text, tmp_path)
    assert "```text\n```" not in text
    # Other versions of the packages may change digits, and with them where lines break.
    kept = [re.sub(r"[\d.]+", "#", " ".join(each.split())) for each in (text, shown)]
    assert kept[0] == kept[1]
