"""Words that people search for: the page to which the site's search leads has them."""

import importlib
import json
import re
from inspect import getdoc
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
WORDS: dict[str, str] = json.loads((DOCS / "search_words.json").read_text(encoding="utf-8"))


def text_of(page: str) -> str:
    """The text of a page, or the docstring that a page of the reference shows."""
    if page.startswith("reference/generated/"):
        module, _, name = page.removeprefix("reference/generated/").rpartition(".")
        return getdoc(getattr(importlib.import_module(module), name)) or ""
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("word", WORDS)
def test_a_searched_word_is_on_the_page_that_answers_it(word: str) -> None:
    page, _, anchor = WORDS[word].partition("#")
    text = text_of(page)
    words = re.sub(r"[\s_]+", " ", text).lower()
    assert re.sub("_", " ", word).lower() in words
    titles = re.findall(r"^##+ (.+)$", text, flags=re.MULTILINE)
    assert not anchor or anchor in [
        re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles
    ]


def test_words_that_newcomers_search_are_listed() -> None:
    listed = {word.lower() for word in WORDS}
    asked = "rbf shap sample_weight gpu categorical multiclass probability groups onnx"
    assert listed >= {*asked.split(), "feature importance", "missing values", "early stopping"}
    assert listed >= {"imbalanced classes", "prediction intervals"}
