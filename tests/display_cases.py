"""What displays have drawn."""

from html.parser import HTMLParser
from typing import Any


class Balanced(HTMLParser):
    """Checks that every element is closed, in order, and collects the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def bar_lengths(display: Any) -> list[float]:
    """The lengths of a display's bars."""
    return [bar.get_width() for bar in display.ax_.patches]


def tick_labels(display: Any) -> list[str]:
    """The labels on the vertical axis of a display."""
    return [label.get_text() for label in display.ax_.get_yticklabels()]
