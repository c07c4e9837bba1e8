"""The home page of the site says what its code prints."""

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_home_page_says_what_its_code_prints(tmp_path: Path) -> None:
    path = ROOT / "docs" / "printed_output.py"
    found = importlib.util.spec_from_file_location("printed_output", path)
    assert found is not None
    assert found.loader is not None
    printed_output = importlib.util.module_from_spec(found)
    found.loader.exec_module(printed_output)
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    shown = printed_output.run_page(text, tmp_path)
    assert "```text\n```" not in text
    # Other versions of the packages may change digits, and with them where lines break.
    kept = [re.sub(r"[\d.]+", "#", " ".join(page.split())) for page in (text, shown)]
    assert kept[0] == kept[1]
