"""Pages of the site that run the command say what it prints."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["index.md", "guide/command.md"])
def test_pages_say_what_their_commands_print(page: str, tmp_path: Path) -> None:
    path = ROOT / "docs" / "printed_output.py"
    found = importlib.util.spec_from_file_location("printed_output", path)
    assert found is not None
    assert found.loader is not None
    printed_output = importlib.util.module_from_spec(found)
    found.loader.exec_module(printed_output)
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    shown = printed_output.run_page(text, tmp_path)
    assert "```text\n```" not in text
    # Other versions of the packages may change digits, and with them where lines break.
    kept = [re.sub(r"[\d.]+", "#", " ".join(each.split())) for each in (text, shown)]
    assert kept[0] == kept[1]
