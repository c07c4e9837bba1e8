"""The sentence that llms.txt has for each page: the page's own."""

from types import ModuleType

import pytest
from docs_modules import docs_module


@pytest.fixture(scope="module")
def extension() -> ModuleType:
    pytest.importorskip("sphinx")
    return docs_module("_ext/llms_sentences.py")


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("# T\n\n*What is it? And why?* More.\n\nText.", "What is it? And why?"),
        ("# T\n\n*My table is large.*\n\nText.", "My table is large."),
        ("# T\n\n*A et al. 2013; `run`. [All](a.md)*\n\nTen sets. 5 splits.", "Ten sets."),
        ("# T\n\n* a\n* b\n\n| x |\n\nSee [the\nguide](g.md) of A et al. 2010. It is.", None),
        ("# T\n\nWritten by `run`. It compares\nfits. Twice.", "It compares fits."),
        ("# T\n\n### *class* T(a=1)\n\nA kernel\\_ of `x`.\n\n* **P:**", "A kernel_ of `x`."),
        ("# T\n\n```python\nx = 1\n\ny = 2\n```\n\nIt follows:", "It follows."),
        ("# T\n\n* a\n", ""),
    ],
)
def test_a_page_has_its_question_or_first_sentence(
    extension: ModuleType, page: str, sentence: str | None
) -> None:
    expected = "See the guide of A et al. 2010." if sentence is None else sentence
    assert extension.first_sentence(page) == expected
